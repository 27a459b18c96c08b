import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Held } from '../../src/books/metering/counters.ts';
import { MemoryCounters } from '../../src/books/metering/memory-counters.ts';
import { createLocalOnLoss } from '../../src/books/metering/state-loss.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { type FakeBooks, fakeBooks } from '../stores/counter-books.ts';
import { newAsker, usedOf } from '../stores/counter-requests.ts';
import { until } from '../until.ts';
import { closeInBooks, passing, replica, reserve } from './redis-replica.ts';

const unit = 1_000;

test('F42 on_state_loss: local lets each of two replicas give half of the limit, and Redis learns of it', {
  skip: redisMissing,
}, async (t) => {
  const redis = await startRedis(t);
  const books = fakeBooks('later');
  const who = newAsker();
  const both = [withLocal(t, redis.url, books), withLocal(t, redis.url, books)];
  await Promise.all(both.map(({ shared }) => shared.whenReady()));
  const early = (await reserve(both[0]!.counters, books, who, 20 * unit, 4 * unit)) as Held;
  closeInBooks(books, who, early, { costMilli: 4 * unit });
  both[0]!.counters.settle(early, { costMilli: 4 * unit, tokens: 0, usdNano: 0 });

  await redis.kill();
  await until('the loss is noticed', () => both.every(({ shared }) => shared.lost()));
  assert.equal(both[0]!.counters.trouble(), null, 'it admits');
  // Half of 20 is 10, of which half of the 4 are gone.
  for (const { counters } of both) assert.equal(await passing([counters], books, who, 20 * unit, 30), 8);

  await redis.restart();
  // Each of them makes Redis begin anew once; what both counted, of the early request too, is then there.
  for (const { counters } of both)
    await until('Redis admits', async () => (await usedOf(counters, who, 'units', '5h').catch(() => 0)) === 20 * unit);
  assert.equal(await passing([both[0]!.counters, both[1]!.counters], books, who, 20 * unit, 30), 0);
});

test('F42 what was admitted locally counts where Redis itself lost nothing', { skip: redisMissing }, async (t) => {
  const redis = await startRedis(t);
  const books = fakeBooks('later');
  const who = newAsker();
  const cut = withLocal(t, redis.url, books);
  const other = replica(t, redis.url, books).counters;
  await Promise.all([cut.shared.whenReady(), other.whenReady()]);
  assert.equal(await passing([other], books, who, 20 * unit, 5), 5);
  // Paused, it is lost to its clients, and remembers everything.
  redis.cli('client', 'pause', '1200', 'all');
  assert.equal((await reserve(cut.counters, books, who, 20 * unit)).kind, 'unavailable', 'at the moment of the loss');
  const local = await passing([cut.counters], books, who, 20 * unit, 6);
  assert.equal(local, 6);
  await until('Redis admits again', () => cut.shared.trouble() === null && other.trouble() === null);
  await until('both count them', async () => (await usedOf(other, who, 'units', '5h').catch(() => 0)) === 11 * unit);
  assert.equal(await passing([cut.counters, other], books, who, 20 * unit, 30), 9);
});

function withLocal(t: TestContext, url: string, books: FakeBooks) {
  const shared = replica(t, url, books).counters;
  const local = (share: () => number) => new MemoryCounters({ clock: systemClock, books, share });
  return { shared, counters: createLocalOnLoss({ shared, local, livingBoots: async () => 2 }) };
}
