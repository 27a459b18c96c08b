import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OpenAdmin, openAdmin } from './open-admin.ts';

const account = { id: 'acme' };

async function seeded(t: Parameters<typeof openAdmin>[0]) {
  const admin = await openAdmin(t);
  const { clock, cache } = admin;
  const put = (scope: string, digest: string, model: string, more: { keyId?: string; tag?: string } = {}) => {
    clock.advance(1_000);
    const atMs = clock.wallMs();
    const body = Buffer.alloc(1_000);
    return cache.put(scope, digest, {
      atMs,
      expiresAtMs: atMs + 3_600_000,
      keyId: 'k1',
      model,
      tag: null,
      body,
      ...more,
    });
  };
  await put('key k1', 'a', 'smart');
  await put('key k1', 'b', 'smart', { tag: 'nightly' });
  await put('account acme', 'c', 'smart', { keyId: 'k2' });
  await put('all', 'd', 'embed', { keyId: 'k2', tag: 'nightly' });
  return { ...admin, put };
}

test('GET /cache: what is kept, by model and by scope, in pages', async (t) => {
  const { ok, refused } = await seeded(t);
  const byModel = await ok('GET', '/cache');
  assert.deepEqual(
    byModel.data.map(({ model, scope, entries, oldest }: Row) => [model, scope, entries, oldest]),
    [
      ['embed', null, 1, '2025-06-15T15:06:44.000Z'],
      ['smart', null, 3, '2025-06-15T15:06:41.000Z'],
    ],
  );
  assert.equal(byModel.entries, 4);
  assert.equal(byModel.bytes, byModel.data[0].bytes + byModel.data[1].bytes);
  assert.ok(byModel.bytes >= 4_000);
  const first = await ok('GET', '/cache?group_by=scope&model=smart&limit=1');
  assert.deepEqual([first.data.length, first.data[0].scope, first.entries], [1, 'account acme', 3]);
  const next = await ok('GET', `/cache?group_by=scope&model=smart&limit=1&cursor=${first.next_cursor}`);
  assert.deepEqual([next.data[0].scope, next.data[0].entries, next.next_cursor], ['key k1', 2, null]);
  const { data, entries, bytes, models } = await ok('GET', '/cache?model=none');
  assert.deepEqual([data, entries, bytes, models], [[], 0, 0, []]);
  const [status, param] = await refused('GET', '/cache?group_by=plan');
  assert.deepEqual([status, param], [400, 'group_by']);
});

test('DELETE /cache removes what meets all fields, and the audit names who did', async (t) => {
  const { ok, refused, cache } = await seeded(t);
  assert.deepEqual(await ok('DELETE', '/cache?model=smart&tag=nightly'), { cleared: 1 });
  assert.deepEqual(await ok('DELETE', '/cache?key=k2&model=smart'), { cleared: 1 });
  assert.deepEqual(await ok('DELETE', '/cache?tag=other'), { cleared: 0 });
  assert.equal((await refused('DELETE', '/cache?scope=all'))[0], 400);
  assert.equal((await cache.stats()).length, 2);
  assert.deepEqual(await ok('DELETE', '/cache'), { cleared: 2 });
  assert.deepEqual(await cache.stats(), []);
  const { data } = await ok('GET', '/audit?limit=1');
  assert.deepEqual([data[0].actor, data[0].action, data[0].subject], ['test', 'cache.clear', 'all']);
});

test('a revoked key has no answers any more, and those of others stay', async (t) => {
  const { ok, put, cache } = await seeded(t);
  await ok('POST', '/accounts', account);
  const key = await ok('POST', '/keys', { account: 'acme', name: 'app' });
  await put(`key ${key.id}`, 'e', 'smart', { keyId: key.id });
  await put('account acme', 'f', 'smart', { keyId: key.id });
  await ok('DELETE', `/keys/${key.id}`);
  assert.equal(await cache.get(`key ${key.id}`, 'e'), null);
  assert.equal(await cache.get('account acme', 'f'), null);
  assert.notEqual(await cache.get('account acme', 'c'), null);
});

test('an operator of some accounts sees their scopes alone, and clears nothing', async (t) => {
  const { ok, call, put } = await seeded(t);
  await ok('POST', '/accounts', account);
  const key = await ok('POST', '/keys', { account: 'acme', name: 'app' });
  await put(`key ${key.id}`, 'e', 'smart', { keyId: key.id });
  const operator = { name: 'lena', role: 'admin', accounts: ['acme'] } as const;
  const { json } = await call('GET', '/cache?group_by=scope', undefined, operator);
  assert.deepEqual(
    json.data.map(({ scope }: Row) => scope),
    ['account acme', `key ${key.id}`],
  );
  assert.equal(json.entries, 2);
  assert.equal((await call('DELETE', '/cache', undefined, operator)).status, 403);
});

test('a cache that is gone is a 503 that says so, and keys can be revoked', async (t) => {
  const admin: OpenAdmin = await seeded(t);
  const gone = () => Promise.reject(new Error('Redis is lost'));
  Object.assign(admin.cache, { stats: gone, clear: gone });
  const [status, , message] = await admin.refused('GET', '/cache');
  assert.deepEqual([status, message], [503, 'The cache cannot be asked: Redis is lost. Retry it.']);
  assert.equal((await admin.refused('DELETE', '/cache'))[0], 503);
  await admin.ok('POST', '/accounts', account);
  const key = await admin.ok('POST', '/keys', { account: 'acme', name: 'app' });
  assert.equal((await admin.ok('POST', `/keys/${key.id}/revoke`)).status, 'revoked');
  assert.equal(admin.storeErrors.length, 3);
});

interface Row {
  model: string;
  scope: string | null;
  entries: number;
  oldest: string;
}
