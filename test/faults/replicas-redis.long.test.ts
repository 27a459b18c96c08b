import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { assertWithin } from '../machine-load.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';
import { type Asked, ask, balanced } from './books-balance.ts';
import { isReady, newSeen, type Replicas, refusedMaxMs, startReplicas, type UsedUp, useUp } from './replicas.ts';

const skip = postgresMissing || redisMissing;
const postgres = skip === false ? await startPostgres(null) : null;
const planOf = (units: number) => ({
  default: { windows: { '5h': units, week: 10_000, month: 20_000 }, rpm: 1_000_000, concurrency: 1_000 },
});

/** Refused because the books or counters cannot be asked, in time, and nothing else. */
function assertClosed({ status, ms, text }: Asked): void {
  assert.equal(status, 503, text);
  assert.match(text, /[Qq]uota is unavailable|usage ledger cannot record/);
  assertWithin(ms, refusedMaxMs, 'the refusal');
}

/** Until every replica serves, without a restart. */
async function serving({ urls }: Replicas, seen: UsedUp): Promise<void> {
  for (const url of urls) {
    await until(`${url} serves`, async () => {
      const { status, id } = await ask(url);
      if (status === 200) seen.answered.push(id!);
      return status === 200;
    });
  }
}

/** Not one too many and not one too few: units that refused requests left over can be used, and no more. */
async function usedExactly(replicas: Replicas, units: number, seen: UsedUp): Promise<void> {
  await until(`${units} units can be used`, async () => {
    await useUp(replicas.urls, 2, { seen });
    return seen.answered.length >= units;
  });
  assert.equal(seen.answered.length, units);
  const { events } = await balanced(replicas.urls[0]!);
  const charged = new Set(events.filter((event) => event.units === 1).map(({ id }) => id));
  assert.equal(charged.size, units);
  for (const id of seen.answered) assert.ok(charged.has(id), `${id} was answered`);
}

test('F41 Redis down at the start: 503 in time, no upstream is asked; normal without a restart when it is there', {
  skip,
}, async (t) => {
  const redis = await startRedis(t, { running: false });
  const replicas = await startReplicas(t, 1, { postgres: postgres!, redis, plans: planOf(20), ready: false });
  const [url] = replicas.urls as [string];
  for (const asked of await Promise.all(Array.from({ length: 10 }, () => ask(url)))) assertClosed(asked);
  assert.equal(replicas.upstream.requests().filter(({ method }) => method === 'POST').length, 0);
  assert.equal(await isReady(url), false);
  await redis.restart();
  const seen = newSeen();
  await serving(replicas, seen);
  await usedExactly(replicas, 20, seen);
});

test('F42 kill -9 of Redis under load of two replicas: 503 in time, and exact when it is back', { skip }, async (t) => {
  const redis = await startRedis(t);
  const replicas = await startReplicas(t, 2, { postgres: postgres!, redis, plans: planOf(150) });
  const seen = newSeen();
  await serving(replicas, seen);
  const load = useUp(replicas.urls, 8, { seen });
  await until('load', () => seen.answered.length > 40);
  await redis.kill();
  const atLoss = seen.answered.length;
  await after(400);
  for (const url of replicas.urls) assertClosed(await ask(url));
  assert.ok(seen.answered.length <= atLoss + 8, 'what ran went on, nothing new was let in');
  await redis.restart();
  await load;
  for (const asked of seen.unavailable) assertClosed(asked);
  await usedExactly(replicas, 150, seen);
});

test('F43 Redis comes back with an old dump under load: what it forgot counts', { skip }, async (t) => {
  const redis = await startRedis(t);
  const replicas = await startReplicas(t, 2, { postgres: postgres!, redis, plans: planOf(150) });
  const seen = newSeen();
  await serving(replicas, seen);
  redis.cli('save');
  copyFileSync(join(redis.dir, 'dump.rdb'), join(redis.dir, 'old.rdb'));
  const load = useUp(replicas.urls, 8, { seen });
  await until('load', () => seen.answered.length > 60);
  await redis.kill();
  copyFileSync(join(redis.dir, 'old.rdb'), join(redis.dir, 'dump.rdb'));
  await redis.restart();
  await load;
  await usedExactly(replicas, 150, seen);
});

test('F44 FLUSHALL again and again under load of three replicas: nothing is free, nothing counts twice', {
  skip,
}, async (t) => {
  const redis = await startRedis(t);
  const replicas = await startReplicas(t, 3, { postgres: postgres!, redis, plans: planOf(150) });
  const seen = newSeen();
  await serving(replicas, seen);
  const load = useUp(replicas.urls, 12, { seen });
  for (const flushAt of [30, 60, 90]) {
    await until('load', () => seen.answered.length > flushAt);
    redis.cli('flushall');
  }
  await load;
  await usedExactly(replicas, 150, seen);
});

test('F45 Redis answers nothing for 2 s under load: 503 in time, and not one unit is lost', { skip }, async (t) => {
  const redis = await startRedis(t);
  const replicas = await startReplicas(t, 2, { postgres: postgres!, redis, plans: planOf(100) });
  const seen = newSeen();
  await serving(replicas, seen);
  const load = useUp(replicas.urls, 8, { seen });
  await until('load', () => seen.answered.length > 30);
  redis.cli('client', 'pause', '2000', 'all');
  await load;
  assert.ok(seen.unavailable.length > 8);
  for (const asked of seen.unavailable) assertClosed(asked);
  await usedExactly(replicas, 100, seen);
});
