import assert from 'node:assert/strict';
import test from 'node:test';
import { plainSpec, readFor, refusalOf, vectorCall } from '../../../test/vector-call.ts';
import { openCall, readCall } from './read-call.ts';

const limits = { pointsPerCall: 10 };
const post = (body: unknown) => readCall(openCall(vectorCall('create-collection', body)), null, limits);
const put = (body: unknown) => readFor({ ...plainSpec, name: 'c' }, 'put-collection', body);
const made = { name: 'c', size: 4, distance: 'Dot', embeddingModel: null };

test("the contract's create: name, vector_size, distance", () => {
  const { request } = post({ name: 'c', vector_size: 4, distance: 'Dot' });
  assert.deepEqual(request, { kind: 'create', spec: made, form: 'contract' });
});

test("Qdrant's create: vectors, its tuning kept", () => {
  const { request } = put({
    vectors: { size: 4, distance: 'Dot', on_disk: true, hnsw_config: { m: 8 }, datatype: 'float32' },
    hnsw_config: { m: 16 },
    wal_config: { wal_capacity_mb: 1 },
    optimizers_config: { default_segment_number: 2 },
    quantization_config: { scalar: { type: 'int8' } },
    strict_mode_config: { enabled: false },
    metadata: {},
    shard_number: 1,
    sharding_method: 'auto',
    replication_factor: 2,
    write_consistency_factor: 1,
    on_disk_payload: true,
    sparse_vectors: null,
  });
  const settings = {
    hnsw_config: { m: 16 },
    wal_config: { wal_capacity_mb: 1 },
    optimizers_config: { default_segment_number: 2 },
    quantization_config: { scalar: { type: 'int8' } },
    on_disk_payload: true,
    vectors: { '': { on_disk: true, hnsw_config: { m: 8 }, datatype: 'float32' } },
  };
  assert.deepEqual(request, { kind: 'create', spec: { ...made, settings }, form: 'qdrant' });
});

test('both places take both vocabularies', () => {
  assert.deepEqual(put({ vector_size: 4, distance: 'Dot' }).request, { kind: 'create', spec: made, form: 'qdrant' });
  const posted = post({ name: 'c', vectors: { '': { size: 4, distance: 'Dot' } } });
  assert.deepEqual(posted.request, { kind: 'create', spec: made, form: 'contract' });
});

test('the distance is Cosine when left out, and written in any case', () => {
  for (const [distance, read] of [
    [undefined, 'Cosine'],
    ['euclid', 'Euclid'],
    ['MANHATTAN', 'Manhattan'],
  ]) {
    const { request } = post({ name: 'c', vector_size: 4, distance });
    assert.equal(request.kind === 'create' && request.spec.distance, read);
  }
});

test('a collection with an embedding model needs no size: the model tells it', () => {
  const read = post({ name: 'c', embedding_model: 'alpha' });
  assert.deepEqual(read.texts, { model: 'alpha', purpose: 'document', texts: [] });
  read.fill({ size: 1_024, vectors: new Float32Array() });
  assert.equal(read.request.kind === 'create' && read.request.spec.size, 1_024);
});

test('a size beside an embedding model must be that of its vectors', () => {
  for (const [at, size] of [
    ['vector_size', { vector_size: 4 }],
    ['vectors.size', { vectors: { size: 4 } }],
  ] as const) {
    const read = post({ name: 'c', embedding_model: 'alpha', ...size });
    assert.deepEqual(read.texts, { model: 'alpha', purpose: 'document', texts: [] });
    read.fill({ size: 4, vectors: new Float32Array() });
    assert.equal(
      refusalOf(() => read.fill({ size: 1_024, vectors: new Float32Array() })),
      `400 ${at}: is 4, but vectors of the embedding_model 'alpha' have 1024 numbers: leave it out`,
    );
  }
});

for (const [body, refusal] of [
  [{ vector_size: 4 }, '400 name: expected a name, got nothing'],
  [{ name: '../x', vector_size: 4 }, "400 name: expected 1 to 255 letters, digits, '_', '-' or '.', got '../x'"],
  [{ name: '..', vector_size: 4 }, "400 name: expected 1 to 255 letters, digits, '_', '-' or '.', got '..'"],
  [{ name: 'a\0b', vector_size: 4 }, "400 name: expected 1 to 255 letters, digits, '_', '-' or '.', got 'a\0b'"],
  [{ name: 'c' }, '400 vector_size: is missing: give the length of the vectors, or an embedding_model'],
  [{ name: 'c', vector_size: 0 }, '400 vector_size: expected a whole number from 1 to 65536, got 0'],
  [{ name: 'c', vector_size: 65_537 }, '400 vector_size: expected a whole number from 1 to 65536, got 65537'],
  [{ name: 'c', vector_size: '4' }, "400 vector_size: expected a whole number from 1 to 65536, got '4'"],
  [{ name: 'c', vector_size: 4, distance: 'L2' }, "400 distance: expected Cosine, Dot, Euclid, Manhattan, got 'L2'"],
  [{ name: 'c', vectorsize: 4 }, "400 body: unknown key 'vectorsize' (did you mean 'vector_size'?)"],
  [{ name: 'c', vector_size: 4, vectors: { size: 4 } }, '400 vector_size: give vector_size or vectors.size, not both'],
  [
    { name: 'c', vectors: { distance: 'Dot' } },
    '400 vectors.size: is missing: give the length of the vectors, or an embedding_model',
  ],
  [
    { name: 'c', vectors: { image: { distance: 'Dot' } } },
    '400 vectors.image.size: is missing: give the length of the vectors, or an embedding_model',
  ],
  [
    { name: 'c', vectors: { a: { embedding_model: 'alpha' }, b: { embedding_model: 'beta' } } },
    "400 vectors.b.size: is missing: one call asks one model for its size, here 'alpha'. Give that of 'beta'",
  ],
  [{ name: 'c', vectors: { sise: 4 } }, "400 vectors: unknown key 'sise' (did you mean 'size'?)"],
  [
    { name: 'c', vectors: { image: { size: 4, distance: 'L2' } } },
    "400 vectors.image.distance: expected Cosine, Dot, Euclid, Manhattan, got 'L2'",
  ],
  [
    { name: 'c', vectors: { size: 4, multivector_config: { comparator: 'sum' } } },
    "400 vectors.multivector_config.comparator: expected max_sim, got 'sum'",
  ],
  [
    { name: 'c', vectors: { size: 4, datatype: 'uint8' } },
    '501 vectors.datatype: numbers that are cut to whole ones are not supported; leave it out.',
  ],
  [
    { name: 'c', vectors: { a: { size: 4 } }, sparse_vectors: { a: {} } },
    '400 sparse_vectors.a: a dense vector has this name already',
  ],
  [
    { name: 'c', vector_size: 4, sparse_vectors: { bm25: { modifier: 'tf' } } },
    "400 sparse_vectors.bm25.modifier: expected none, idf, got 'tf'",
  ],
  [
    { name: 'c', vector_size: 4, shard_number: 2 },
    '501 shard_number: other numbers of shards than 1 are not supported; leave it out.',
  ],
  [
    { name: 'c', vector_size: 4, sharding_method: 'custom' },
    '501 sharding_method: shards of your own are not supported; leave it out.',
  ],
  [{ name: 'c', vector_size: 4, metadata: 'search' }, '400 metadata: expected an object, got a string'],
  [
    { name: 'c', vector_size: 4, metadata: { text: 'x'.repeat(65_536) } },
    '400 metadata: a collection keeps 65536 characters of metadata and settings as JSON, got 65560',
  ],
  [
    { name: 'c', vector_size: 4, strict_mode_config: { enabled: true } },
    '501 strict_mode_config.enabled: limits of one collection are not supported; set it to false, or leave it out.',
  ],
  [{ name: 'c', vector_size: 4, hnsw_config: 8 }, '400 hnsw_config: expected an object, got a number'],
] as const) {
  test(`refused to create: ${JSON.stringify(body)}`, () => {
    assert.equal(
      refusalOf(() => post(body)),
      refusal,
    );
  });
}

test('a name has at most 255 characters, in a path too', () => {
  const longest = 'n'.repeat(255);
  assert.equal(post({ name: longest, vector_size: 4 }).request.kind, 'create');
  assert.match(
    refusalOf(() => post({ name: `${longest}n`, vector_size: 4 })),
    /^400 name: expected 1 to 255 letters/,
  );
  const inPath = () => readFor({ ...plainSpec, name: `${longest}n` }, 'count-points', {});
  assert.match(refusalOf(inPath), /^400 collection: expected 1 to 255 letters/);
});

test('PATCH takes tuning, and refuses what never changes', () => {
  const patch = (body: unknown) => readFor(plainSpec, 'update-collection', body);
  const tuning = {
    optimizers_config: {},
    params: {},
    hnsw_config: {},
    vectors: { '': { hnsw_config: {}, on_disk: true } },
  };
  const change = { optimizers_config: {}, hnsw_config: {}, vectors: { '': { hnsw_config: {}, on_disk: true } } };
  assert.deepEqual(patch(tuning).request, { kind: 'update', collection: 'plain', change });
  const fixed = 'never changes. Create a new collection, and write the points there';
  for (const [body, at] of [
    [{ vector_size: 8 }, 'vector_size'],
    [{ distance: 'Dot' }, 'distance'],
    [{ name: 'x' }, 'name'],
    [{ vectors: { size: 8 } }, 'vectors.size'],
    [{ vectors: { '': { distance: 'Dot' } } }, 'vectors[""].distance'],
    [{ vectors: { '': { datatype: 'float16' } } }, 'vectors[""].datatype'],
  ]) {
    assert.equal(
      refusalOf(() => patch(body)),
      `400 ${at}: ${fixed}`,
    );
  }
});

test('PATCH of a sparse vector changes its index, and takes what it repeats', () => {
  const sparse = { kind: 'sparse', modifier: 'idf', embeddingModel: 'culvert-bm25' } as const;
  const patch = (words: unknown) =>
    readFor({ ...plainSpec, named: { words: sparse } }, 'update-collection', { sparse_vectors: { words } });
  const index = { on_disk: true };
  for (const change of [{ index }, { index, modifier: null }, { index, modifier: 'idf' }]) {
    const { request } = patch(change);
    assert.deepEqual(request.kind === 'update' && request.change, { sparse_vectors: { words: { index } } });
  }
  assert.match(
    refusalOf(() => patch({ modifier: 'none' })),
    /^400 sparse_vectors\.words\.modifier: never changes/,
  );
  const plain = { ...plainSpec, named: { words: { ...sparse, embeddingModel: null } } };
  const withModel = { sparse_vectors: { words: { embedding_model: 'culvert-bm25' } } };
  assert.match(
    refusalOf(() => readFor(plain, 'update-collection', withModel)),
    /^400 sparse_vectors\.words\.embedding_model: never changes/,
  );
});

test('aliases are created, deleted and renamed, in order', () => {
  const { request } = readCall(
    openCall(
      vectorCall('change-aliases', {
        actions: [
          { create_alias: { collection_name: 'c', alias_name: 'a' } },
          { rename_alias: { old_alias_name: 'a', new_alias_name: 'b' } },
          { delete_alias: { alias_name: 'b' } },
        ],
      }),
    ),
    null,
    limits,
  );
  assert.deepEqual(request.kind === 'change-aliases' && request.changes, [
    { kind: 'create', alias: 'a', collection: 'c' },
    { kind: 'rename', from: 'a', to: 'b' },
    { kind: 'delete', alias: 'b' },
  ]);
});

for (const [body, refusal] of [
  [{ actions: [] }, '400 actions: must not be empty'],
  [{ actions: [{}] }, '400 actions[0]: expected one of create_alias, delete_alias, rename_alias'],
  [
    { actions: [{ delete_alias: { alias_name: 'a/b' } }] },
    "400 actions[0].delete_alias.alias_name: expected 1 to 255 letters, digits, '_', '-' or '.', got 'a/b'",
  ],
] as const) {
  test(`refused aliases: ${JSON.stringify(body)}`, () => {
    assert.equal(
      refusalOf(() => readCall(openCall(vectorCall('change-aliases', body)), null, limits)),
      refusal,
    );
  });
}

test('a payload index has a key and a type, with or without parameters', () => {
  const index = (body: unknown) => readFor(plainSpec, 'create-index', body, { search: 'wait=true&ordering=weak' });
  const made = { kind: 'index', collection: 'plain', key: 'a.b', type: 'keyword', acknowledge: 'completed' };
  assert.deepEqual(index({ field_name: 'a.b', field_schema: 'keyword' }).request, made);
  const params = { type: 'keyword', is_tenant: true };
  assert.deepEqual(index({ field_name: 'a.b', field_schema: params }).request, { ...made, params });
  assert.equal(
    refusalOf(() => index({ field_name: 'a', field_schema: { type: 'integer', range: 'yes' } })),
    "400 field_schema.range: expected true or false, got 'yes'",
  );
  assert.equal(
    refusalOf(() => index({ field_name: 'a', field_schema: 'string' })),
    "400 field_schema: expected keyword, integer, float, bool, geo, datetime, text, uuid, got 'string'",
  );
  const removed = readFor(plainSpec, 'delete-index', '', { params: { field: 'a.b' }, search: 'wait=false' });
  assert.deepEqual(removed.request, { ...made, type: null, acknowledge: 'acknowledged' });
});
