import { leaseMs, luaOps, valuesOf } from './lua-admit.ts';
import { luaWindows } from './lua-windows.ts';
import { script } from './script.ts';

/**
 * Values that all operations of a turn share: each scope, each set of running requests and each set of places is read
 * once and written once, at the end. So an operation that throws while it reads has written nothing.
 */
const luaShared = `
local serverNow = serverMs()
local scopesOf, opensOf, setsOf = {}, {}, {}

-- The scope of this key with these fields loaded.
local function scopeAt(key, names)
  local s = scopesOf[key]
  if not s then
    local values = call('HMGET', key, unpack(names))
    s = scopeOf(key, names, values)
    s.g = values[1]
    s.had = { [names] = true }
    scopesOf[key] = s
  elseif not s.had[names] then
    local lacking = {}
    for i = 1, #names do
      if s.v[names[i]] == nil then lacking[#lacking + 1] = names[i] end
    end
    if #lacking > 0 then
      local values = call('HMGET', key, unpack(lacking))
      for i = 1, #lacking do s.v[lacking[i]] = tonumber(values[i]) or 0 end
    end
    s.had[names] = true
  end
  return s
end

-- The account's running requests: entries by id, false for none; w those to be written.
local function openAt(key)
  local o = opensOf[key]
  if not o then
    local known = call('HMGET', key, 'e', 'g')
    o = { k = key, current = known[1] == ARGV[1], g = known[2], entries = {}, w = {} }
    opensOf[key] = o
  end
  return o
end

local function entryOf(o, id)
  local entry = o.entries[id]
  if entry == nil then
    entry = call('HGET', o.k, id)
    o.entries[id] = entry
  end
  return entry
end

-- Those of a group, whose values begin with the request.
local function loadEntries(o, at, n, width)
  local ids = {}
  for i = 0, n - 1 do ids[1 + i] = ARGV[at + i * width] end
  local entries = call('HMGET', o.k, unpack(ids))
  for i = 1, n do
    if o.entries[ids[i]] == nil then o.entries[ids[i]] = entries[i] end
  end
end

local function putEntry(o, id, entry)
  o.entries[id] = entry
  o.w[id] = entry
end

local function setAt(key)
  local p = setsOf[key]
  if not p then
    p = { k = key, w = {} }
    setsOf[key] = p
  end
  return p
end

local function flushSet(p)
  local added, gone = {'ZADD', p.k}, {'ZREM', p.k}
  for id, isIn in pairs(p.w) do
    if isIn then
      local n = #added
      added[n + 1] = serverNow + leaseMs
      added[n + 2] = id
    else gone[#gone + 1] = id end
  end
  if #gone > 2 then call(unpack(gone)) end
  if #added > 2 then
    call(unpack(added))
    call('PEXPIRE', p.k, 2 * leaseMs)
  end
  p.w = {}
end

-- How many hold a place now.
local function countOf(p)
  if not p.n then
    flushSet(p)
    call('ZREMRANGEBYSCORE', p.k, '-inf', serverNow)
    p.n = call('ZCARD', p.k)
  end
  return p.n
end

local function isIn(p, id)
  local known = p.w[id]
  if known == nil then return call('ZSCORE', p.k, id) end
  return known
end
`;

const widths = Object.entries(valuesOf)
  .map(([name, values]) => `${name} = ${values}`)
  .join(', ');

/**
 * All operations of one turn of a caller's loop. KEYS from 2 on: those of the plans, one after the other. ARGV: 3 number
 * of plans, for each its number of keys and of arguments and its arguments; then groups of operations: name, plan, how
 * many, and the values of each. Answers 0 and the answer of each group: as those of scripts, or 8 and one for each
 * operation, or 9 and why it failed.
 */
export const turnScript = script(`${luaWindows}
local leaseMs = ${leaseMs}
local widths = {${widths}}
${luaShared}
${luaOps}
local plans, key, at = {}, 1, 4
for p = 1, tonumber(ARGV[3]) do
  local keys, args, nKeys, nArgs = {}, {}, tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  for i = 1, nKeys do keys[i] = KEYS[key + i] end
  for i = 1, nArgs do args[i] = ARGV[at + 1 + i] end
  key = key + nKeys
  at = at + 2 + nArgs
  plans[p] = { keys = keys, args = args }
end
local answers = {0}
while at <= #ARGV do
  local name, n = ARGV[at], tonumber(ARGV[at + 2])
  local done, answer = pcall(ops[name], plans[tonumber(ARGV[at + 1])], at + 3, n)
  if not done then answer = {9, type(answer) == 'table' and answer.err or tostring(answer)} end
  answers[#answers + 1] = answer
  at = at + 3 + n * widths[name]
end
for _, s in pairs(scopesOf) do flush(s) end
for _, o in pairs(opensOf) do
  local set, gone = {'HSET', o.k}, {'HDEL', o.k}
  for id, entry in pairs(o.w) do
    if entry then
      local n = #set
      set[n + 1] = id
      set[n + 2] = entry
    else gone[#gone + 1] = id end
  end
  if #set > 2 then call(unpack(set)) end
  if #gone > 2 then call(unpack(gone)) end
end
for _, p in pairs(setsOf) do flushSet(p) end
return answers
`);
