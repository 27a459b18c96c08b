import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redisMissing, startRedis } from '../start-redis.ts';
import { raceRounds } from './redis-race.ts';

test('F51 8 processes with 200 callers each on the last 100 units, 200 rounds: exactly 100 pass each time', {
  skip: redisMissing,
}, async (t) => {
  const redis = await startRedis(t);
  const seed = Number(process.env.CULVERT_SEED ?? Date.now() % 1_000_000);
  t.diagnostic(`CULVERT_SEED=${seed}`);
  const { left, held, tooSlow } = await raceRounds({ url: redis.url, rounds: 200, seed });
  assert.equal(left, 100);
  t.diagnostic(`${held.length} rounds, ${tooSlow} more in which the machine was too slow to ask everybody`);
  for (const [round, passed] of held.entries()) assert.equal(passed, left, `round ${round}`);
});
