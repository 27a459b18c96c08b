import assert from 'node:assert/strict';
import test from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { specValidator } from '../../../test/spec/validate.ts';
import {
  type CallParts,
  plainSpec,
  scriptedStore,
  shownFailure,
  textSpec,
  vectorCall,
} from '../../../test/vector-call.ts';
import type { VectorStore } from '../vector-store.ts';
import { type VectorVerb, vectorVerbNames } from '../verbs.ts';
import { type PreparedCall, prepareCall, type UnrankedAnswer } from './prepare-call.ts';

const limits = { pointsPerCall: 10_000 };
const vector = [0.1, 0.2, 0.3, 0.4];
const floats = new Float32Array(vector);
const uuid = '550e8400-e29b-41d4-a716-446655440000';

const find = async () => plainSpec;

function prepare(answers: Partial<VectorStore>, verb: VectorVerb, body: unknown, parts: CallParts = {}) {
  const { store, calls } = scriptedStore({ find, ...answers });
  const call = vectorCall(verb, body, { ...parts, params: { collection: 'plain', ...parts.params } });
  return { calls, prepared: prepareCall(store, call, { limits, clock: fakeClock() }) };
}

function jsonOf(bytes: Uint8Array | UnrankedAnswer): { result: unknown; status: string; time: number } {
  assert(bytes instanceof Uint8Array);
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** The answer of a call for which nothing is embedded. */
async function answerOf(answers: Partial<VectorStore>, verb: VectorVerb, body: unknown, parts: CallParts = {}) {
  const call: PreparedCall = await prepare(answers, verb, body, parts).prepared;
  assert.equal(call.texts, null);
  return jsonOf(await call.run(null));
}

/** The answer's `result`, found right by Qdrant's own description of it. */
async function resultOf(
  schema: string,
  answers: Partial<VectorStore>,
  verb: VectorVerb,
  body: unknown,
  parts?: CallParts,
) {
  const { result } = await answerOf(answers, verb, body, parts);
  for (const one of Array.isArray(result) ? result.flat() : [result]) {
    assert.deepEqual(specValidator('qdrant', schema)(one), []);
  }
  return result;
}

test("every answer stands in Qdrant's envelope", async () => {
  const answer = await answerOf({ count: async () => 3 }, 'count-points', {});
  assert.deepEqual(answer, { result: { count: 3 }, status: 'ok', time: 0 });
});

test('the time of an answer is in seconds, from its reading on', async () => {
  const clock = fakeClock();
  const { store } = scriptedStore({ find, count: async () => 3 });
  const call = await prepareCall(store, vectorCall('count-points', {}, { params: { collection: 'plain' } }), {
    limits,
    clock,
  });
  clock.advance(12.5);
  assert.equal(jsonOf(await call.run(null)).time, 0.0125);
});

test("create answers the contract's fields for POST and true for PUT", async () => {
  const create = async () => {};
  const posted = { name: 'c', vector_size: 4, distance: 'Cosine' };
  assert.deepEqual((await answerOf({ create }, 'create-collection', posted)).result, posted);
  const put = prepare({ create }, 'put-collection', { vectors: { size: 4, distance: 'Dot' } });
  assert.equal(jsonOf(await (await put.prepared).run(null)).result, true);
  const spec = { name: 'plain', size: 4, distance: 'Dot', embeddingModel: null };
  assert.deepEqual(put.calls, [['create', { tenant: 't', account: 'a' }, spec]]);
});

test('a collection whose model tells the size is created with it', async () => {
  const { prepared, calls } = prepare({ create: async () => {} }, 'create-collection', {
    name: 'c',
    embedding_model: 'alpha',
  });
  const call = await prepared;
  assert.deepEqual(call.texts, { model: 'alpha', purpose: 'document', texts: [] });
  const { result } = jsonOf(await call.run({ size: 1_024, vectors: new Float32Array() }));
  const shown = { name: 'c', vector_size: 1_024, distance: 'Cosine', embedding_model: 'alpha' };
  assert.deepEqual(result, shown);
  assert.equal((calls.at(-1)![2] as { size: number }).size, 1_024);
});

test('collections are listed and inspected in both vocabularies', async () => {
  const listed = await resultOf(
    'CollectionsResponse',
    { list: async () => [plainSpec, textSpec] },
    'list-collections',
    '',
  );
  assert.deepEqual(listed, {
    collections: [
      { name: 'plain', vector_size: 4, distance: 'Cosine' },
      { name: 'docs', vector_size: 4, distance: 'Cosine', embedding_model: 'alpha' },
    ],
  });
  const inspect = async () => ({
    ...plainSpec,
    points: 7,
    indexed: 5,
    payloadSchema: { 'a.b': { type: 'keyword' as const, points: 3 } },
  });
  const info = await resultOf('CollectionInfo', { inspect }, 'inspect-collection', '');
  const { config, ...rest } = info as { config: { params: { vectors: unknown } } };
  assert.deepEqual(config.params.vectors, { size: 4, distance: 'Cosine' });
  assert.deepEqual(rest, {
    name: 'plain',
    vector_size: 4,
    distance: 'Cosine',
    points_count: 7,
    status: 'green',
    optimizer_status: 'ok',
    indexed_vectors_count: 7,
    segments_count: 1,
    payload_schema: { 'a.b': { data_type: 'keyword', points: 3 } },
  });
});

test('deleting and asking for a collection that is not there is no error', async () => {
  const none = { find: async () => null };
  assert.equal((await answerOf({ ...none, drop: async () => false }, 'delete-collection', '')).result, false);
  assert.deepEqual(await resultOf('CollectionExistence', none, 'collection-exists', ''), { exists: false });
  assert.equal((await answerOf({ drop: async () => true }, 'delete-collection', '')).result, true);
  assert.equal((await answerOf({ configure: async () => {} }, 'update-collection', {})).result, true);
});

test('aliases are answered by their names', async () => {
  const aliases = async () => [{ alias: 'a', collection: 'plain' }];
  const shown = { aliases: [{ alias_name: 'a', collection_name: 'plain' }] };
  for (const verb of ['list-aliases', 'collection-aliases'] as const) {
    assert.deepEqual(await resultOf('CollectionsAliasesResponse', { aliases }, verb, ''), shown);
  }
  const actions = [{ delete_alias: { alias_name: 'a' } }];
  assert.equal((await answerOf({ changeAliases: async () => {} }, 'change-aliases', { actions })).result, true);
});

test('a write answers the number of its operation, a batch one for each', async () => {
  const write = async () => 9;
  const points = [{ id: 1, vector }];
  assert.deepEqual(await resultOf('UpdateResult', { write }, 'post-points', { points }), {
    operation_id: 9,
    status: 'completed',
  });
  const quick = await resultOf('UpdateResult', { write }, 'upsert-points', { points }, { search: 'wait=false' });
  assert.deepEqual(quick, { operation_id: 9, status: 'acknowledged' });
  const operations = [{ upsert: { points } }, { delete: { points: [1] } }];
  assert.deepEqual(await resultOf('UpdateResult', { write }, 'batch-points', { operations }), [
    { operation_id: 8, status: 'completed' },
    { operation_id: 9, status: 'completed' },
  ]);
  const index = { field_name: 'a', field_schema: 'keyword' };
  const indexed = await resultOf('UpdateResult', { indexPayload: async () => 10 }, 'create-index', index);
  assert.deepEqual(indexed, { operation_id: 10, status: 'completed' });
});

test('points are shown with what was asked for, and vectors as they were written', async () => {
  const retrieve = async () => [
    { id: 1, payload: { text: 'a' }, vector: floats },
    { id: uuid, payload: null },
  ];
  assert.deepEqual(await resultOf('Record', { retrieve }, 'post-points', { ids: [1, uuid], with_vector: true }), [
    { id: 1, payload: { text: 'a' }, vector },
    { id: uuid, payload: {} },
  ]);
  const get = await resultOf('Record', { retrieve }, 'get-point', '', { params: { id: '1' } });
  assert.deepEqual(get, { id: 1, payload: { text: 'a' }, vector });
});

test('found points are a list for search and stand in an object for query', async () => {
  const query = async (_: string, __: string, queries: readonly unknown[]) =>
    queries.map(() => [{ id: 1, score: Math.fround(0.9), payload: { a: 1 } }]);
  const found = { id: 1, version: 0, score: 0.9, payload: { a: 1 } };
  assert.deepEqual(await resultOf('ScoredPoint', { query }, 'search-points', { vector }), [found]);
  assert.deepEqual(await resultOf('ScoredPoint', { query }, 'recommend-points', { positive: [1] }), [found]);
  assert.deepEqual(await resultOf('QueryResponse', { query }, 'query-points', { query: vector }), { points: [found] });
  const searches = [{ vector }, { vector }];
  assert.deepEqual(await resultOf('ScoredPoint', { query }, 'search-batch', { searches }), [[found], [found]]);
  const ordered = async () => [[{ id: 1, score: 1, orderValue: 3 }]];
  const inOrder = { points: [{ id: 1, version: 0, score: 1, order_value: 3 }] };
  const byKey = { query: { order_by: 'n' } };
  assert.deepEqual(await resultOf('QueryResponse', { query: ordered }, 'query-points', byKey), inOrder);
  const queries = { searches: [{ query: vector }] };
  assert.deepEqual(await resultOf('QueryResponse', { query }, 'query-batch', queries), [{ points: [found] }]);
});

test('groups, pages, counts and facets are answered as Qdrant does', async () => {
  const queryGroups = async () => [{ id: 'x', hits: [{ id: 1, score: 0.5 }] }];
  const groups = await resultOf('GroupsResult', { queryGroups }, 'query-groups', { query: vector, group_by: 'a' });
  assert.deepEqual(groups, { groups: [{ id: 'x', hits: [{ id: 1, version: 0, score: 0.5 }] }] });
  const scroll = async () => ({ points: [{ id: 1, payload: null, orderValue: 3 }], next: uuid });
  assert.deepEqual(await resultOf('ScrollResult', { scroll }, 'scroll-points', {}), {
    points: [{ id: 1, payload: {}, order_value: 3 }],
    next_page_offset: uuid,
  });
  const last = async () => ({ points: [], next: null });
  const end = await resultOf('ScrollResult', { scroll: last }, 'scroll-points', {});
  assert.deepEqual(end, { points: [], next_page_offset: null });
  assert.deepEqual(await resultOf('CountResult', { count: async () => 4 }, 'count-points', {}), { count: 4 });
  const facet = async () => [{ value: 'x', count: 2 }];
  assert.deepEqual(await resultOf('FacetResponse', { facet }, 'facet-points', { key: 'a' }), {
    hits: [{ value: 'x', count: 2 }],
  });
});

for (const [verb, body, at] of [
  ['post-points', { ids: [1], with_vector: ['nope'] }, 'with_vector'],
  ['scroll-points', { with_vectors: ['', 'nope'] }, 'with_vector'],
  ['query-points', { query: vector, with_vector: ['nope'] }, 'with_vector'],
  ['query-batch', { searches: [{ query: vector }, { query: 1, with_vector: ['nope'] }] }, 'searches[1].with_vector'],
  ['query-groups', { query: vector, group_by: 'a', with_vector: ['nope'] }, 'with_vector'],
] as const) {
  test(`${verb} that wants a vector which no point has is refused before anything is read`, async () => {
    const { prepared, calls } = prepare({}, verb, body);
    const failure = await prepared.then(
      () => 'nothing',
      (error: unknown) => shownFailure(error),
    );
    assert.equal(failure, `400 ${at}: the collection 'plain' has no vector named 'nope'; it has an unnamed one`);
    assert.deepEqual(
      calls.map(([method]) => method),
      ['find'],
    );
  });
}

test('a collection that points are looked up in must exist, whether any is named or not', async () => {
  const others = { find: async (_: string, name: string) => (name === 'plain' ? plainSpec : null) };
  const lookup = { collection: 'gone' };
  for (const [verb, body] of [
    ['query-points', { query: vector, lookup_from: lookup }],
    [
      'query-batch',
      { searches: [{ query: vector }, { prefetch: { query: vector, lookup_from: lookup }, query: vector }] },
    ],
    ['recommend-points', { positive: [vector], lookup_from: lookup }],
  ] as const) {
    const { prepared } = prepare(others, verb, body);
    const failure = await prepared.then(() => 'prepared', shownFailure);
    assert.equal(failure, "404 Collection 'gone' does not exist.");
  }
  const searches = Array.from({ length: 101 }, (_, i) => ({ query: vector, lookup_from: { collection: `c${i}` } }));
  const failure = await prepare({}, 'query-batch', { searches }).prepared.then(() => 'prepared', shownFailure);
  assert.equal(failure, '400 searches[100].lookup_from.collection: at most 100 other collections a call');
});

test('a text is looked for by the vector that it was given', async () => {
  const query = async () => [[]];
  const { prepared, calls } = prepare({ find: async () => textSpec, query }, 'search-points', { text: 'what?' });
  const call = await prepared;
  assert.deepEqual(call.texts, { model: 'alpha', purpose: 'query', texts: ['what?'] });
  assert.deepEqual(
    calls.map(([method]) => method),
    ['find'],
  );
  await call.run({ size: 4, vectors: floats });
  const [, , , queries] = calls[1] as [string, string, string, { target: { vector: Float32Array } }[]];
  assert.deepEqual(queries[0]!.target.vector, floats);
});

test('a collection that is not there is 404 for every verb that needs one', async () => {
  const answers = new Set(['list-collections', 'create-collection', 'put-collection', 'delete-collection']);
  for (const verb of [...answers, 'collection-exists', 'list-aliases', 'change-aliases']) answers.add(verb);
  for (const verb of vectorVerbNames.filter((name) => !answers.has(name))) {
    const { prepared } = prepare({ find: async () => null }, verb, {}, { params: { id: '1', field: 'a' } });
    const failure = await prepared.then(() => 'prepared', shownFailure);
    assert.equal(failure, "404 Collection 'plain' does not exist.");
  }
});

test('a point that is not there is 404', async () => {
  const { prepared } = prepare({ retrieve: async () => [] }, 'get-point', '', { params: { id: '5' } });
  const run = (await prepared).run(null);
  assert.equal(await run.then(() => 'answered', shownFailure), '404 No point with id 5 exists.');
});

test('nothing is written of a call that is refused', async () => {
  const points = [
    { id: 1, vector },
    { id: 2, vector: [1] },
  ];
  const { prepared, calls } = prepare({}, 'post-points', { points });
  assert.equal(await prepared.then(() => 'prepared', shownFailure), '400 points[1].vector: expected 4 numbers, got 1');
  assert.deepEqual(
    calls.map(([method]) => method),
    ['find'],
  );
});
