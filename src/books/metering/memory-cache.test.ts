import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CacheEntry } from './cache-store.ts';
import { memoryCache } from './memory-cache.ts';

const bounds = { scopeBytes: 4_000, totalBytes: 10_000 };

function entry(atMs: number, more: Partial<CacheEntry> = {}): CacheEntry {
  return { atMs, expiresAtMs: atMs + 1_000, keyId: 'k', model: 'smart', tag: null, body: Buffer.alloc(488), ...more };
}

test('an entry is found in its scope alone, until its time is over', async () => {
  let nowMs = 0;
  const cache = memoryCache(() => nowMs, bounds);
  await cache.put('a', 'digest', entry(0));
  assert.equal((await cache.get('a', 'digest'))?.atMs, 0);
  assert.equal(await cache.get('b', 'digest'), null);
  nowMs = 1_000;
  assert.equal(await cache.get('a', 'digest'), null);
  assert.deepEqual(await cache.stats(), []);
});

test('a scope drops its oldest entries, and keeps none that is larger than a scope', async () => {
  const cache = memoryCache(() => 0, bounds);
  for (let n = 1; n <= 6; n += 1) await cache.put('a', `d${n}`, entry(n));
  await cache.put('b', 'large', entry(9, { body: Buffer.alloc(5_000) }));
  assert.deepEqual(await cache.stats(), [{ scope: 'a', model: 'smart', entries: 4, bytes: 4_000, oldestMs: 3 }]);
});

test('all scopes together keep to their bound', async () => {
  const cache = memoryCache(() => 0, bounds);
  for (let n = 1; n <= 30; n += 1) await cache.put(`s${n}`, 'd', entry(n));
  const stats = await cache.stats();
  assert.equal(stats.length, 10);
  assert.equal(stats[0]?.scope, 's21');
});

test('clear removes what meets every field', async () => {
  const cache = memoryCache(() => 0, bounds);
  await cache.put('a', '1', entry(1, { tag: 'x' }));
  await cache.put('a', '2', entry(1, { keyId: 'other', tag: 'x' }));
  await cache.put('b', '3', entry(1, { model: 'small' }));
  assert.equal(await cache.clear({ keyId: 'k', tag: 'x' }), 1);
  assert.equal(await cache.clear({ model: 'small', scope: 'a' }), 0);
  assert.equal(await cache.clear({}), 2);
});
