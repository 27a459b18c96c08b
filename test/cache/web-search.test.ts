import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { listening } from '../listening.ts';
import { adminKey, answerKept, otherKey, startGateway, testKey } from '../start-gateway.ts';
import { until } from '../until.ts';

/** A search engine that counts its calls, and answers once `open` resolves. */
let asked = 0;
let open: Promise<unknown> = Promise.resolve();
let results: object[] = [];
const engine = createServer(async (_, response) => {
  asked += 1;
  await open;
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
});
const url = await listening({ after } as TestContext, engine);
const config = (cache: object | undefined, costs: object = {}) => ({
  // Equal requests wait for each other within a process (docs/scale-out.md).
  server: { processes: 1 },
  tools: { search: { providers: [{ type: 'searxng', base_url: url }], ...(cache !== undefined && { cache }) } },
  costs,
});
const cached = { ttl: '1h' };
const gateway = await startGateway({ after } as TestContext, config(cached));
beforeEach(() => {
  asked = 0;
  open = Promise.resolve();
  results = [{ url: 'https://a.example/', title: 'A', content: 'Words of A', score: 1 }];
});

interface Asking {
  headers?: Record<string, string>;
  key?: string;
  at?: string;
  more?: object;
  signal?: AbortSignal;
}

async function search(query: string, { headers, key = testKey, at = '/v1/tools/search', more, signal }: Asking = {}) {
  const sinceMs = Date.now();
  const response = await gateway.fetch(at, {
    json: { query, ...more },
    headers: { ...headers, authorization: `Bearer ${key}` },
    ...(signal !== undefined && { signal }),
  });
  const body = (await response.json()) as Record<string, unknown>;
  const cache = response.headers.get('x-culvert-cache')?.split(';')[0] ?? null;
  if (cache === 'miss') await answerKept(gateway, sinceMs);
  return { status: response.status, headers: response.headers, cache, body };
}

async function gauge(name: string): Promise<number> {
  const response = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
  const line = (await response.text()).match(new RegExp(`^${name} (\\S+)$`, 'm'));
  return Number(line?.[1] ?? 0);
}

test('an equal search gets the kept answer, at the cost of a kept answer', async () => {
  const miss = await search('otters');
  assert.deepEqual([miss.status, miss.cache, miss.headers.get('x-culvert-cost')], [200, 'miss', '1']);
  const hit = await search('otters');
  assert.deepEqual([hit.status, hit.cache, hit.headers.get('x-culvert-cost')], [200, 'hit', '0']);
  assert.deepEqual(hit.body, { ...miss.body, cached: true, creditsUsed: 0 });
  assert.match(hit.headers.get('x-culvert-cache') ?? '', /^hit; age=\d+$/);
  assert.equal(asked, 1);
  for (const other of [{ limit: 6 }, { country: 'de' }, { unheard_of: 1 }]) {
    assert.equal((await search('otters', { more: other })).cache, 'miss', JSON.stringify(other));
  }
  assert.equal((await search('otters', { key: otherKey })).cache, 'miss');
});

test('Firecrawl’s second API shares the answers of ours, and each has its own shape', async () => {
  const own = await search('shapes');
  const second = await search('shapes', { at: '/v2/search' });
  assert.deepEqual([own.cache, second.cache], ['miss', 'hit']);
  const first = await search('shapes', { at: '/v1/tools/v1/search' });
  assert.equal(first.cache, 'miss');
  const again = await search('shapes', { at: '/v1/search' });
  assert.equal(again.cache, 'hit');
  assert.ok(Array.isArray(first.body.data) && Array.isArray(again.body.data), JSON.stringify(again.body));
  assert.equal(asked, 2);
});

test('a caller makes the cache stricter', async () => {
  const wish = (value: string) => ({ headers: { 'x-culvert-cache': value } });
  const none = await search('strict', wish('only'));
  assert.deepEqual([none.status, asked], [504, 0], JSON.stringify(none.body));
  assert.equal((await search('strict', wish('off'))).cache, 'bypass');
  assert.equal((await search('strict')).cache, 'miss');
  assert.equal((await search('strict', wish('only'))).cache, 'hit');
  assert.equal((await search('strict', wish('refresh'))).cache, 'miss');
  assert.equal((await search('strict', { headers: { 'cache-control': 'no-store' } })).cache, 'bypass');
  assert.equal((await search('strict', { headers: { 'x-culvert-cache-max-age': '0' } })).cache, 'miss');
  const wrong = await search('strict', wish('always'));
  assert.deepEqual([wrong.status, JSON.stringify(wrong.body).includes('x-culvert-cache')], [400, true]);
  // Nothing in the memory of ten minutes stood in for a caller who wanted it anew.
  assert.equal(asked, 5);
});

test('searches that come together ask the engine once, and the first caller may leave', async () => {
  const opened = Promise.withResolvers<void>();
  open = opened.promise;
  const leaving = new AbortController();
  const first = search('together', { signal: leaving.signal }).catch(() => 'left');
  await until('the engine is asked', () => asked === 1);
  const others = Array.from({ length: 20 }, () => search('together'));
  await until('all wait', async () => (await gauge('culvert_cache_waiting_requests')) === 20);
  leaving.abort();
  assert.equal(await first, 'left');
  opened.resolve();
  assert.deepEqual(new Set((await Promise.all(others)).map(({ cache }) => cache)), new Set(['hit']));
  assert.equal(asked, 1);
});

test('those who waited ask alone when the first one fails, and keep their own time', async () => {
  const opened = Promise.withResolvers<void>();
  open = opened.promise;
  const first = search('hasty', { more: { timeout: 1_000 } });
  await until('the engine is asked', () => asked === 1);
  const second = await search('hasty', { more: { timeout: 1_000 } });
  assert.ok(second.status >= 500, JSON.stringify(second.body));
  assert.ok((await first).status >= 500);
  opened.resolve();
  assert.equal((await search('hasty', { more: { timeout: 1_000 } })).cache, 'miss');
});

test('what is empty, or of a page that could not be read, or of the caller’s own pages, is not kept', async () => {
  results = [];
  for (let n = 0; n < 2; n += 1) assert.equal((await search('nothing')).cache, 'miss');
  results = [{ url: 'http://127.0.0.1:9/gone', title: 'Gone', content: 'Gone', score: 1 }];
  const read = { more: { scrapeOptions: { formats: ['markdown'] } } };
  for (let n = 0; n < 2; n += 1) assert.equal((await search('a page', read)).cache, 'miss');
  const own = { more: { provider: 'corpus' } };
  for (let n = 0; n < 2; n += 1) assert.notEqual((await search('pages of mine', own)).cache, 'hit');
  const written = { more: { scrapeOptions: { formats: ['summary'] } } };
  assert.equal((await search('a summary', written)).cache, 'bypass');
});

test('the ledger, the page and the removal name searches as tools.search', async () => {
  await search('books');
  const { headers } = await search('books');
  const id = headers.get('x-culvert-request-id');
  let row: Record<string, unknown> = {};
  await until('the row is written', async () => {
    row = (await callAdmin<Record<string, unknown>>(gateway, 'GET', `/requests/${id}`)).body;
    return row.status === 200;
  });
  assert.deepEqual([row.cache, row.units, row.endpoint, row.alias ?? row.model], ['hit', 0, 'search', 'tools.search']);
  const { models } = (await callAdmin<{ models: Record<string, number>[] }>(gateway, 'GET', '/cache')).body;
  const kept = models.find(({ model }) => String(model) === 'tools.search');
  assert.ok(Number(kept?.hits) > 0 && Number(kept?.misses) > 0 && Number(kept?.entries) > 0, JSON.stringify(models));
  assert.ok((await gauge('culvert_cache_lookups_total\\{outcome="hit"\\}')) > 0);
  const { cleared } = (await callAdmin<{ cleared: number }>(gateway, 'DELETE', '/cache?model=tools.search')).body;
  assert.equal(cleared, kept?.entries);
  assert.equal((await search('books')).cache, 'miss');
});

test('a wider scope shares, a change of the engines asks anew, and costs.cached is what a hit costs', async () => {
  await gateway.reload(config({ ttl: '1h', scope: 'all' }, { cached: 0.5 }));
  assert.equal((await search('shared')).cache, 'miss');
  const hit = await search('shared', { key: otherKey });
  assert.deepEqual([hit.cache, hit.headers.get('x-culvert-cost'), hit.body.creditsUsed], ['hit', '0.5', 0.5]);
  const other = config({ ttl: '1h', scope: 'all' });
  other.tools.search.providers = [{ type: 'searxng', base_url: `${url}/other` }];
  await gateway.reload(other);
  assert.equal((await search('shared')).cache, 'miss');
});

test('without tools.search.cache nothing is kept, and no header speaks of it', async () => {
  await gateway.reload(config(undefined));
  const plain = await search('off');
  assert.deepEqual([plain.status, plain.cache], [200, null]);
  const { entries } = (await callAdmin<{ entries: number }>(gateway, 'GET', '/cache?model=tools.search')).body;
  await search('off');
  assert.equal(
    (await callAdmin<{ entries: number }>(gateway, 'GET', '/cache?model=tools.search')).body.entries,
    entries,
  );
  assert.equal((await search('off', { headers: { 'x-culvert-cache': 'refresh' } })).cache, 'bypass');
  const only = await search('off', { headers: { 'x-culvert-cache': 'only' } });
  assert.equal(only.status, 504);
});
