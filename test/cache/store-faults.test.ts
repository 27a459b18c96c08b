// It compares times, so it is alone in its process.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import type { CacheStore, SharedCacheStore } from '../../src/books/metering/cache-store.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createSealer } from '../../src/kernel/seal.ts';
import { openRedisCache } from '../../src/stores/cache/redis-cache.ts';
import { createSealedCache } from '../../src/stores/cache/sealed-cache.ts';
import { openSqliteCache } from '../../src/stores/cache/sqlite-cache.ts';
import { fillDisk, mountSmallDisk } from '../faults/small-disk.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask } from './formats.ts';

/*
 * Whatever happens to the store of a cache, callers get their answers: each fault is a miss and a count of the metric,
 * and nobody waits longer than the look-up may take.
 */

const upstream = await startUpstream();
after(upstream.close);
const models = { chat: { targets: [{ provider: 'up', model: 'mock/ok' }], cache: { ttl: '1h' } } };
const providers = { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } };
const bounds = { scopeBytes: 1e8, totalBytes: 1e8 };
const onTrouble = () => {};

async function over(t: TestContext, driver: SharedCacheStore): Promise<TestGateway> {
  const sealer = createSealer(['a secret of the faults, 32 bytes long'], 'cache');
  const cache = createSealedCache(driver, sealer, () => systemClock.wallMs());
  const gateway = await startGateway(t, { providers, models }, { cache });
  t.after(() => cache.close());
  return gateway;
}

const inFile = (file: string) => openSqliteCache({ file, bounds, clock: systemClock, onTrouble });

/** Look-ups by their outcome. */
async function looks(gateway: TestGateway, outcome: 'hit' | 'miss' | 'error'): Promise<number> {
  const metrics = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
  const [, count] =
    (await metrics.text()).match(RegExp(`^culvert_cache_lookups_total{outcome="${outcome}"} (\\d+)$`, 'm')) ?? [];
  return Number(count ?? 0);
}

/** An answer from the cache, once there is one. */
async function untilHit(gateway: TestGateway, text: string): Promise<void> {
  await until('an answer is kept', async () => (await ask(gateway, 'chat', { text })).cache === 'hit');
}

/** That the upstream answers every format while the store fails. */
async function answered(gateway: TestGateway, what: string): Promise<void> {
  for (const format of ['chat', 'messages', 'responses', 'gemini'] as const) {
    for (const stream of [false, true]) {
      const got = await ask(gateway, format, { text: `${what} ${format} ${stream}`, stream });
      assert.deepEqual([got.status, got.cache], [200, 'miss'], `${what}: ${got.body}`);
    }
  }
}

test('Redis that goes away is a miss and a metric, and serves again when it is back', {
  skip: redisMissing,
}, async (t) => {
  const redis = await startRedis(t);
  const gateway = await over(
    t,
    openRedisCache({ url: redis.url, booksId: 'faults', bounds, clock: systemClock, onTrouble }),
  );
  await untilHit(gateway, 'before');
  await redis.kill();
  await until('the cache notices', async () => (await ask(gateway, 'chat', { text: 'before' })).cache === 'miss');
  const before = await looks(gateway, 'error');
  await answered(gateway, 'gone');
  assert.ok((await looks(gateway, 'error')) >= before + 8);
  await redis.restart();
  await untilHit(gateway, 'after');
});

test('Redis that does not answer is a miss, and no request waits for it', { skip: redisMissing }, async (t) => {
  const redis = await startRedis(t);
  const gateway = await over(
    t,
    openRedisCache({ url: redis.url, booksId: 'faults', bounds, clock: systemClock, onTrouble }),
  );
  await untilHit(gateway, 'before');
  const pausedMs = 600_000;
  redis.cli('CLIENT', 'PAUSE', String(pausedMs), 'ALL');
  const before = await looks(gateway, 'error');
  await answered(gateway, 'paused');
  assert.equal((await ask(gateway, 'chat', { text: 'before' })).cache, 'miss');
  assert.ok((await looks(gateway, 'error')) > before);
});

test('Redis without memory is a miss and a metric, gives what it has, and keeps answers again when it has room', {
  skip: redisMissing,
}, async (t) => {
  const redis = await startRedis(t);
  const gateway = await over(
    t,
    openRedisCache({ url: redis.url, booksId: 'faults', bounds, clock: systemClock, onTrouble }),
  );
  await untilHit(gateway, 'before');
  redis.cli('config', 'set', 'maxmemory', '1');
  const before = await looks(gateway, 'error');
  await until('the metric counts it', async () => {
    await answered(gateway, `out of memory ${await looks(gateway, 'error')}`);
    return (await looks(gateway, 'error')) >= before + 8;
  });
  // On a busy machine a look may be late.
  await untilHit(gateway, 'before');
  redis.cli('config', 'set', 'maxmemory', '0');
  await untilHit(gateway, 'after');
});

test('a cache leaves counters that share its Redis a tenth of the memory', { skip: redisMissing }, async (t) => {
  const redis = await startRedis(t);
  const cache = openRedisCache({ url: redis.url, booksId: 'faults', bounds, clock: systemClock, onTrouble });
  t.after(() => cache.close());
  const memory = (name: string) =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(redis.cli('info', 'memory'))?.[1] ?? 0);
  const most = memory('used_memory') + 8_000_000;
  redis.cli('config', 'set', 'maxmemory', String(most));
  const atMs = systemClock.wallMs();
  const facts = { atMs, expiresAtMs: atMs + 600_000, keyId: 'k', model: 'm', tag: null };
  let kept = 0;
  for (let n = 0; n < 200; n += 1) {
    const put = cache.put('key k', `d${n}`, { ...facts, body: randomBytes(100_000) });
    kept += await put.then(
      () => 1,
      () => 0,
    );
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(kept > 20 && kept < 80, `${kept} kept`);
  assert.ok(memory('used_memory') < most * 0.97, `${memory('used_memory')} of ${most}`);
  assert.equal(redis.cli('set', 'a-counter', '1'), 'OK');
  await cache.clear({});
  await until('it keeps answers again', () =>
    cache.put('key k', 'again', { ...facts, body: randomBytes(100) }).then(
      () => true,
      () => false,
    ),
  );
});

test('a store that never answers costs a request about 20 ms, and one that fails nothing', async (t) => {
  let get: CacheStore['get'] = () => new Promise(() => {});
  const store: CacheStore = {
    get: (scope, digest) => get(scope, digest),
    put: () => new Promise(() => {}),
    clear: async () => 0,
    stats: async () => [],
    close: async () => {},
  };
  const gateway = await startGateway(t, { providers, models }, { cache: store });
  let asked = 0;
  async function took(headers: Record<string, string> = {}): Promise<number> {
    asked += 1;
    const { status, ms } = await ask(gateway, 'chat', { text: `slow ${asked}`, headers });
    assert.equal(status, 200);
    return ms;
  }
  async function waited(ms: number): Promise<number> {
    const startMs = performance.now();
    await new Promise((resolve) => setTimeout(resolve, ms));
    return performance.now() - startMs;
  }
  await took();
  // The least of each: other work of the machine adds to some.
  let [plainMs, slowMs, timerMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let n = 0; n < 15; n += 1) {
    plainMs = Math.min(plainMs, await took({ 'x-culvert-cache': 'off' }));
    slowMs = Math.min(slowMs, await took());
    timerMs = Math.min(timerMs, await waited(20));
  }
  assert.ok(slowMs - plainMs < 2 * timerMs, `${slowMs - plainMs} ms more, where a timer of 20 ms takes ${timerMs}`);
  get = () => Promise.reject(new Error('gone'));
  const errors = await looks(gateway, 'error');
  let failingMs = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 15; n += 1) failingMs = Math.min(failingMs, await took());
  assert.equal((await looks(gateway, 'error')) - errors, 15);
  assert.ok(failingMs - plainMs < timerMs, `${failingMs} ms, and ${plainMs} without`);
});

test('a file of the cache that is damaged while it is open is a miss, and is made anew', async (t) => {
  const gateway = await startGateway(t, { providers, models });
  await untilHit(gateway, 'before');
  // SQLite reads pages as it needs them: what it has read it may still know.
  writeFileSync(join(gateway.dataDir, 'cache.db'), Buffer.alloc(64 * 1024, 'damage '));
  writeFileSync(join(gateway.dataDir, 'cache.db-wal'), Buffer.alloc(64 * 1024, 'damage '));
  for (let n = 0; n < 20; n += 1) {
    assert.equal((await ask(gateway, 'chat', { text: `damaged ${n}` })).status, 200);
  }
  await untilHit(gateway, 'after');
});

test('a disk that is full is a miss and a metric, and answers are kept again once there is room', async (t) => {
  const disk = mountSmallDisk(t, 8);
  if (disk === null) return t.skip('no file system can be mounted here');
  const gateway = await over(t, inFile(join(disk, 'cache.db')));
  await untilHit(gateway, 'before');
  const empty = fillDisk(disk);
  const errors = await looks(gateway, 'error');
  for (let n = 0; n < 3; n += 1) await answered(gateway, `full ${n} ${'x'.repeat(200_000)}`);
  await until('the metric counts it', async () => (await looks(gateway, 'error')) > errors);
  empty();
  await untilHit(gateway, 'room again');
});

test('a file that cannot be made is a miss and a metric, until it can', async (t) => {
  const disk = mountSmallDisk(t, 8);
  if (disk === null) return t.skip('no file system can be mounted here');
  const mounted = (as: 'ro' | 'rw') => assert.equal(spawnSync('mount', ['-o', `remount,${as}`, disk]).status, 0);
  mounted('ro');
  const gateway = await over(t, inFile(join(disk, 'cache.db')));
  await answered(gateway, 'read-only');
  await until('the metric counts it', async () => (await looks(gateway, 'error')) > 0);
  mounted('rw');
  await untilHit(gateway, 'writable');
});
