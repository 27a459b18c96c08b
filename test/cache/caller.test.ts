import assert from 'node:assert/strict';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { memoryCache } from '../memory-cache.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask } from './formats.ts';

const upstream = await startUpstream();
after(upstream.close);
const kept = memoryCache(() => Date.now(), { scopeBytes: 1e6, totalBytes: 1e7 });
/** What the store does instead of giving entries as they are. */
let agedMs = 0;
let fault: 'none' | 'slow' | 'gone' | 'damaged' | 'another' = 'none';
const gateway = await startGateway(
  { after } as TestContext,
  {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: {
      chat: { targets: [{ provider: 'up', model: 'mock/ok' }], cache: { ttl: '1h' } },
      plain: { targets: [{ provider: 'up', model: 'mock/ok' }] },
    },
  },
  {
    cache: {
      ...kept,
      async get(scope, digest) {
        if (fault === 'slow') await new Promise((resolve) => setTimeout(resolve, 2_000).unref());
        if (fault === 'gone') throw new Error('gone');
        const entry = await kept.get(scope, digest);
        if (entry === null) return null;
        if (fault === 'damaged') return { ...entry, body: entry.body.subarray(9) };
        if (fault === 'another') return { ...entry, body: Buffer.from(String(entry.body).replace(digest, 'other')) };
        return { ...entry, atMs: entry.atMs - agedMs };
      },
      put: (scope, digest, entry) =>
        fault === 'gone' ? Promise.reject(new Error('gone')) : kept.put(scope, digest, entry),
    },
  },
);
beforeEach(() => {
  upstream.clear();
  agedMs = 0;
  fault = 'none';
});
const asked = () => upstream.requests().filter(({ method }) => method === 'POST').length;
const withHeaders = (text: string, headers: Record<string, string>, model = 'chat') =>
  ask(gateway, 'chat', { text, headers, model });

test('x-culvert-cache: off neither reads nor writes', async () => {
  const off = { 'x-culvert-cache': 'off' };
  assert.equal((await withHeaders('off', off)).cache, 'bypass');
  assert.equal((await withHeaders('off', {})).cache, 'miss');
  assert.equal((await withHeaders('off', off)).cache, 'bypass');
  assert.equal((await withHeaders('off', { 'cache-control': 'no-store' })).cache, 'bypass');
  assert.equal(asked(), 4);
});

for (const headers of [{ 'x-culvert-cache': 'refresh' }, { 'cache-control': 'private, no-cache' }]) {
  test(`${JSON.stringify(headers)} asks anew, and keeps the new answer`, async () => {
    const text = JSON.stringify(headers);
    await withHeaders(text, {});
    upstream.script('/v1/chat/completions', ['text=fresh words']);
    const fresh = await withHeaders(text, headers);
    assert.deepEqual([fresh.cache, fresh.text], ['miss', 'fresh words']);
    const hit = await withHeaders(text, {});
    assert.deepEqual([hit.cache, hit.text], ['hit', 'fresh words']);
  });
}

test('x-culvert-cache: only never asks: 504 where nothing is kept', async () => {
  const only = { 'x-culvert-cache': 'only' };
  for (const model of ['chat', 'plain']) {
    const missed = await withHeaders('only', only, model);
    assert.equal(missed.status, 504, missed.body);
    assert.match(missed.body, /x-culvert-cache/);
  }
  assert.equal(asked(), 0);
  await withHeaders('only', {});
  assert.equal((await withHeaders('only', only)).cache, 'hit');
});

test('another value is refused, with its header and its values', async () => {
  for (const model of ['chat', 'plain']) {
    const wrong = await withHeaders('wrong', { 'x-culvert-cache': 'always' }, model);
    assert.equal(wrong.status, 400);
    assert.match(wrong.body, /x-culvert-cache must be off, only, refresh or exact/);
  }
  const age = await withHeaders('wrong', { 'x-culvert-cache-max-age': '1h' });
  assert.equal(age.status, 400);
  assert.match(age.body, /x-culvert-cache-max-age must be a whole number of seconds/);
  assert.equal(asked(), 0);
});

test('an answer is as old as the operator and the caller allow', async () => {
  await withHeaders('age', {});
  agedMs = 600_000;
  const old = await withHeaders('age', {});
  assert.match(old.headers.get('x-culvert-cache') ?? '', /^hit; age=60\d$/);
  assert.equal((await withHeaders('age', { 'x-culvert-cache-max-age': '700' })).cache, 'hit');
  assert.equal((await withHeaders('age', { 'x-culvert-cache-max-age': '500' })).cache, 'miss');
  agedMs = 3_600_000;
  assert.equal((await withHeaders('age', {})).cache, 'miss');
});

for (const wrong of ['slow', 'gone', 'damaged', 'another'] as const) {
  test(`a store that is ${wrong} is a miss, and no error`, async () => {
    await withHeaders(wrong, {});
    fault = wrong;
    const missed = await withHeaders(wrong, {});
    assert.deepEqual([missed.status, missed.cache], [200, 'miss'], missed.body);
  });
}

test('a change of the model, its price or its provider makes another request', async (t) => {
  const store = memoryCache(() => Date.now(), { scopeBytes: 1e6, totalBytes: 1e7 });
  const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
  const target = { provider: 'up', model: 'mock/ok' };
  const config = (up: object, model: object, its: object = {}) => ({
    providers: { up: { ...provider, ...up } },
    models: { chat: { targets: [{ ...target, ...its }], cache: { ttl: '1h' }, ...model } },
  });
  const own = await startGateway(t, config({}, {}), { cache: store });
  const said = async () => (await ask(own, 'chat', { text: 'config' })).cache;
  assert.deepEqual([await said(), await said()], ['miss', 'hit']);
  const others = [
    config({}, {}, { body: { top_k: 3 } }),
    config({}, {}, { price: { input: 1 } }),
    config({}, {}, { model: 'mock/text=other' }),
    config({}, {}, { capabilities: { vision: false } }),
    config({}, { answer_model: 'asked' }),
    config({}, { quality: { min_chars: 1 } }),
    config({ headers: { 'x-a': 'b' } }, {}),
  ];
  for (const other of others) {
    await own.reload(other);
    assert.deepEqual([await said(), await said()], ['miss', 'hit'], JSON.stringify(other));
  }
  await own.reload(config({ api_key: 'rotated' }, {}));
  assert.equal(await said(), 'hit');
});
