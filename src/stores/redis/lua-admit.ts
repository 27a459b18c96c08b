import { luaWindows } from './lua-windows.ts';
import { script } from './script.ts';

/** A lease that nobody renews runs out: its process is gone. */
export const leaseMs = 30_000;

/**
 * Loads scopes: KEYS from 3 on are hashes of scopes, KEYS[2] the account's running requests. A scope that is absent or
 * of another generation must be seeded before anything is counted in it. What the script will look at is loaded with
 * the scope: each further look would be a separate call.
 */
const luaScopes = `
local serverNow = serverMs()

-- Adds the names of a total, of its oldest bucket and of the bucket of now; week and month share theirs.
local function wanted(names, m, sp, counting)
  local n = #names
  names[n + 1] = m .. sp
  names[n + 2] = m .. sp .. 'p'
  if counting and sp ~= '7' then
    local span = spans[sp]
    names[n + 3] = m .. span[3] .. text(floor(serverNow / span[1]))
  end
end

-- namesOf(i): what to load of the scope i, 'g' and 'l' before all.
local function loadScopes(n, namesOf)
  local o = call('HMGET', KEYS[2], 'e', 'g', ARGV[3])
  local current = o[1] == ARGV[1]
  local scopes, missing, now = {}, {3}, serverNow
  for i = 1, n do
    local names = namesOf(i)
    local values = call('HMGET', KEYS[2 + i], unpack(names))
    if not current or not values[1] or values[1] ~= o[2] then missing[#missing + 1] = i
    else
      local s = scopeOf(KEYS[2 + i], names, values)
      scopes[i] = s
      if s.l > now then now = s.l end
    end
  end
  if #missing > 1 then return missing end
  return nil, scopes, now, o[3]
end
`;

/**
 * Before the body. ARGV: 3 request, 4 milli-calls, 5 number of scopes, 6 number of limits, then for each limit its
 * scope's place and what is allowed, then for each set of places what is allowed; KEYS of places come after the scopes.
 * Answers 0 and (used, leaves at) of each limit; 1, which of limits and places, used, free at, now.
 */
export const enterScript = script(`${luaWindows}${luaScopes}
local id, cost, nScopes, nLimits = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local now, scopes = nil, {}
if nScopes > 0 then
  local missing
  local names = {'g', 'l'}
  wanted(names, 'c', '1', cost > 0)
  missing, scopes, now = loadScopes(nScopes, function() return names end)
  if missing then return missing end
end
local full, fullAt, fullUsed
for i = 1, nLimits do
  local s, allowed = scopes[tonumber(ARGV[5 + 2 * i])], tonumber(ARGV[6 + 2 * i])
  local total, oldest = live(s, 'c', '1', now)
  local over = above(total, cost, allowed, 'exact')
  if over > 0 then
    local at = freeAt(s, 'c', '1', total, oldest, over)
    if not full or (fullAt >= 0 and (at < 0 or at > fullAt)) then full, fullAt, fullUsed = i, at, total end
  end
end
if full then return {1, full, fullUsed, fullAt, now} end
local base = 6 + 2 * nLimits
local nPlaces = #KEYS - 2 - nScopes
for i = 1, nPlaces do
  local key = KEYS[2 + nScopes + i]
  call('ZREMRANGEBYSCORE', key, '-inf', serverNow)
  local running = call('ZCARD', key)
  local allowed = tonumber(ARGV[base + i])
  if allowed >= 0 and running >= allowed and not call('ZSCORE', key, id) then return {1, nLimits + i, running, -1} end
end
for i = 1, nPlaces do
  local key = KEYS[2 + nScopes + i]
  call('ZADD', key, serverNow + ${leaseMs}, id)
  call('PEXPIRE', key, ${2 * leaseMs})
end
for i = 1, nScopes do
  if cost > 0 then add(scopes[i], 'c', cost, now) end
  touch(scopes[i], now)
end
local answer = {0}
for i = 1, nLimits do
  local s = scopes[tonumber(ARGV[5 + 2 * i])]
  local total, oldest = live(s, 'c', '1', now)
  answer[2 * i] = total
  answer[2 * i + 1] = leavesAt('1', total, oldest)
end
for i = 1, nScopes do flush(scopes[i]) end
return answer
`);

/**
 * After the model. ARGV: 3 request, 4 milli-units, 5 number of scopes to count in, 6 their names, 7 number of scopes in
 * all, 8 milli-calls for limits of calls, then for each limit its scope's place, measure, span, allowed, rule. Answers
 * 0, the instant at which the units count, and (used, leaves at) of each limit; 1, which limit, used, free at, now.
 */
export const holdScript = script(`${luaWindows}${luaScopes}
local id, cost, counted, nScopes = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7])
local callMilli = tonumber(ARGV[8])
local limits = (#ARGV - 8) / 5
local further = {}
for i = 1, limits do
  local a = 4 + 5 * i
  local at, m = tonumber(ARGV[a]), ARGV[a + 1]
  if m ~= 'u' or at > counted then
    local list = further[at] or {}
    further[at] = list
    wanted(list, m, ARGV[a + 2], m == 'c')
  end
end
local units = {'g', 'l'}
for _, sp in ipairs(spansOf.u) do wanted(units, 'u', sp, cost > 0) end
local missing, scopes, now, entry = loadScopes(nScopes, function(i)
  local list = further[i]
  if not list then return units end
  local names = i <= counted and {unpack(units)} or {'g', 'l'}
  for j = 1, #list do names[#names + 1] = list[j] end
  return names
end)
if missing then return missing end
local function limitAt(i)
  local a = 4 + 5 * i
  return scopes[tonumber(ARGV[a])], ARGV[a + 1], ARGV[a + 2], tonumber(ARGV[a + 3]), ARGV[a + 4]
end
local function answerWith(quotaMs)
  local answer = {0, quotaMs}
  for i = 1, limits do
    local s, m, sp = limitAt(i)
    local total, oldest = live(s, m, sp, now)
    answer[1 + 2 * i] = total
    answer[2 + 2 * i] = leavesAt(sp, total, oldest)
  end
  return answer
end
-- Asked twice: granted, and not counted again.
if entry then return answerWith(tonumber(string.match(entry, '^%d+'))) end
local full, fullAt, fullUsed
for i = 1, limits do
  local s, m, sp, allowed, rule = limitAt(i)
  local total, oldest = live(s, m, sp, now)
  local own = m == 'u' and cost or m == 'c' and callMilli or 0
  local over = above(total, own, allowed, rule)
  if over > 0 then
    local at = freeAt(s, m, sp, total, oldest, over)
    if not full or (fullAt >= 0 and (at < 0 or at > fullAt)) then full, fullAt, fullUsed = i, at, total end
  end
end
if full then
  for i = 1, nScopes do flush(scopes[i]) end
  return {1, full, fullUsed, fullAt, now}
end
local called = {}
for i = 1, limits do
  local s, m = limitAt(i)
  if m == 'c' and not called[s] then
    called[s] = true
    add(s, 'c', callMilli, now)
  end
end
for i = 1, nScopes do
  local s = scopes[i]
  if i <= counted and cost > 0 then add(s, 'u', cost, now) end
  touch(s, now)
end
local answer = answerWith(now)
for i = 1, nScopes do flush(scopes[i]) end
call('HSET', KEYS[2], id, format('%d|%d|%s', now, cost, ARGV[6]))
return answer
`);

/**
 * Takes back what a settled request paid, where it still counts. ARGV: 3 nothing, 4 milli-units, 5 nano-USD, 6 and 7 the
 * instants that they were counted at. A scope that must be seeded gets it from the ledger.
 */
export const giveBackScript = script(`${luaWindows}${luaScopes}
local units, usd = tonumber(ARGV[4]), tonumber(ARGV[5])
local paid = {'g', 'l'}
for _, sp in ipairs(spansOf.u) do wanted(paid, 'u', sp, false) end
for _, sp in ipairs(spansOf.d) do wanted(paid, 'd', sp, false) end
local missing, scopes, now = loadScopes(#KEYS - 2, function() return paid end)
if missing then return missing end
for _, s in ipairs(scopes) do
  if units > 0 then sub(s, 'u', units, tonumber(ARGV[6]), now) end
  if usd > 0 then sub(s, 'd', usd, tonumber(ARGV[7]), now) end
  flush(s)
end
return {0, 1}
`);

/** How full limits are. ARGV: 3 nothing, 4 number of scopes, then for each limit its scope's place, measure, span. */
export const readScript = script(`${luaWindows}${luaScopes}
local names = {}
for i = 1, (#ARGV - 4) / 3 do
  local a = 2 + 3 * i
  local at = tonumber(ARGV[a])
  names[at] = names[at] or {'g', 'l'}
  wanted(names[at], ARGV[a + 1], ARGV[a + 2], false)
end
local missing, scopes, now = loadScopes(tonumber(ARGV[4]), function(i) return names[i] end)
if missing then return missing end
local answer = {0}
for i = 1, (#ARGV - 4) / 3 do
  local a = 2 + 3 * i
  local s, m, sp = scopes[tonumber(ARGV[a])], ARGV[a + 1], ARGV[a + 2]
  local total, oldest = live(s, m, sp, now)
  answer[2 * i] = total
  answer[1 + 2 * i] = leavesAt(sp, total, oldest)
end
return answer
`);

/**
 * The end of a hold. ARGV: 3 request, 4 milli-units kept, 5 tokens, 6 nano-USD, then the names of the scopes in KEYS.
 * Acts once: on the entry of the request, in those scopes that count it as running.
 */
export const settleScript = script(`${luaWindows}${luaScopes}
local tokens, usd = tonumber(ARGV[5]), tonumber(ARGV[6])
local spent = {'g', 'l'}
if tokens > 0 then for _, sp in ipairs(spansOf.t) do wanted(spent, 't', sp, true) end end
if usd > 0 then for _, sp in ipairs(spansOf.d) do wanted(spent, 'd', sp, true) end end
local missing, scopes, now, entry = loadScopes(#KEYS - 2, function() return spent end)
if missing then return missing end
if not entry then return {0, 0} end
local quotaMs, held, names = string.match(entry, '^(%d+)|(%d+)|(.*)$')
local back = tonumber(held) - tonumber(ARGV[4])
local runsIn = {}
for name in string.gmatch(names, '[^\\n]+') do runsIn[name] = true end
for i, s in ipairs(scopes) do
  if runsIn[ARGV[6 + i]] then
    if back > 0 then sub(s, 'u', back, tonumber(quotaMs), now) end
    if tokens > 0 then add(s, 't', tokens, now) end
    if usd > 0 then add(s, 'd', usd, now) end
    touch(s, now)
    flush(s)
  end
end
call('HDEL', KEYS[2], ARGV[3])
return {0, 1}
`);
