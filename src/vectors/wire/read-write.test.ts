import assert from 'node:assert/strict';
import test from 'node:test';
import { plainSpec, readFor, refusalOf } from '../../../test/vector-call.ts';
import type { VectorVerb } from '../verbs.ts';

const uuid = '550e8400-e29b-41d4-a716-446655440000';
const vector = [0.1, 0.2, 0.3, 0.4];

/** Operations of a write. */
function operationsOf(verb: VectorVerb, body: unknown) {
  const { request } = readFor(plainSpec, verb, body);
  assert.equal(request.kind, 'write');
  return request.kind === 'write' ? request.operations : [];
}

function refusal(verb: VectorVerb, body: unknown): string {
  return refusalOf(() => readFor(plainSpec, verb, body));
}

const upsert = {
  kind: 'upsert',
  points: {
    ids: [1, uuid],
    vectors: new Float32Array([...vector, 1, 2, 3, 4]),
    payloads: ['{"text":"a","n":[1,null]}', null],
  },
};
const points = [
  { id: 1, vector, payload: { text: 'a', n: [1, null] } },
  { id: uuid.toUpperCase(), vector: { '': [1, 2, 3, 4] }, payload: null },
];

test('points are upserted with PUT and with POST, as a list and as columns', () => {
  assert.deepEqual(operationsOf('upsert-points', { points }), [upsert]);
  assert.deepEqual(operationsOf('post-points', { points }), [upsert]);
  const ids = points.map(({ id }) => id);
  const payloads = points.map(({ payload }) => payload);
  for (const vectors of [[vector, [1, 2, 3, 4]], { '': [vector, [1, 2, 3, 4]] }]) {
    assert.deepEqual(operationsOf('upsert-points', { batch: { ids, vectors, payloads } }), [upsert]);
  }
  assert.deepEqual(operationsOf('upsert-points', { batch: { ids: [1], vectors: [vector] } }), [
    { kind: 'upsert', points: { ids: [1], vectors: new Float32Array(vector), payloads: [null] } },
  ]);
});

test('POST with ids retrieves, with its payload and without its vector unless asked otherwise', () => {
  const read = (body: unknown) => readFor(plainSpec, 'post-points', body).request;
  const found = { kind: 'retrieve', collection: 'plain', ids: [1, uuid], want: { payload: true, vector: false } };
  assert.deepEqual(read({ ids: [1, uuid] }), found);
  assert.deepEqual(read({ ids: [1, uuid], with_payload: ['a.b'], with_vector: true }), {
    ...found,
    want: { payload: { include: ['a.b'] }, vector: true },
  });
  assert.deepEqual(read({ ids: [1, uuid], with_payload: { exclude: ['a'] }, with_vector: [''] }), {
    ...found,
    want: { payload: { exclude: ['a'] }, vector: [''] },
  });
});

test('wait=false is acknowledged, everything else completed', () => {
  for (const [search, acknowledge] of [
    ['', 'completed'],
    ['wait=true&ordering=strong&timeout=5', 'completed'],
    ['ordering=weak&wait=false', 'acknowledged'],
  ] as const) {
    const { request } = readFor(plainSpec, 'upsert-points', { points }, { search });
    assert.equal(request.kind === 'write' && request.acknowledge, acknowledge);
  }
});

for (const [search, message] of [
  ['wait=yes', "wait: expected true or false, got 'yes'"],
  ['ordering=fast', "ordering: expected weak, medium or strong, got 'fast'"],
  ['timeout=0', "timeout: expected whole seconds, at least 1, got '0'"],
  ['consistency=some', "consistency: expected a number, majority, quorum or all, got 'some'"],
] as const) {
  test(`refused: ?${search}`, () => {
    assert.equal(
      refusalOf(() => readFor(plainSpec, 'upsert-points', { points }, { search })),
      `400 ${message}`,
    );
  });
}

const one = (point: object) => ({
  points: [
    { id: 1, vector },
    { id: 2, vector, ...point },
  ],
});
for (const [body, message] of [
  [{}, '400 points: is missing: give points to write them, or ids to read them'],
  [{ points, ids: [1] }, '400 ids: give points to write them, or ids to read them, not both'],
  [{ points: [] }, '400 points: must not be empty'],
  [{ points: { id: 1 } }, '400 points: expected an array, got an object'],
  [{ points: [1] }, '400 points[0]: expected an object, got a number'],
  [one({ vector: [1, 2, 3] }), '400 points[1].vector: expected 4 numbers, got 3'],
  [one({ vector: [] }), '400 points[1].vector: expected 4 numbers, got 0'],
  [one({ vector: [1, 2, '3', 4] }), '400 points[1].vector[2]: expected a number, got a string'],
  [one({ vector: [1, 2, 3, null] }), '400 points[1].vector[3]: expected a number, got null'],
  [
    one({ vector: [1, 2, 3, -1e39] }),
    '400 points[1].vector[3]: expected a number within ±3.4e38 (32-bit floats), got -1e+39',
  ],
  [one({ vector: undefined }), '400 points[1].vector: is missing'],
  [one({ vector: 'text' }), '400 points[1].vector: expected an array of 4 numbers or {"text"}, got a string'],
  [one({ id: -1 }), '400 points[1].id: expected an unsigned integer up to 2^53-1 or a UUID, got -1'],
  [one({ id: 2 ** 53 }), '400 points[1].id: expected an unsigned integer up to 2^53-1 or a UUID, got 9007199254740992'],
  [one({ id: 'doc-1' }), '400 points[1].id: expected an unsigned integer up to 2^53-1 or a UUID, got "doc-1"'],
  [one({ payload: [] }), '400 points[1].payload: expected an object, got an array'],
  [one({ paylod: {} }), "400 points[1]: unknown key 'paylod' (did you mean 'payload'?)"],
  [
    one({ payload: { a: 'x'.repeat(4 * 1024 * 1024) } }),
    '400 points[1].payload: a payload has at most 4194304 characters of JSON, this one has 4194312',
  ],
  [
    one({ vector: [[1, 2, 3, 4]] }),
    '400 points[1].vector: expected 4 numbers, got an array of arrays: a multivector needs a multivector_config',
  ],
  [
    one({ vector: { title: vector } }),
    "400 points[1].vector.title: the collection 'plain' has no vector named 'title'; it has an unnamed one",
  ],
  [
    one({ vector: { indices: [1], values: [1] } }),
    '400 points[1].vector: expected an array of 4 numbers, got a sparse vector: name one of sparse_vectors',
  ],
  [
    one({ vector: { image: 'x', model: 'm' } }),
    '501 points[1].vector: vectors of images and objects are not supported; send {"text"}, or the vector.',
  ],
  [
    { points, shard_key: 'k' },
    '501 shard_key: shard keys are not supported; leave it out, or make a collection for each key.',
  ],
  [{ points, update_filter: { sould: [] } }, "400 update_filter: unknown key 'sould' (did you mean 'should'?)"],
  [{ points, update_mode: 'never' }, "400 update_mode: expected upsert, insert_only, update_only, got 'never'"],
  [{ batch: { ids: [1, 2], vectors: [vector] } }, '400 batch.vectors: expected 2, one for each id, got 1'],
  [{ batch: { ids: [1], vectors: [vector], payloads: [] } }, '400 batch.payloads: expected 1, one for each id, got 0'],
  [{ batch: { ids: [1], vectors: [[1]] } }, '400 batch.vectors[0]: expected 4 numbers, got 1'],
  [{ points, batch: { ids: [1], vectors: [vector] } }, '400 batch: give points or batch, not both'],
  [
    { points: Array.from({ length: 11 }, (_, id) => ({ id, vector })) },
    '400 points: at most 10 points a call; split the call',
  ],
] as const) {
  test(`refused to write: ${message}`, () => {
    assert.equal(refusal('post-points', body), message);
  });
}

test('1e999 is refused by its place', () => {
  const body = Buffer.from('{"points":[{"id":1,"vector":[1,2,3,1e999]}]}');
  assert.equal(
    refusalOf(() => readFor(plainSpec, 'upsert-points', body)),
    '400 points[0].vector[3]: expected a number within ±3.4e38 (32-bit floats), got Infinity',
  );
});

const filter = { must: [{ key: 'k', match: { value: 'v' } }] };
test('points are deleted and their payloads changed by ids or by filter', () => {
  const ids = { ids: [1, uuid] };
  assert.deepEqual(operationsOf('delete-points', { points: [1, uuid] }), [{ kind: 'delete', which: ids }]);
  assert.deepEqual(operationsOf('clear-payload', { points: [1, uuid] }), [{ kind: 'clear-payload', which: ids }]);
  const payload = { a: 1 };
  assert.deepEqual(operationsOf('set-payload', { payload, points: [1, uuid], key: 'x.y' }), [
    { kind: 'set-payload', which: ids, payload: '{"a":1}', key: 'x.y' },
  ]);
  assert.deepEqual(operationsOf('overwrite-payload', { payload, points: [1, uuid] }), [
    { kind: 'overwrite-payload', which: ids, payload: '{"a":1}' },
  ]);
  assert.deepEqual(operationsOf('delete-payload', { keys: ['a', 'b.c'], points: [1, uuid] }), [
    { kind: 'delete-payload', which: ids, keys: ['a', 'b.c'] },
  ]);
  const [deleted] = operationsOf('delete-points', { filter });
  assert.ok(deleted?.kind === 'delete' && 'filter' in deleted.which && deleted.which.filter.must.length === 1);
});

test('vectors alone are updated', () => {
  assert.deepEqual(operationsOf('update-vectors', { points: [{ id: 1, vector }] }), [
    { kind: 'update-vectors', ids: [1], vectors: new Float32Array(vector) },
  ]);
});

test('a batch keeps the order of its operations', () => {
  const operations = [
    { upsert: { points } },
    { set_payload: { payload: { a: 1 }, points: [1] } },
    { overwrite_payload: { payload: {}, points: [1] } },
    { delete_payload: { keys: ['a'], points: [1] } },
    { clear_payload: { points: [1] } },
    { update_vectors: { points: [{ id: 1, vector }] } },
    { delete: { points: [1] } },
  ];
  assert.deepEqual(
    operationsOf('batch-points', { operations }).map(({ kind }) => kind),
    ['upsert', 'set-payload', 'overwrite-payload', 'delete-payload', 'clear-payload', 'update-vectors', 'delete'],
  );
});

for (const [verb, body, message] of [
  ['delete-points', {}, '400 points: is missing: give the ids of points, or a filter'],
  ['delete-points', { points: [1], filter }, '400 filter: give points or filter, not both'],
  ['delete-points', { point: [1] }, "400 body: unknown key 'point' (did you mean 'points'?)"],
  ['delete-points', { points: ['x'] }, '400 points[0]: expected an unsigned integer up to 2^53-1 or a UUID, got "x"'],
  ['set-payload', { points: [1] }, '400 payload: expected an object, got nothing'],
  [
    'overwrite-payload',
    { payload: {}, points: [1], key: 'a' },
    '400 key: replaces the whole payload; to set a part of it, use POST',
  ],
  ['delete-payload', { keys: [], points: [1] }, '400 keys: must not be empty'],
  ['batch-points', { operations: [] }, '400 operations: must not be empty'],
  [
    'batch-points',
    { operations: [{ delete: { points: [1] } }, { upsert: { points: one({ vector: [1] }).points } }] },
    '400 operations[1].upsert.points[1].vector: expected 4 numbers, got 1',
  ],
  [
    'batch-points',
    { operations: [{ remove: {} }] },
    "400 operations[0]: unknown key 'remove'; allowed: upsert, delete, set_payload, overwrite_payload, delete_payload, clear_payload, update_vectors, delete_vectors",
  ],
  [
    'batch-points',
    { operations: [{}] },
    '400 operations[0]: expected one of upsert, delete, set_payload, overwrite_payload, delete_payload, clear_payload, update_vectors, delete_vectors',
  ],
  [
    'delete-vectors',
    { points: [1], vector: ['a'] },
    "400 vector[0]: the collection 'plain' has no vector named 'a'; it has an unnamed one",
  ],
] as const) {
  test(`refused: ${verb}: ${message}`, () => {
    assert.equal(refusal(verb, body), message);
  });
}
