import { script } from '../redis/script.ts';

/**
 * Keys of the cache, below `KEYS[1]`, which has a hash tag: all of them are in one slot.
 *
 * - `e:<digest> <scope>`: the entry, which Redis lets expire.
 * - `m:<scope>`: hash of digest → `[bytes, at, keyId, model, tag]`.
 * - `o:<scope>`: sorted set of digests by age. `a:<model> <scope>`: the same of one model.
 * - `x`: sorted set of `<digest> <scope>` by when they expire.
 * - `all`: hash of scope → bytes. `sum`: of all scopes.
 * - `b:<scope>`: hash of model → bytes.
 *
 * Digests and ids of models hold no spaces.
 */
const dropped = `
local P = KEYS[1]
local function drop(digest, scope)
  local place = digest .. ' ' .. scope
  redis.call('ZREM', P .. 'x', place)
  redis.call('UNLINK', P .. 'e:' .. place)
  local kept = redis.call('HGET', P .. 'm:' .. scope, digest)
  if not kept then return 0 end
  local fields = cjson.decode(kept)
  local bytes, model = fields[1], fields[4]
  redis.call('HDEL', P .. 'm:' .. scope, digest)
  redis.call('ZREM', P .. 'o:' .. scope, digest)
  redis.call('ZREM', P .. 'a:' .. model .. ' ' .. scope, digest)
  if redis.call('HINCRBY', P .. 'b:' .. scope, model, -bytes) <= 0 then redis.call('HDEL', P .. 'b:' .. scope, model) end
  if redis.call('HINCRBY', P .. 'all', scope, -bytes) <= 0 then redis.call('HDEL', P .. 'all', scope) end
  redis.call('INCRBY', P .. 'sum', -bytes)
  return 1
end
local function dropPlace(place)
  local digest, scope = string.match(place, '^(%S+) (.*)$')
  drop(digest, scope)
end
`;

/** Entries that one call removes, so that others do not wait for it; the next call removes more. */
const expiredAtOnceMax = 50;
const surplusAtOnceMax = 100;

/**
 * ARGV: scope, digest, model, fields in JSON, bytes, at, expires, now (ms), bytes of a scope, bytes of all, the entry,
 * and the time of the entry that must be there, `none` or `any`. Answers 0 where another one is there. Where all scopes together have too much, what expires first goes first.
 */
export const putScript = script(`${dropped}
local scope, digest, model, fields = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local bytes, at, expires, now = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local scopeMax, allMax = tonumber(ARGV[9]), tonumber(ARGV[10])
if ARGV[12] ~= 'any' then
  local over = tonumber(redis.call('ZSCORE', P .. 'x', digest .. ' ' .. scope) or '0')
  local kept = over > now and redis.call('HGET', P .. 'm:' .. scope, digest)
  local found = kept and string.format('%.0f', cjson.decode(kept)[2]) or 'none'
  if found ~= ARGV[12] then return 0 end
end
-- Redis refuses for want of memory only the first write of a script, and no write that removes.
redis.call('INCRBY', P .. 'sum', 0)
for _, place in ipairs(redis.call('ZRANGEBYSCORE', P .. 'x', '-inf', now, 'LIMIT', 0, ${expiredAtOnceMax})) do
  dropPlace(place)
end
drop(digest, scope)
if expires <= now then return 0 end
local place = digest .. ' ' .. scope
redis.call('SET', P .. 'e:' .. place, ARGV[11], 'PX', string.format('%.0f', expires - now))
redis.call('HSET', P .. 'm:' .. scope, digest, fields)
redis.call('ZADD', P .. 'o:' .. scope, at, digest)
redis.call('ZADD', P .. 'a:' .. model .. ' ' .. scope, at, digest)
redis.call('ZADD', P .. 'x', ARGV[7], place)
redis.call('HINCRBY', P .. 'b:' .. scope, model, bytes)
local ofScope = redis.call('HINCRBY', P .. 'all', scope, bytes)
redis.call('INCRBY', P .. 'sum', bytes)
local surplus = ${surplusAtOnceMax}
while ofScope > scopeMax and surplus > 0 do
  surplus = surplus - 1
  local oldest = redis.call('ZRANGE', P .. 'o:' .. scope, 0, 0)[1]
  if not oldest then break end
  drop(oldest, scope)
  ofScope = tonumber(redis.call('HGET', P .. 'all', scope) or '0')
end
while tonumber(redis.call('GET', P .. 'sum') or '0') > allMax and surplus > 0 do
  surplus = surplus - 1
  local first = redis.call('ZRANGE', P .. 'x', 0, 0)[1]
  if not first then break end
  dropPlace(first)
end
return 1
`);

/** ARGV: scope, digests. Answers how many there were. */
export const dropScript = script(`${dropped}
local gone = 0
for i = 2, #ARGV do gone = gone + drop(ARGV[i], ARGV[1]) end
return gone
`);

/** ARGV: now (ms). Answers how many of the expired entries it removed. */
export const expireScript = script(`${dropped}
local places = redis.call('ZRANGEBYSCORE', P .. 'x', '-inf', ARGV[1], 'LIMIT', 0, ${expiredAtOnceMax})
for _, place in ipairs(places) do dropPlace(place) end
return #places
`);

/** ARGV: scopes. Answers scope, model, entries, bytes, oldest of each. */
export const statsScript = script(`local P = KEYS[1]
local answer = {}
for _, scope in ipairs(ARGV) do
  local models = redis.call('HGETALL', P .. 'b:' .. scope)
  for i = 1, #models, 2 do
    local ages = P .. 'a:' .. models[i] .. ' ' .. scope
    local oldest = redis.call('ZRANGE', ages, 0, 0, 'WITHSCORES')[2]
    if oldest then
      answer[#answer + 1] = {scope, models[i], redis.call('ZCARD', ages), tonumber(models[i + 1]), oldest}
    end
  end
end
return answer
`);
