import assert from 'node:assert/strict';
import { test } from 'node:test';
import { servePlans, type Usage } from './plan-gateway.ts';

const { gateway, usage, keyOf } = await servePlans(
  {
    texts: { rpm: 'off', windows: { '5h': 1_000 } },
    narrow: { rpm: 'off', windows: { '5h': 1_000 }, models: ['chat'] },
    tight: { rpm: 'off', windows: { '5h': 1 } },
  },
  {
    models: {
      lexical: { type: 'embedding', targets: ['culvert/culvert-lexical-1024'] },
      failing: { type: 'embedding', dimensions: 8, targets: [{ provider: 'up1', model: 'mock/status=500' }] },
    },
  },
);

type Json = Record<string, unknown>;

async function call(plan: string, method: string, path: string, json?: unknown) {
  const response = await gateway.fetch(`/v1/vectors${path}`, {
    method,
    headers: { authorization: `Bearer ${keyOf(plan)}`, 'content-type': 'application/json' },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const body = (await response.json()) as Json & { result?: unknown; error?: { message: string } };
  return { status: response.status, headers: response.headers, body };
}

async function done<Result = Json>(plan: string, method: string, path: string, json?: unknown): Promise<Result> {
  const { status, body } = await call(plan, method, path, json);
  assert.equal(status, 200, JSON.stringify(body));
  return body.result as Result;
}

const used = ({ windows }: Usage) => Math.round(windows['5h'].used * 1_000);
/** Milli-units that it costs. */
async function costOf(plan: string, run: () => Promise<unknown>): Promise<number> {
  const before = used(await usage(plan));
  await run();
  return used(await usage(plan)) - before;
}

const documents = [
  { id: 1, payload: { text: 'The cat sleeps on the warm windowsill.' } },
  { id: 2, payload: { text: 'Interest rates were raised by the central bank.' } },
  { id: 3, payload: { text: 'A recipe for bread with rye flour and salt.' } },
];

interface Hit {
  id: number;
  payload: { text: string };
}

test('§12 "created with `embedding_model` needs no `vector_size`"; documents are added and found by text, one call each', async () => {
  const created = await done('texts', 'POST', '/collections', { name: 'docs', embedding_model: 'lexical' });
  assert.deepEqual(
    [created.name, created.vector_size, created.distance, created.embedding_model],
    ['docs', 1_024, 'Cosine', 'lexical'],
  );
  await done('texts', 'POST', '/collections/docs/points', { points: documents });
  for (const [text, id] of [
    ['rye bread', 3],
    ['the central bank', 2],
    ['a sleeping cat on a windowsill', 1],
  ] as const) {
    const [hit] = await done<Hit[]>('texts', 'POST', '/collections/docs/points/search', {
      text,
      limit: 1,
      with_payload: true,
    });
    assert.equal(hit?.id, id, text);
    assert.equal(hit.payload.text, documents[id - 1]!.payload.text);
  }
});

test('§12 `{"text", "model"}` stands wherever a vector may stand, in a collection without a model of its own', async () => {
  await done('texts', 'POST', '/collections', { name: 'plain', vector_size: 1_024, distance: 'Cosine' });
  const text = (words: string) => ({ text: words, model: 'lexical' });
  await done('texts', 'PUT', '/collections/plain/points', {
    points: documents.map(({ id, payload }) => ({ id, vector: text(payload.text), payload })),
  });
  const { points } = await done<{ points: Hit[] }>('texts', 'POST', '/collections/plain/points/query', {
    query: { nearest: text('rye flour') },
    limit: 1,
  });
  assert.equal(points[0]?.id, 3);
  const [again] = await done<Hit[]>('texts', 'POST', '/collections/plain/points/search', {
    vector: text('interest rates'),
    limit: 1,
  });
  assert.equal(again?.id, 2);
});

test('§11 "text-in 0.05 + the embedding reserved together": whatever the number of texts', async () => {
  await done('texts', 'POST', '/collections', { name: 'costly', embedding_model: 'lexical' });
  const add = await costOf('texts', () => done('texts', 'POST', '/collections/costly/points', { points: documents }));
  assert.equal(add, 1_050);
  const answer = await call('texts', 'POST', '/collections/costly/points/search', { text: 'bread', limit: 1 });
  assert.equal(answer.headers.get('x-culvert-cost'), '1.05');
  const byVector = { vector: new Array<number>(1_024).fill(1), limit: 1 };
  const plain = await costOf('texts', () => done('texts', 'POST', '/collections/costly/points/search', byVector));
  assert.equal(plain, 50);
});

test('§12 a size that a model declares costs no embedding', async () => {
  const cost = await costOf('texts', () =>
    done('texts', 'POST', '/collections', { name: 'sized', embedding_model: 'lexical' }),
  );
  assert.equal(cost, 50);
});

test('§12 a vector_size that is not that of the embedding_model is 400, names both, and makes nothing', async () => {
  const wrong = { name: 'wrong', embedding_model: 'lexical', vector_size: 8 };
  const { status, headers, body } = await call('texts', 'POST', '/collections', wrong);
  assert.equal(status, 400);
  assert.match(body.error!.message, /vector_size.* 8, .*'lexical'.* 1024 /);
  assert.equal(headers.get('x-culvert-cost'), '0');
  assert.equal((await call('texts', 'GET', '/collections/wrong')).status, 404);
  assert.equal((await done('texts', 'POST', '/collections', { ...wrong, vector_size: 1_024 })).vector_size, 1_024);
});

test('§12 "all or nothing": when the texts cannot be embedded nothing is written and nothing is charged', async () => {
  await done('texts', 'POST', '/collections', { name: 'nothing', vector_size: 8, distance: 'Cosine' });
  const points = [
    { id: 1, vector: new Array<number>(8).fill(1) },
    { id: 2, vector: { text: 'never embedded', model: 'failing' } },
  ];
  const cost = await costOf('texts', async () => {
    const { status, headers, body } = await call('texts', 'PUT', '/collections/nothing/points', { points });
    assert.equal(status, 502, JSON.stringify(body));
    assert.equal(headers.get('x-culvert-cost'), '0');
  });
  assert.equal(cost, 0);
  assert.equal((await done('texts', 'POST', '/collections/nothing/points/count', {})).count, 0);
});

test('§4.2 a model that the plan does not allow is 403 and lists those that it does; an unknown one is 404', async () => {
  const create = (model: string) => call('narrow', 'POST', '/collections', { name: 'n', embedding_model: model });
  const refused = await create('lexical');
  assert.equal(refused.status, 403);
  assert.match(refused.body.error!.message, /Allowed models: chat\./);
  assert.equal((await create('no-such-model')).status, 404);
});

test('§11 "reserved together": where both do not fit, 429 and neither is done', async () => {
  await done('tight', 'POST', '/collections', { name: 'docs', embedding_model: 'lexical' });
  const { status } = await call('tight', 'POST', '/collections/docs/points', { points: documents });
  assert.equal(status, 429);
  assert.equal((await done('tight', 'POST', '/collections/docs/points/count', {})).count, 0);
});

test('§12 "refuses vectors from another model when told which was used"', async () => {
  await done('texts', 'POST', '/collections', { name: 'told', embedding_model: 'lexical' });
  const points = [{ id: 1, vector: { text: 'hello', model: 'alpha-embedding' } }];
  const { status, body } = await call('texts', 'PUT', '/collections/told/points', { points });
  assert.equal(status, 400);
  assert.match(body.error!.message, /lexical/);
});
