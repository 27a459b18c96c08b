import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callMilliIn, scopesOf } from '../../src/books/metering/counter-scope.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { RedisCounters } from '../../src/stores/redis/counters.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { fakeBooks } from './counter-books.ts';

test('replicas count failed logins together, each name by the time that its own first one began', {
  skip: redisMissing,
}, async (t) => {
  const redis = await startRedis(t);
  async function tally() {
    const counters = new RedisCounters({
      url: redis.url,
      booksId: 'tally',
      books: fakeBooks('later'),
      rules: { scopesOf, callMilliIn },
      clock: systemClock,
      nowMs: systemClock.wallMs,
      onTrouble: () => {},
    });
    t.after(() => counters.close());
    await counters.whenReady();
    return counters.tally;
  }
  const [one, other] = [await tally(), await tally()];
  await one.add(['short'], 600_000);
  const both = await other.add(['short', 'long'], 60_000_000);
  const read = await one.read(['long', 'short', 'none']);
  const countsOf = (found: typeof read) => found?.map(({ count }) => count);
  assert.deepEqual(
    [countsOf(both), countsOf(read)],
    [
      [2, 1],
      [1, 2, 0],
    ],
  );
  for (const [long, short, none] of [[both![1]!, both![0]!, { leftMs: 0 }], read!] as const) {
    assert.ok(short!.leftMs > 0 && short!.leftMs <= 600_000, `${short!.leftMs} ms`);
    assert.ok(long!.leftMs > 600_000 && long!.leftMs <= 60_000_000, `${long!.leftMs} ms`);
    assert.equal(none!.leftMs, 0);
  }
});
