import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { callMilliIn, scopesOf } from '../../src/books/metering/counter-scope.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { seededRandom } from '../../src/kernel/random.ts';
import { RedisCounters } from '../../src/stores/redis/counters.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { fakeBooks } from './counter-books.ts';
import { newAsker, newRequestId } from './counter-requests.ts';

test('callers who are as many as a limit has places are never refused, however they change between replicas', {
  skip: redisMissing,
}, async (t) => {
  const redis = await startRedis(t);
  const seed = Number(process.env.CULVERT_SEED ?? Date.now() % 1_000_000);
  t.diagnostic(`CULVERT_SEED=${seed}`);
  const random = seededRandom(seed);
  const replicas = [1, 2, 3].map(
    () =>
      new RedisCounters({
        url: redis.url,
        booksId: 'places',
        books: fakeBooks('later'),
        rules: { scopesOf, callMilliIn },
        clock: systemClock,
        onTrouble: () => {},
      }),
  );
  t.after(() => Promise.all(replicas.map((counters) => counters.close())));
  await Promise.all(replicas.map((counters) => counters.whenReady()));

  for (const { callers, allowed } of [
    { callers: 6, allowed: 6 },
    { callers: 10, allowed: 40 },
  ]) {
    const who = newAsker();
    const places = [{ id: 'concurrency', scope: who.scopes[0]!, allowed }];
    const ends: string[] = [];
    const caller = async () => {
      for (let requests = 0; requests < 30; requests += 1) {
        const counters = replicas[Math.floor(random.next() * replicas.length)]!;
        const entry = { requestId: newRequestId(), account: who.account, callMilli: 1_000, limits: [], places };
        let answer = await counters.enter(entry);
        // Redis or this process was late, which is no refusal of the limit.
        while (answer.kind === 'unavailable') {
          await sleep(20);
          answer = await counters.enter(entry);
        }
        ends.push(answer.kind);
        if (answer.kind !== 'entered') continue;
        await sleep(random.next() * 8);
        answer.leave();
        // The way to the caller and back.
        await sleep(50);
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    assert.equal(ends.filter((kind) => kind !== 'entered').length, 0, `${callers} callers of ${allowed} places`);
  }
});
