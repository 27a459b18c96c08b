import { luaWindows } from './lua-windows.ts';
import { script } from './script.ts';

/**
 * The epoch in force, and how old it is in ms; KEYS[1] is its key. ARGV: 1 the server's run id, 2 an id for a new epoch,
 * 3 `*` when the epoch must not go on. It begins anew where there is none, where the server is another process than
 * the one that it began in (so that memory may be that of an old dump), and where it must not go on. An epoch is
 * `<run id>:<id>:<begun at ms>`. It is written in any case: a server that only answers reads (a replica, a full memory)
 * must fail here rather than at the first request.
 */
export const epochScript = script(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local epoch = redis.call('GET', KEYS[1])
if epoch and ARGV[3] ~= '*' and string.sub(epoch, 1, #ARGV[1] + 1) == ARGV[1] .. ':' then
  redis.call('SET', KEYS[1], epoch)
  return {epoch, now - tonumber(string.match(epoch, ':(%d+)$'))}
end
epoch = string.format('%s:%s:%.0f', ARGV[1], ARGV[2], now)
redis.call('SET', KEYS[1], epoch)
return {epoch, 0}
`);

/**
 * Before the ledger is asked for a seed: the account's running requests as Redis knows them. KEYS[2] those, from 3 on the
 * hashes of the scopes to seed. ARGV: 3 an id for a new generation, 4 ms that a reservation may need to reach the ledger.
 * Answers 0, time, generation, how long to wait before the ledger may be asked, for each scope how often it was seeded
 * (so that an older snapshot never replaces a newer one), then id and entry of each running request.
 *
 * A new generation begins where the running requests are not of this epoch. Where they were lost alone, which the
 * hashes tell that are still there, some of them may not have reached the ledger yet: that is waited for.
 */
export const beginSeedScript = script(`${luaWindows}
local open = call('HMGET', KEYS[2], 'e', 'g', 'w')
local now = serverMs()
local generation, waitUntil = open[2], tonumber(open[3]) or 0
if open[1] ~= ARGV[1] then
  generation = ARGV[3]
  waitUntil = 0
  for i = 3, #KEYS do
    local known = call('HMGET', KEYS[i], 'e', 'g')
    if known[1] == ARGV[1] then waitUntil = now + ARGV[4] end
  end
  call('DEL', KEYS[2])
  call('HSET', KEYS[2], 'e', ARGV[1], 'g', generation, 'w', string.format('%.0f', waitUntil))
end
call('PEXPIRE', KEYS[2], openTtlMs)
local answer = {0, now, generation, math.max(0, waitUntil - now)}
for i = 3, #KEYS do answer[#answer + 1] = tonumber(call('HGET', KEYS[2], 'n:' .. KEYS[i])) or 0 end
local all = call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  if string.find(all[i + 1], '|', 1, true) then
    answer[#answer + 1] = all[i]
    answer[#answer + 1] = all[i + 1]
  end
end
return answer
`);

/**
 * Seeds one scope, if it is still absent: never adds to what is there. KEYS[2] the running requests, KEYS[3] the scope's
 * hash. ARGV: 3 the scope, 4 generation, 5 how often it had been seeded, 6 number of running requests that the seed
 * counts, 7 number of those that it counts as settled, then id, quotaMs, milli-units of the former, ids of the latter,
 * then fields and values of the hash.
 */
export const seedScript = script(`${luaWindows}
local scope, generation = ARGV[3], ARGV[4]
local open = call('HMGET', KEYS[2], 'e', 'g', 'n:' .. KEYS[3])
if open[1] ~= ARGV[1] or open[2] ~= generation then return {0, 0} end
if call('HGET', KEYS[3], 'g') == generation or (tonumber(open[3]) or 0) ~= tonumber(ARGV[5]) then return {0, 0} end
local running, settled = tonumber(ARGV[6]), tonumber(ARGV[7])
local function names(entry)
  local list = {}
  for name in string.gmatch(string.match(entry, '^%d+|%d+|(.*)$'), '[^\\n]+') do
    if name ~= scope then list[#list + 1] = name end
  end
  return list
end
for i = 1, running do
  local a = 5 + 3 * i
  local entry = call('HGET', KEYS[2], ARGV[a])
  local list = entry and names(entry) or {}
  list[#list + 1] = scope
  -- Requests may have taken units of a lease meanwhile: they count in their own entries.
  local counted = entry and string.match(entry, '^%d+|%d+|') or ARGV[a + 1] .. '|' .. ARGV[a + 2] .. '|'
  call('HSET', KEYS[2], ARGV[a], counted .. table.concat(list, '\\n'))
end
local at = 8 + 3 * running
for i = at, at + settled - 1 do
  local entry = call('HGET', KEYS[2], ARGV[i])
  if entry then
    local list = names(entry)
    if #list == 0 then call('HDEL', KEYS[2], ARGV[i])
    else call('HSET', KEYS[2], ARGV[i], string.match(entry, '^%d+|%d+|') .. table.concat(list, '\\n')) end
  end
end
call('DEL', KEYS[3])
-- The epoch is longer than any listpack takes (64 bytes), in which every look-up would be a scan.
call('HSET', KEYS[3], 'g', generation, 'e', ARGV[1], 'n', tonumber(ARGV[5]) + 1)
for i = at + settled, #ARGV, 1000 do call('HSET', KEYS[3], unpack(ARGV, i, math.min(i + 999, #ARGV))) end
call('PEXPIRE', KEYS[3], scopeTtlMs)
call('HINCRBY', KEYS[2], 'n:' .. KEYS[3], 1)
return {0, 1}
`);

/**
 * Running requests that are older than they should be. KEYS[2] those, KEYS[3] the mark of a sweep; ARGV: 3 age in ms, 4
 * how long no other sweep is needed. Answers 0, how many run at all, then id and entry of each that is old.
 */
export const oldScript = script(`${luaWindows}
if not call('SET', KEYS[3], '1', 'NX', 'PX', ARGV[4]) then return {0, -1} end
local before = serverMs() - ARGV[3]
local all = call('HGETALL', KEYS[2])
local answer, running = {0, 0}, 0
for i = 1, #all, 2 do
  local quotaMs = string.match(all[i + 1], '^(%d+)|')
  if quotaMs then
    running = running + 1
    if tonumber(quotaMs) < before then
      answer[#answer + 1] = all[i]
      answer[#answer + 1] = all[i + 1]
    end
  end
end
answer[2] = running
return answer
`);

/**
 * Forgets scopes in which a request is still counted that the ledger has settled: they are seeded anew when they are
 * asked for next. KEYS[2] running requests, from 3 on hashes of scopes; ARGV: 3 the request.
 */
export const forgetScript = script(`${luaWindows}
if call('HDEL', KEYS[2], ARGV[3]) == 0 then return {0, 0} end
for i = 3, #KEYS do call('DEL', KEYS[i]) end
return {0, 1}
`);
