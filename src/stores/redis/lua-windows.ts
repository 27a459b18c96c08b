/** A bit longer than the longest span: an idle account expires, and begins anew from the ledger. */
const scopeTtlMs = 31 * 24 * 3_600_000;

/** Running requests outlive their counters: when they are lost, counts may belong to requests that nobody knows. */
const openTtlMs = scopeTtlMs + 24 * 3_600_000;

/**
 * Beginning of every script. KEYS[1] is the epoch, ARGV[1] the epoch that the caller believes in, ARGV[2] the time in
 * ms, empty for the server's own (tests give it). Answers begin with a code: 0 done, 1 full, 2 another epoch, 3 some
 * scopes must be seeded first (their places among the script's scopes follow).
 *
 * A scope's hash holds, for each measure (c calls, u units, t tokens, d USD) and span (1 minute, 5 hours, 7 days, 30
 * days), a running total `<measure><span>` and the oldest bucket that is in it, `<measure><span>p`, which counts only
 * while the total is not 0; and the buckets themselves, `<measure><grain><number>` with grain s(econd), m(inute) or
 * h(our). Zeroes are not stored. `l` is the newest time that was counted by, which never runs back, `g` the generation
 * of the account's running requests with which it was seeded, `n` how often it was seeded in it.
 * USD are counted by period of the calendar, too: `dT` is a sum that only grows (from `wrap` on it begins anew), since the
 * first such limit. For each period that was asked for, `p:<name>:` f is its first hour, u what was used when its hours were
 * added up, a the sum then, and e is `dE` + 1 then, which grows where something was given back. Hours of USD are kept for
 * as long as a calendar month may last.
 * What credit has paid counts for ever: the period `credit`, which begins in hour 1 and has no end, is seeded with its sum,
 * since its hours are no longer there.
 * Same geometry as books/metering/window.ts: a bucket counts until its end has left the span.
 */
export const luaWindows = `
local call = redis.call
if call('GET', KEYS[1]) ~= ARGV[1] then return {2} end
local floor = math.floor
-- Whole numbers as text: what Lua and Redis do of themselves (%.14g, %.17g) costs more.
local format = string.format
local function text(x) return format('%d', x) end
local scopeTtlMs, openTtlMs = ${scopeTtlMs}, ${openTtlMs}
local spans = { ['1'] = {1000, 60000, 's'}, ['5'] = {60000, 18000000, 'm'},
  ['7'] = {3600000, 604800000, 'h'}, ['30'] = {3600000, 2592000000, 'h'} }
-- Names of a total and of its oldest bucket, and of buckets: made once, since text costs most.
local totalOf = {}
for m, list in pairs({ c = {'1'}, u = {'5', '7', '30'}, t = {'1', '5', '7', '30'}, d = {'5', '7', '30'} }) do
  totalOf[m] = {}
  for i = 1, #list do totalOf[m][list[i]] = { m .. list[i], m .. list[i] .. 'p' } end
end
local bucketOf = { c = { s = {} }, u = { m = {}, h = {} }, t = { s = {}, m = {}, h = {} }, d = { m = {}, h = {} } }
local function bucketField(m, span, atMs)
  local bucket = floor(atMs / span[1])
  local known = bucketOf[m][span[3]]
  local field = known[bucket]
  if not field then
    field = m .. span[3] .. text(bucket)
    known[bucket] = field
  end
  return field, bucket
end
local spansOf = { c = {'1'}, u = {'5', '7', '30'}, t = {'1', '5', '7', '30'}, d = {'5', '7', '30'} }

-- Differences of sums stay exact below 2^53.
local wrap = 4503599627370496
-- By which a calendar month may be longer than 30 days: a day, and the hour of a changed clock.
local furtherHours = 25

local periods = {}
-- Of 'P<first hour>:<hour after the last>:<name>'.
local function periodOf(sp)
  local p = periods[sp]
  if not p then
    local from, to, name = string.match(sp, '^P(%d+):(%d+):(.*)$')
    p = { from = tonumber(from), to = tonumber(to), name = 'p:' .. name .. ':' }
    periods[sp] = p
  end
  return p
end

local function serverMs()
  if ARGV[2] ~= '' then return tonumber(ARGV[2]) end
  local t = call('TIME')
  return t[1] * 1000 + floor(t[2] / 1000)
end

-- A scope: k its key, v the values known of it, w those to be written.
local function scopeOf(key, fields, values)
  local v = {}
  for i = 1, #fields do v[fields[i]] = tonumber(values[i]) or 0 end
  return { k = key, v = v, w = {}, changed = false, l = v.l }
end

local function get(s, field)
  local x = s.v[field]
  if not x then
    x = tonumber(call('HGET', s.k, field)) or 0
    s.v[field] = x
  end
  return x
end

local function put(s, field, x)
  s.v[field] = x
  s.w[field] = x
  s.changed = true
end

local function flush(s)
  if not s.changed then return end
  local set, gone = {'HSET', s.k}, {'HDEL', s.k}
  for field, x in pairs(s.w) do
    if x == 0 then gone[#gone + 1] = field
    else
      local n = #set
      set[n + 1] = field
      set[n + 2] = text(x)
    end
  end
  for i = 3, #gone, 1000 do call('HDEL', s.k, unpack(gone, i, math.min(i + 999, #gone))) end
  if #set > 2 then call(unpack(set)) end
end

-- Calls visit(bucket, amount, field) from the bucket 'from' to 'to' until it answers true.
local function walk(s, prefix, from, to, visit)
  local step = 8
  while from <= to do
    local upTo = math.min(to, from + step - 1)
    local fields, n = {}, 0
    for b = from, upTo do
      n = n + 1
      fields[n] = prefix .. text(b)
    end
    local found = call('HMGET', s.k, unpack(fields))
    for i = 1, n do
      local amount = s.v[fields[i]] or tonumber(found[i]) or 0
      if visit(from + i - 1, amount, fields[i]) then return end
    end
    from = upTo + 1
    step = 128
  end
end

-- What was counted since a period began: its hours are added up once.
local function since(s, p, now)
  local sum, given, n = get(s, 'dT'), get(s, 'dE'), p.name
  if sum > 0 and get(s, n .. 'f') == p.from and get(s, n .. 'e') == given + 1 then
    return get(s, n .. 'u') + (sum - get(s, n .. 'a')) % wrap
  end
  if sum == 0 then
    sum = 1
    given = given + 1
    put(s, 'dT', sum)
    put(s, 'dE', given)
  end
  local used = 0
  walk(s, 'dh', p.from, floor(math.max(s.l, now) / 3600000), function(_, amount) used = used + amount end)
  put(s, n .. 'f', p.from)
  put(s, n .. 'u', used)
  put(s, n .. 'a', sum)
  put(s, n .. 'e', given + 1)
  return used
end

-- The last bucket that can be in a total: what was added last came when the oldest one still counted. So no walk is
-- longer than a span, however long nothing was counted.
local function newest(s, span, oldest)
  return math.min(floor(s.l / span[1]), oldest + span[2] / span[1])
end

-- Subtracts what has left the span by 'now'; the total and its oldest bucket (of no meaning when it is 0).
-- 'emptied': the oldest bucket may have been given back as a whole.
local function live(s, m, sp, now, emptied)
  local names = totalOf[m][sp]
  if not names then return since(s, periodOf(sp), now), periodOf(sp).to end
  local name, nameOfOldest = names[1], names[2]
  local total = s.v[name] or get(s, name)
  if total == 0 then return 0, 0 end
  local span = spans[sp]
  local oldest = s.v[nameOfOldest] or get(s, nameOfOldest)
  local first = floor((now - span[2]) / span[1])
  if oldest >= first and not emptied then return total, oldest end
  -- Both count the same hour buckets, which are deleted when they leave the month: the week must have seen them.
  if sp == '30' then live(s, m, '7', now) end
  local left = total
  walk(s, m .. span[3], oldest, newest(s, span, oldest), function(bucket, amount, field)
    oldest = bucket
    if bucket >= first then return amount > 0 end
    left = left - amount
    if sp == '30' and m == 'd' then put(s, 'dh' .. text(bucket - furtherHours), 0)
    elseif sp ~= '7' and amount > 0 then put(s, field, 0) end
  end)
  put(s, name, left)
  put(s, nameOfOldest, left == 0 and 0 or oldest)
  return left, oldest
end

local function add(s, m, amount, now)
  if m == 'd' then
    local sum = get(s, 'dT')
    if sum > 0 then put(s, 'dT', (sum + amount) % wrap) end
  end
  for _, sp in ipairs(spansOf[m]) do
    local span = spans[sp]
    local total = live(s, m, sp, now)
    local field, bucket = bucketField(m, span, now)
    local names = totalOf[m][sp]
    if total == 0 then put(s, names[2], bucket) end
    put(s, names[1], total + amount)
    -- Week and month share their buckets.
    if sp ~= '7' then put(s, field, get(s, field) + amount) end
  end
end

-- Takes back what was counted at 'countedMs', where it still counts.
local function sub(s, m, amount, countedMs, now)
  local had = {}
  if m == 'd' and get(s, 'dT') > 0 then
    local given = get(s, 'dE') + 1
    put(s, 'dE', given)
    if get(s, 'p:credit:f') > 0 then
      put(s, 'p:credit:u', get(s, 'p:credit:u') - amount)
      put(s, 'p:credit:e', given + 1)
    end
  end
  for _, sp in ipairs(spansOf[m]) do
    local span = spans[sp]
    local total, oldest = live(s, m, sp, now)
    local field, bucket = bucketField(m, span, countedMs)
    if total > 0 and bucket >= oldest then
      had[field] = had[field] or get(s, field)
      local taken = math.min(amount, had[field])
      put(s, totalOf[m][sp][1], total - taken)
      put(s, field, had[field] - taken)
      if taken == had[field] and bucket == oldest then live(s, m, sp, now, true) end
    end
  end
end

-- Counted at 'now': the hash lives on from here, and so do the running requests beside it. Once an hour is enough.
local function touch(s, now, open)
  if floor(s.l / 3600000) < floor(now / 3600000) then
    call('PEXPIRE', s.k, scopeTtlMs)
    call('PEXPIRE', open, openTtlMs)
  end
  if now > s.l then
    s.l = now
    put(s, 'l', now)
  end
end

-- 0 is never.
local function endOf(p)
  return p.to == 0 and -1 or p.to * 3600000
end

local function leavesAt(sp, total, oldest)
  if total == 0 then return -1 end
  local span = spans[sp]
  if not span then return endOf(periodOf(sp)) end
  return (oldest + 1) * span[1] + span[2]
end

-- The first instant at which 'amount' has left; -1 when there is not so much.
local function freeAt(s, m, sp, total, oldest, amount)
  if amount > total then return -1 end
  local span = spans[sp]
  if not span then return endOf(periodOf(sp)) end
  local at = -1
  walk(s, m .. span[3], oldest, newest(s, span, oldest), function(bucket, held)
    amount = amount - held
    if amount <= 0 then
      at = (bucket + 1) * span[1] + span[2]
      return true
    end
  end)
  return at
end

-- Whether a limit lets 'cost' pass; allowed -1 is no limit. When not: how much must leave.
local function above(total, cost, allowed, rule)
  if allowed < 0 then return 0 end
  if rule == 'exact' then return math.max(0, total + cost - allowed) end
  return math.max(0, total - allowed + 1)
end
`;
