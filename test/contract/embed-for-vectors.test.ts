import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { UsageEvent } from '../../src/books/metering/ledger.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import type { RequestRecord } from './embed-world.ts';
import { asked, type ErrorBody } from './served.ts';

const embedPath = '/v2/embed';

/** Alias `e` over Cohere's format, which gets the purpose of texts; nobody declares its length. */
async function world(t: TestContext, config: Record<string, unknown> = {}) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { co: { type: 'cohere', base_url: upstream.url, api_key: 'upstream-secret' } },
    models: { e: { type: 'embedding', tier: 'dear', targets: [{ provider: 'co', model: 'mock/ok', batch: 1_000 }] } },
    ...config,
  });
  const call = (path: string, json: unknown, signal?: AbortSignal) =>
    gateway.fetch(`/v1/vectors${path}`, { json, ...(signal !== undefined && { signal }) });
  return {
    upstream,
    call,
    async done(path: string, json: unknown) {
      const response = await call(path, json);
      assert.equal(response.status, 200, path);
      await response.text();
      return response;
    },
    async record(response: Response) {
      const id = response.headers.get('x-culvert-request-id');
      return (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as RequestRecord & Pick<UsageEvent, 'endpoint'>;
    },
  };
}

const inputTypes = (requests: { body: unknown }[]) =>
  requests.map(({ body }) => (body as { input_type: string }).input_type);

test('§12 texts to be kept are embedded as documents, a text that is looked for as a query', async (t) => {
  const { done, upstream } = await world(t);
  await done('/collections', { name: 'c', vector_size: 1_024 });
  const point = { id: 1, vector: { text: 'alpha', model: 'e' } };
  await done('/collections/c/points', { points: [point] });
  await done('/collections/c/points/query', { query: { text: 'alpha', model: 'e' } });
  assert.deepEqual(inputTypes(asked(upstream)), ['search_document', 'search_query']);
});

test('§11 a vector call with texts is one entry in the books: both costs, the tokens, who embedded', async (t) => {
  const { done, record } = await world(t);
  await done('/collections', { name: 'c', vector_size: 1_024 });
  const response = await done('/collections/c/points', {
    points: [{ id: 1, vector: { text: 'some words to embed', model: 'e' } }],
  });
  assert.equal(response.headers.get('x-culvert-cost'), '1.05');
  const row = await record(response);
  assert.deepEqual([row.endpoint, row.units, row.usage.source], ['vectors', 1.05, 'upstream']);
  assert.ok(row.usage.input_tokens > 0);
  assert.deepEqual(
    row.route.attempts.map(({ target, class: outcome }) => [target, outcome]),
    [['co/mock/ok', 'ok']],
  );
});

test('§12 a length that nobody declares is found by embedding one short text, which costs an embedding', async (t) => {
  const { done, upstream } = await world(t);
  const response = await done('/collections', { name: 'c', embedding_model: 'e' });
  assert.equal(response.headers.get('x-culvert-cost'), '1.05');
  assert.equal((asked(upstream)[0]!.body as { texts: unknown[] }).texts.length, 1);
});

test('§12 the many texts of one vector call are embedded in as many calls as the provider needs, for one unit', async (t) => {
  const { done, upstream } = await world(t);
  await done('/collections', { name: 'c', vector_size: 8 });
  upstream.script(embedPath, ['always vector-size=8']);
  const points = Array.from({ length: 2_048 }, (_, id) => ({ id, vector: { text: `text ${id}`, model: 'e' } }));
  const response = await done('/collections/c/points', { points });
  assert.equal(response.headers.get('x-culvert-cost'), '1.05');
  assert.equal(asked(upstream).length, 3);
});

test('§11 the tier of the embedding model counts for a vector call with texts', async (t) => {
  const { done, call } = await world(t, {
    plans: { default: { windows: 'off', rpm: 'off', tier_limits: { dear: { '5h': 2 } } } },
  });
  await done('/collections', { name: 'c', vector_size: 1_024 });
  const upsert = { points: [{ id: 1, vector: { text: 'alpha', model: 'e' } }] };
  await done('/collections/c/points', upsert);
  const response = await call('/collections/c/points', upsert);
  assert.equal(response.status, 429);
  assert.match(((await response.json()) as ErrorBody).error.message, /dear/);
  // Without a text the tier has no say.
  await done('/collections/c/points/count', {});
});

test('§11 when texts cannot be embedded, nothing is written and nothing is charged', async (t) => {
  const { done, call, record, upstream } = await world(t);
  await done('/collections', { name: 'c', vector_size: 1_024 });
  upstream.script(embedPath, ['always status=500']);
  const response = await call('/collections/c/points', { points: [{ id: 1, vector: { text: 'alpha', model: 'e' } }] });
  assert.equal(response.status, 502);
  assert.equal(response.headers.get('x-culvert-cost'), '0');
  const row = await record(response);
  assert.deepEqual([row.units, row.route.attempts.length > 0], [0, true]);
  const counted = await done('/collections/c/points/count', {});
  assert.equal(counted.headers.get('x-culvert-cost'), '0.05');
});

test('§12 a caller who leaves while texts are embedded ends that, and nothing is written', async (t) => {
  const { done, call, upstream } = await world(t);
  await done('/collections', { name: 'c', vector_size: 1_024 });
  upstream.script(embedPath, ['stall']);
  const controller = new AbortController();
  const upsert = { points: [{ id: 1, vector: { text: 'alpha', model: 'e' } }] };
  const gone = assert.rejects(call('/collections/c/points', upsert, controller.signal));
  await upstream.when(({ path }) => path === embedPath);
  controller.abort();
  await gone;
  await upstream.when(({ path, aborted }) => path === embedPath && aborted);
  const counted = await call('/collections/c/points/count', {});
  assert.equal(((await counted.json()) as { result: { count: number } }).result.count, 0);
});
