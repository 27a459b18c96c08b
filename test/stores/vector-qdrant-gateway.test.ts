import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey, otherKey, startGateway, testKey } from '../start-gateway.ts';

/** A gateway that keeps vectors in a Qdrant, which is a second gateway's root here. */
async function start(t: Parameters<typeof startGateway>[0]) {
  const qdrant = await startGateway(t);
  const gateway = await startGateway(t, {
    vectors: { engine: 'qdrant', url: qdrant.url, api_key: testKey, workers: 2, limits: { collections: 2 } },
  });
  const call = async (method: string, path: string, body?: unknown, key = testKey) => {
    const answer = await fetch(gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as Record<string, Record<string, unknown>>;
    return { status: answer.status, cost: answer.headers.get('x-culvert-cost'), body: json };
  };
  return { qdrant, gateway, call };
}

const docs = '/v1/vectors/collections/docs';

test('a gateway over Qdrant serves collections, points, searches and texts as one over its own files', async (t) => {
  const { call } = await start(t);
  const model = 'culvert-lexical-1024';
  const made = await call('POST', '/v1/vectors/collections', { name: 'docs', embedding_model: model });
  assert.deepEqual(made.body.result?.vector_size, 1_024);
  const points = ['Bread is made of flour', 'Banks raise rates'].map((text, id) => ({ id, payload: { text } }));
  assert.equal((await call('POST', `${docs}/points`, { points })).status, 200);
  const found = await call('POST', `${docs}/points/search`, { text: 'flour for bread', limit: 1, with_payload: true });
  const [best] = found.body.result as unknown as { id: number; payload: unknown }[];
  assert.deepEqual([best?.id, best?.payload], [0, points[0]!.payload]);
  assert.deepEqual((await call('GET', docs)).body.result?.points_count, 2);

  assert.equal((await call('GET', docs, undefined, otherKey)).status, 404);
  assert.equal((await call('PUT', '/collections/two', { vectors: { size: 3, distance: 'Dot' } })).status, 200);
  const third = await call('PUT', '/collections/three', { vectors: { size: 3, distance: 'Dot' } });
  assert.equal(third.status, 400);
  assert.match(String(third.body.error?.message), /vectors\.limits\.collections/);
});

test('what Qdrant cannot do for tenants is 501, in words that say what can', async (t) => {
  const { call } = await start(t);
  await call('PUT', '/collections/docs', { vectors: { size: 2, distance: 'Dot' } });
  const index = { field_name: 'text', field_schema: { type: 'text', lowercase: true } };
  const answer = await call('PUT', '/collections/docs/index', index);
  assert.equal(answer.status, 501);
  assert.match(String(answer.body.error?.message), /is not supported\. vectors\.engine: embedded supports it/);
});

test('facets and orders over Qdrant are the key’s own, answered and charged as over files', async (t) => {
  const { call } = await start(t);
  const made = { vectors: { size: 2, distance: 'Dot' } };
  const point = (id: number, payload: object) => ({ id, vector: [1, id], payload });
  for (const [key, n] of [
    [testKey, 3],
    [otherKey, 4],
  ] as const) {
    await call('PUT', '/collections/docs', made, key);
    const points = Array.from({ length: n }, (_, id) => point(id, { n: id * n, city: n === 3 ? 'Rome' : 'Oslo' }));
    await call('PUT', '/collections/docs/points', { points }, key);
  }
  const facet = await call('POST', '/collections/docs/facet', { key: 'city' });
  assert.deepEqual(facet.body.result, { hits: [{ value: 'Rome', count: 3 }] });
  const page = await call('POST', '/collections/docs/points/scroll', {
    order_by: { key: 'n', direction: 'desc', start_from: 4 },
    with_payload: ['n'],
  });
  assert.deepEqual(page.body.result, {
    points: [1, 0].map((id) => ({ id, payload: { n: id * 3 }, order_value: id * 3 })),
    next_page_offset: null,
  });
  const found = await call('POST', '/collections/docs/points/query', { query: { order_by: 'n' }, limit: 2 }, otherKey);
  const { points } = found.body.result as { points: { id: number }[] };
  assert.deepEqual(
    points.map(({ id }) => id),
    [0, 1],
  );
  assert.deepEqual([facet.cost, page.cost, found.cost], ['0.05', '0.05', '0.05']);
  const wrong = await call('POST', '/collections/docs/points/scroll', { order_by: { key: 'n', start_from: 'soon' } });
  assert.deepEqual([wrong.status, wrong.cost], [400, null]);
  assert.match(String(wrong.body.error?.message), /order_by\.start_from/);
});

test('a Qdrant that went away is 503 for vector calls and for the probe, and nothing is charged', async (t) => {
  const { call, gateway, qdrant } = await start(t);
  await call('PUT', '/collections/docs', { vectors: { size: 2, distance: 'Dot' } });
  await qdrant.close(0);
  const before = (await call('GET', '/v1/usage')).body.windows;
  const answer = await call('POST', '/collections/docs/points/count', {});
  assert.equal(answer.status, 503);
  assert.match(String(answer.body.error?.message), /Qdrant cannot be reached/);
  assert.deepEqual((await call('GET', '/v1/usage')).body.windows, before);
  // The probe asks beside the answer, which the next one then has.
  let ready = 200;
  for (let asked = 0; asked < 5_000 && ready === 200; asked += 1) ready = (await fetch(`${gateway.url}/readyz`)).status;
  assert.equal(ready, 503);
});

test('what one key has in Qdrant becomes another key’s without a point being moved', async (t) => {
  const { call, qdrant } = await start(t);
  await call('PUT', '/collections/docs', { vectors: { size: 2, distance: 'Dot' } });
  await call('PUT', '/collections/docs/points', { points: [{ id: 1, vector: [1, 2], payload: {} }] });
  const before = await qdrant.fetch('/collections/culvert_2_dot/points/scroll', { json: { with_vector: true } });
  const from = 'dev/test';
  const to = 'other/test';
  const adopted = await call('POST', '/admin/v1/vectors/adopt', { from, to }, adminKey);
  assert.deepEqual([adopted.status, adopted.body.collections], [200, 1]);
  assert.equal((await call('GET', docs)).status, 404);
  assert.equal((await call('GET', docs, undefined, otherKey)).body.result?.points_count, 1);
  const after = await qdrant.fetch('/collections/culvert_2_dot/points/scroll', { json: { with_vector: true } });
  const pointsOf = async (answer: Response) => ((await answer.json()) as { result: unknown }).result;
  assert.deepEqual(await pointsOf(after), await pointsOf(before));
});
