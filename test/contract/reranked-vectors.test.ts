import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startGateway, testKey } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import type { RequestRecord } from './embed-world.ts';
import { asked, type ErrorBody } from './served.ts';

const rerankPath = '/v1/rerank';
const searchPath = '/collections/docs/points/search';
const queryPath = '/collections/docs/points/query';

interface Point {
  id: number;
  score: number;
  original_score: number;
  payload?: Record<string, unknown>;
}

/** In the order of the engine for `[1, 0]`; the simulator ranks by how many of the query's words stand in a text. */
const points = [
  { id: 1, vector: [1, 0], payload: { text: 'a blue bird', page: { body: 'a red fish' }, source: 'a' } },
  { id: 2, vector: [0.9, 0.1], payload: { source: 'no text' } },
  { id: 3, vector: [0.8, 0.2], payload: { text: 'a red bird', page: { body: 'a blue bird' }, source: 'b' } },
  { id: 4, vector: [0.7, 0.3], payload: { text: 'a red fish', page: { body: 3 }, source: 'c' } },
];

const rerank = { model: 'r', query: 'red fish' };

interface Config {
  /** Of the first and the second target. */
  urls?: readonly string[];
  models?: Record<string, unknown>;
  [section: string]: unknown;
}

/** Alias `r` over two rerankers, the second after the first, and `e` that embeds; `docs` with `points` in it. */
async function world(t: TestContext, { urls, models, ...config }: Config = {}) {
  const [first, second] = await Promise.all([startUpstream(), startUpstream()]);
  t.after(() => Promise.all([first.close(), second.close()]));
  const [one, two] = urls ?? [first.url, second.url];
  const gateway = await startGateway(t, {
    providers: {
      one: { type: 'jina', base_url: `${one}/v1`, api_key: 'upstream-secret' },
      two: { type: 'jina', base_url: `${two}/v1`, api_key: 'upstream-secret' },
      embeds: { type: 'openai', base_url: `${first.url}/v1`, api_key: 'upstream-secret' },
    },
    models: {
      r: {
        type: 'rerank',
        targets: [
          { provider: 'one', model: 'mock/ok', price: { input: 100, output: 0 } },
          { provider: 'two', model: 'mock/ok', priority: 2 },
        ],
      },
      e: { type: 'embedding', targets: [{ provider: 'embeds', model: 'mock/ok', price: { input: 7, output: 0 } }] },
      ...models,
    },
    ...config,
  });
  await gateway.modelsKnown;
  const post = (path: string, json: unknown, signal?: AbortSignal) =>
    gateway.fetch(`/v1/vectors${path}`, { json, ...(signal !== undefined && { signal }) });
  const done = async (path: string, json: unknown) => {
    const response = await post(path, json);
    const body = (await response.json()) as { result: never };
    assert.equal(response.status, 200, JSON.stringify(body));
    return { response, result: body.result };
  };
  await done('/collections', { name: 'docs', vector_size: 2 });
  await done('/collections/docs/points', { points });
  return {
    first,
    second,
    post,
    done,
    async query(json: object): Promise<Point[]> {
      return ((await done(queryPath, json)).result as { points: Point[] }).points;
    },
    async refused(path: string, json: unknown) {
      const response = await post(path, json);
      const { error } = (await response.json()) as ErrorBody;
      return { status: response.status, error, cost: response.headers.get('x-culvert-cost') };
    },
    async record(response: Response) {
      const id = response.headers.get('x-culvert-request-id');
      return (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as RequestRecord & {
        endpoint: string;
        cost_usd: number;
      };
    },
  };
}

const documents = (upstream: Upstream) =>
  asked(upstream).map(({ body }) => (body as { documents: string[] }).documents);
const idsOf = (found: readonly Point[]) => found.map(({ id }) => id);

const engines: Record<string, (t: TestContext) => Promise<Record<string, unknown>>> = {
  embedded: async () => ({}),
  /** A second gateway's root speaks Qdrant's API. */
  async qdrant(t) {
    const { url } = await startGateway(t);
    return { vectors: { engine: 'qdrant', url, api_key: testKey } };
  },
};

for (const [engine, config] of Object.entries(engines)) {
  test(`${engine}: points come in the reranker's order with its score, those without a text last`, async (t) => {
    const { query, done, first } = await world(t, await config(t));
    const engineOrder = await query({ query: [1, 0] });
    const scores = new Map(engineOrder.map(({ id, score }) => [id, score]));
    assert.deepEqual(idsOf(engineOrder), [1, 2, 3, 4]);

    const found = await query({ query: [1, 0], rerank });
    const told = (id: number, score: number) => ({ id, version: 0, score, original_score: scores.get(id) });
    const expected = [told(4, 1), told(3, 0.5), told(1, 0), told(2, 0)];
    assert.deepEqual(found, expected);
    assert.deepEqual(documents(first), [['a blue bird', 'a red bird', 'a red fish']]);

    const { result, response } = await done(searchPath, { vector: [1, 0], limit: 4, rerank: { ...rerank, top_n: 2 } });
    assert.deepEqual(result, expected.slice(0, 2));
    assert.equal(response.headers.get('x-culvert-cost'), '1.05');
    // Those that the engine finds, and no others, are ranked.
    assert.deepEqual(idsOf(await query({ query: [1, 0], limit: 3, rerank })), [3, 1, 2]);
  });

  test(`${engine}: the text stands under any key, and the payload is what was asked for`, async (t) => {
    const { query } = await world(t, await config(t));
    const by = { ...rerank, text_key: 'page.body' };
    const found = await query({ query: [1, 0], rerank: by, with_payload: ['source'] });
    assert.deepEqual(
      found.map(({ id, score, payload }) => [id, score, payload]),
      [
        [1, 1, { source: 'a' }],
        [3, 0, { source: 'b' }],
        [2, 0, { source: 'no text' }],
        [4, 0, { source: 'c' }],
      ],
    );
    const [whole] = await query({ query: [1, 0], rerank: by, with_payload: true });
    assert.deepEqual(whole!.payload, points[0]!.payload);
    const [less] = await query({ query: [1, 0], rerank: by, with_payload: { exclude: ['page.body', 'text'] } });
    assert.deepEqual(less!.payload, { page: {}, source: 'a' });
  });
}

test('a query of texts is reranked by its own text, that of its prefetches too', async (t) => {
  const { done, first, post, refused } = await world(t);
  const embedded = 'culvert-lexical-1024';
  const put = await post('/collections', { name: 'texts', embedding_model: embedded });
  assert.equal(put.status, 200);
  const texts = ['a blue bird', 'a red bird', 'a red fish'].map((text, id) => ({ id, payload: { text } }));
  await done('/collections/texts/points', { points: texts });
  const path = '/collections/texts/points';
  const { result } = await done(`${path}/search`, { text: 'red bird', rerank: { model: 'r' } });
  assert.equal((result as Point[])[0]!.id, 1);
  const prefetch = [{ query: { text: 'a fish' } }, { query: { text: 'a fish' }, limit: 2 }];
  await done(`${path}/query`, { prefetch, query: { fusion: 'rrf' }, rerank: { model: 'r' } });
  const queries = asked(first).map(({ body }) => (body as { query: string }).query);
  assert.deepEqual(queries, ['red bird', 'a fish']);
  const two = [...prefetch, { query: { text: 'a bird' } }];
  const several = await refused(`${path}/query`, { prefetch: two, query: { fusion: 'rrf' }, rerank: { model: 'r' } });
  assert.deepEqual([several.status, several.error.param, several.cost], [400, 'rerank.query', null]);
});

test('a call that embeds and reranks is one entry in the books: all costs, both models, their tokens and prices', async (t) => {
  const { done, record } = await world(t);
  await done('/collections', { name: 'dense', vector_size: 1_024 });
  const written = points.map(({ id, payload }) => ({ id, payload, vector: { text: `text ${id}`, model: 'e' } }));
  await done('/collections/dense/points', { points: written });
  const { response } = await done('/collections/dense/points/search', { text: 'red fish', model: 'e', rerank });
  assert.equal(response.headers.get('x-culvert-cost'), '2.05');
  const row = await record(response);
  assert.deepEqual([row.endpoint, row.units], ['vectors', 2.05]);
  const [embedding, ranking, ...more] = row.route.attempts;
  assert.deepEqual([embedding!.target, ranking!.target, more], ['embeds/mock/ok', 'one/mock/ok', []]);
  const [embedded, ranked] = [embedding!.usage!.inputTokens, ranking!.usage!.inputTokens];
  assert.ok(embedded > 0 && ranked > 0);
  assert.equal(row.usage.input_tokens, embedded + ranked);
  assert.ok(Math.abs(row.cost_usd - (7 * embedded + 100 * ranked) / 1e6) < 2e-9, JSON.stringify(row));
});

test('another target ranks when the first fails, or answers no ranks of these texts', async (t) => {
  const { query, first, second } = await world(t);
  first.script(rerankPath, ['status=500']);
  assert.deepEqual(idsOf(await query({ query: [1, 0], rerank })), [4, 3, 1, 2]);
  assert.deepEqual([asked(first).length, asked(second).length], [1, 1]);

  const answer = { results: [] as object[] };
  const url = await answering(t, answer);
  const saved = await world(t, { urls: [url, second.url] });
  const broken = await world(t, { urls: [url, url] });
  for (const ranks of [
    [{ index: 3, relevance_score: 1 }],
    [{ index: 0, relevance_score: 'high' }],
    [
      { index: 1, relevance_score: 1 },
      { index: 1, relevance_score: 0.5 },
    ],
    [],
  ]) {
    answer.results = ranks;
    assert.deepEqual(idsOf(await saved.query({ query: [1, 0], rerank })), [4, 3, 1, 2], JSON.stringify(ranks));
    const { status, error, cost } = await broken.refused(queryPath, { query: [1, 0], rerank });
    assert.deepEqual([status, error.type, cost], [502, 'upstream_error', '0'], JSON.stringify(ranks));
  }
});

test('points that the reranker leaves out come after those that it ranked; its order is that of its scores', async (t) => {
  const results = [
    { index: 0, relevance_score: -3.5 },
    { index: 2, relevance_score: -1.25 },
  ];
  const url = await answering(t, { data: results });
  const { query } = await world(t, { urls: [url, url] });
  const found = await query({ query: [1, 0], rerank });
  assert.deepEqual(
    found.map(({ id, score }) => [id, score]),
    [
      [4, -1.25],
      [1, -3.5],
      [2, -3.5],
      [3, -3.5],
    ],
  );
});

test('a reranker that fails is the answer, and costs nothing, embedding included', async (t) => {
  const { refused, first, second, post, record } = await world(t);
  for (const upstream of [first, second]) upstream.script(rerankPath, ['always status=503']);
  const { status, error, cost } = await refused(queryPath, { query: [1, 0], rerank });
  assert.deepEqual([status, error.type, cost], [502, 'upstream_error', '0']);
  assert.match(error.message, /model 'r'/);
  const response = await post(queryPath, { query: [1, 0], rerank });
  await response.text();
  const row = await record(response);
  assert.deepEqual([row.units, row.usage.input_tokens, row.status], [0, 0, response.status]);
});

test('where nothing is found that has a text, nobody reranks, and reranking is not charged', async (t) => {
  const { done, first, record } = await world(t);
  const filter = { must: [{ key: 'source', match: { value: 'no text' } }] };
  const { result, response } = await done(queryPath, { query: [1, 0], filter, rerank });
  assert.deepEqual(idsOf((result as { points: Point[] }).points), [2]);
  assert.equal(response.headers.get('x-culvert-cost'), '0.05');
  assert.equal((await record(response)).units, 0.05);
  assert.equal(asked(first).length, 0);
});

test('a wrong rerank is refused before anything is searched, and names its field', async (t) => {
  const { refused, first } = await world(t, { models: { chat: { targets: ['embeds/mock/ok'] } } });
  const wrong: [body: object, status: number, param: string][] = [
    [{ rerank: { ...rerank, model: 'nope' } }, 404, 'rerank.model'],
    [{ rerank: { query: 'red' } }, 400, 'rerank.model'],
    [{ rerank: { model: 'r' } }, 400, 'rerank.query'],
    [{ rerank: { ...rerank, query: '' } }, 400, 'rerank.query'],
    [{ rerank: { ...rerank, top_n: 0 } }, 400, 'rerank.top_n'],
    [{ rerank: { ...rerank, text_key: 'a[]' } }, 400, 'rerank.text_key'],
    [{ rerank: { ...rerank, top_k: 2 } }, 400, 'rerank'],
    [{ rerank: 'r' }, 400, 'rerank'],
    [{ rerank, limit: 1_001 }, 400, 'limit'],
  ];
  for (const [body, status, param] of wrong) {
    const answer = await refused(queryPath, { query: [1, 0], ...body });
    assert.deepEqual([answer.status, answer.error.param], [status, param], JSON.stringify(body));
  }
  const batch = await refused(`${queryPath}/batch`, { searches: [{ query: [1, 0], rerank }] });
  assert.deepEqual([batch.status, batch.error.param], [400, 'searches[0]']);
  assert.equal(asked(first).length, 0);
});

test('more text than a reranker is sent is refused, and names what to lower', async (t) => {
  const { done, refused, first } = await world(t);
  const text = 'word '.repeat(500_000);
  for (const id of [11, 12, 13, 14]) {
    await done('/collections/docs/points', { points: [{ id, vector: [1, 0], payload: { text } }] });
  }
  const { status, error, cost } = await refused(queryPath, { query: [1, 0], rerank });
  assert.deepEqual([status, error.param, cost], [400, 'limit', '0'], error.message);
  assert.equal(asked(first).length, 0);
});

test('a gateway whose providers rerank nothing says which key to set', async (t) => {
  const gateway = await startGateway(t);
  const post = (path: string, json: unknown) => gateway.fetch(`/v1/vectors${path}`, { json });
  assert.equal((await post('/collections', { name: 'docs', vector_size: 2 })).status, 200);
  const response = await post(queryPath, { query: [1, 0], rerank });
  const { error } = (await response.json()) as ErrorBody;
  assert.deepEqual([response.status, error.param], [404, 'rerank.model'], error.message);
  assert.match(error.message, /serves \/v1\/rerank\. Set .*COHERE_API_KEY, .*JINA_API_KEY.* for the server/);
});

test('the tier of the rerank model counts for the call; models of two tiers cannot share one', async (t) => {
  const targets = ['one/mock/ok'];
  const models = {
    r: { type: 'rerank', tier: 'dear', targets },
    e: { type: 'embedding', tier: 'cheap', targets: ['embeds/mock/ok'] },
  };
  const limits = { windows: 'off', rpm: 'off', tier_limits: { dear: { '5h': 2 } } };
  const { done, refused } = await world(t, { models, plans: { default: limits } });
  await done(queryPath, { query: [1, 0], rerank });
  const reached = await refused(queryPath, { query: [1, 0], rerank });
  assert.equal(reached.status, 429);
  assert.match(reached.error.message, /dear/);
  await done(queryPath, { query: [1, 0] });
  const both = await refused(searchPath, { text: 'red', model: 'e', rerank });
  assert.deepEqual([both.status, both.error.param], [400, 'rerank.model']);
});

test('a caller who leaves while points are reranked ends that', async (t) => {
  // With another target to turn to, the first would be left for that alone.
  const { post, first } = await world(t, { models: { r: { type: 'rerank', targets: ['one/mock/ok'] } } });
  first.script(rerankPath, ['stall']);
  const controller = new AbortController();
  const gone = assert.rejects(post(queryPath, { query: [1, 0], rerank }, controller.signal));
  await first.when(({ path }) => path === rerankPath);
  controller.abort();
  await gone;
  await first.when(({ path, aborted }) => path === rerankPath && aborted);
});

/** A reranker that answers the same to every request; its base URL. */
async function answering(t: TestContext, body: unknown): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('the budget of the model that ranks counts a search whose text another model embeds', async (t) => {
  const budgets = [{ model: 'r', usd: 0.000001, window: 'week' }];
  const { done, refused } = await world(t, { accounts: { dev: { budgets } } });
  await done('/collections', { name: 'dense', embedding_model: 'e' });
  const texts = points.flatMap(({ id, payload }) => (payload.text === undefined ? [] : [{ id, payload }]));
  await done('/collections/dense/points', { points: texts });
  const search = { text: 'red fish', rerank };
  await done('/collections/dense/points/search', search);
  const { status, error } = await refused('/collections/dense/points/search', search);
  assert.equal(status, 429, error.message);
  assert.match(error.message, /7-day budget of the model 'r'/);
});
