import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { QdrantClient } from '@qdrant/js-client-rest';
import { startGateway, testKey } from '../start-gateway.ts';

const gateway = await startGateway({ after: after as never });
const { hostname, port } = new URL(gateway.url);

/** As the documentation of Culvert says, and as people write it at first: the client drops a path in `url`. */
const clients = {
  'below /v1/vectors': { host: hostname, port: Number(port), https: false, prefix: '/v1/vectors', apiKey: testKey },
  'at the root': { url: `${gateway.url}/v1/vectors`, apiKey: testKey, checkCompatibility: false },
};

function clientOf(at: keyof typeof clients): QdrantClient {
  return new QdrantClient(clients[at]);
}

const points = [
  { id: 1, vector: [1, 0, 0, 0], payload: { city: 'Berlin', rank: 1, tags: ['a', 'b'] } },
  { id: 2, vector: [0.8, 0.6, 0, 0], payload: { city: 'London', rank: 2, tags: ['b'] } },
  { id: '0f1d4f0e-9f6b-4a57-8a76-9a3ef2d8a001', vector: [0, 1, 0, 0], payload: { city: 'Berlin', rank: 3 } },
];
const uuid = points[2]!.id;
const ids = (found: readonly { id: string | number }[]) => found.map(({ id }) => id);

for (const at of Object.keys(clients) as (keyof typeof clients)[]) {
  test(`qdrant-js ${at}: a collection from its creation to its end`, async () => {
    const client = clientOf(at);
    const name = `life-${at.replaceAll(/\W/g, '')}`;
    assert.equal(await client.createCollection(name, { vectors: { size: 4, distance: 'Cosine' } }), true);
    assert.deepEqual(await client.collectionExists(name), { exists: true });
    assert.ok((await client.getCollections()).collections.some((one) => one.name === name));
    assert.equal(await client.updateCollection(name, { optimizers_config: { indexing_threshold: 1 } }), true);
    const info = await client.getCollection(name);
    assert.equal(info.status, 'green');
    assert.deepEqual(info.config.params.vectors, { size: 4, distance: 'Cosine' });
    // qdrant-client's `migrate` hands all of these to the other server.
    const { hnsw_config: index, optimizer_config: optimizer, wal_config: wal } = info.config;
    for (const config of [index, optimizer, wal]) assert.equal(typeof config, 'object');
    assert.equal(wal?.wal_capacity_mb, 32);
    await assert.rejects(
      client.createCollection(name, { vectors: { size: 4, distance: 'Cosine' } }),
      (error: { status?: number }) => error.status === 409,
    );
    assert.equal(await client.recreateCollection(name, { vectors: { size: 2, distance: 'Dot' } }), true);
    assert.equal(await client.deleteCollection(name), true);
    assert.deepEqual(await client.collectionExists(name), { exists: false });
    await assert.rejects(client.getCollection(name), (error: { status?: number }) => error.status === 404);
  });
}

test('qdrant-js finds the version of its own API', async () => {
  const { version } = await clientOf('below /v1/vectors').versionInfo();
  assert.equal(version, '1.19.0');
});

test('qdrant-js: points are written, read, searched, changed and deleted', async () => {
  const client = clientOf('below /v1/vectors');
  await client.createCollection('points', { vectors: { size: 4, distance: 'Cosine' } });
  assert.equal((await client.upsert('points', { wait: true, points })).status, 'completed');
  const batch = { ids: [4], vectors: [[0, 0, 1, 0]], payloads: [{ city: 'Paris', rank: 4 }] };
  assert.equal((await client.upsert('points', { wait: true, batch })).status, 'completed');
  assert.deepEqual(await client.count('points', { exact: true }), { count: 4 });

  const [first] = await client.retrieve('points', { ids: [1], with_payload: true, with_vector: true });
  assert.deepEqual([first?.payload, first?.vector], [points[0]!.payload, points[0]!.vector]);
  const berlin = { must: [{ key: 'city', match: { value: 'Berlin' } }] };
  const near = await client.query('points', { query: [1, 0, 0, 0], limit: 3, with_payload: ['city'] });
  assert.deepEqual(ids(near.points), [1, 2, uuid]);
  assert.deepEqual(near.points[1]?.payload, { city: 'London' });
  assert.ok(Math.abs(near.points[1]!.score - 0.8) < 1e-6);
  assert.deepEqual(ids((await client.query('points', { query: [1, 0, 0, 0], filter: berlin })).points), [1, uuid]);
  assert.deepEqual(ids((await client.query('points', { query: 1, limit: 1 })).points), [2], 'by a point');
  const recommended = await client.query('points', {
    query: { recommend: { positive: [1], negative: [4] } },
    limit: 1,
  });
  assert.deepEqual(ids(recommended.points), [2]);
  const both = await client.queryBatch('points', {
    searches: [
      { query: [1, 0, 0, 0], limit: 1 },
      { query: [0, 1, 0, 0], limit: 1 },
    ],
  });
  assert.deepEqual(
    both.map((one) => ids(one.points)),
    [[1], [uuid]],
  );
  const { groups } = await client.queryGroups('points', {
    query: [1, 0, 0, 0],
    group_by: 'city',
    limit: 2,
    group_size: 1,
  });
  assert.deepEqual(
    groups.map((group) => [group.id, ids(group.hits)]),
    [
      ['Berlin', [1]],
      ['London', [2]],
    ],
  );

  await client.setPayload('points', { wait: true, payload: { seen: true }, points: [1] });
  await client.overwritePayload('points', { wait: true, payload: { only: 1 }, points: [2] });
  await client.deletePayload('points', { wait: true, keys: ['rank'], points: [1] });
  await client.clearPayload('points', { wait: true, points: [4] });
  await client.updateVectors('points', { wait: true, points: [{ id: 4, vector: [0, 0, 0, 1] }] });
  const changed = await client.retrieve('points', { ids: [1, 2, 4], with_payload: true, with_vector: true });
  assert.deepEqual(
    changed.map(({ payload }) => payload ?? {}),
    [{ city: 'Berlin', tags: ['a', 'b'], seen: true }, { only: 1 }, {}],
  );
  assert.deepEqual(changed[2]?.vector, [0, 0, 0, 1]);

  const results = await client.batchUpdate('points', {
    wait: true,
    operations: [{ upsert: { points: [{ id: 5, vector: [1, 1, 1, 1] }] } }, { delete: { points: [4] } }],
  });
  assert.deepEqual(
    results?.map(({ status }) => status),
    ['completed', 'completed'],
  );
  assert.equal((await client.delete('points', { wait: true, filter: berlin })).status, 'completed');
  assert.deepEqual(ids((await client.scroll('points', { limit: 10 })).points), [2, 5]);
});

test('qdrant-js: scroll pages through all points, each once, integers before UUIDs', async () => {
  const client = clientOf('below /v1/vectors');
  await client.createCollection('pages', { vectors: { size: 4, distance: 'Dot' } });
  await client.upsert('pages', { wait: true, points });
  const seen: (string | number)[] = [];
  let offset: unknown = null;
  do {
    const page = await client.scroll('pages', { limit: 1, ...(offset !== null && { offset: offset as number }) });
    seen.push(...ids(page.points));
    offset = page.next_page_offset ?? null;
  } while (offset !== null);
  assert.deepEqual(seen, [1, 2, uuid]);
  const ordered = await client.scroll('pages', { limit: 2, order_by: { key: 'rank', direction: 'desc' } });
  assert.deepEqual(ids(ordered.points), [uuid, 2]);
});

test('qdrant-js: payload indexes, facets and aliases', async () => {
  const client = clientOf('below /v1/vectors');
  await client.createCollection('indexed', { vectors: { size: 4, distance: 'Cosine' } });
  await client.upsert('indexed', { wait: true, points });
  const index = { field_name: 'city', field_schema: 'keyword' } as const;
  assert.equal((await client.createPayloadIndex('indexed', { wait: true, ...index })).status, 'completed');
  const schema = (await client.getCollection('indexed')).payload_schema;
  assert.deepEqual([schema.city?.data_type, schema.city?.points], ['keyword', 3]);
  assert.deepEqual((await client.facet('indexed', { key: 'city' })).hits, [
    { value: 'Berlin', count: 2 },
    { value: 'London', count: 1 },
  ]);
  assert.equal((await client.deletePayloadIndex('indexed', 'city')).status, 'completed');
  const create = { create_alias: { collection_name: 'indexed', alias_name: 'by-alias' } };
  assert.equal(await client.updateCollectionAliases({ actions: [create] }), true);
  assert.deepEqual(await client.count('by-alias'), { count: 3 });
  assert.deepEqual((await client.getCollectionAliases('indexed')).aliases, [
    { alias_name: 'by-alias', collection_name: 'indexed' },
  ]);
  assert.ok((await client.getAliases()).aliases.some(({ alias_name: name }) => name === 'by-alias'));
});

test('qdrant-js: what is not done is refused with 501, never done by half', async () => {
  const client = clientOf('below /v1/vectors');
  const refused = (call: Promise<unknown>) =>
    assert.rejects(call, (error: { status?: number; data?: { status?: { error?: string } } }) => {
      assert.equal(error.status, 501);
      assert.ok((error.data?.status?.error ?? '').length > 20, 'in words');
      return true;
    });
  await refused(client.createSnapshot('points'));
  await refused(client.listFullSnapshots());
  await refused(client.listShardKeys('points'));
  await refused(client.collectionClusterInfo('points'));
  await refused(client.getQuotas());
  await refused(client.updateQuotas({ enabled: true }));
  const whole = { size: 4, distance: 'Cosine', datatype: 'uint8' } as const;
  await refused(client.createCollection('whole', { vectors: { image: whole } }));
  assert.deepEqual(await client.collectionExists('whole'), { exists: false });
});

test('qdrant-js: a hybrid collection is made, filled and asked as its documentation does', async () => {
  const client = clientOf('below /v1/vectors');
  await client.createCollection('hybrid', {
    vectors: { dense: { size: 2, distance: 'Cosine' } },
    sparse_vectors: { sparse: { modifier: 'idf' } },
  });
  // The index of a sparse vector changes without a word about its modifier.
  const index = { on_disk: true };
  assert.equal(await client.updateCollection('hybrid', { sparse_vectors: { sparse: { index } } }), true);
  const { config } = await client.getCollection('hybrid');
  assert.deepEqual(config.params.sparse_vectors, { sparse: { modifier: 'idf', index } });
  const sparse = (index: number) => ({ indices: [index, 40], values: [1, 0.5] });
  await client.upsert('hybrid', {
    points: [1, 2, 3].map((id) => ({ id, vector: { dense: [id, 1], sparse: sparse(id) }, payload: { id } })),
  });
  const { points: found } = await client.query('hybrid', {
    prefetch: [
      { query: [3, 1], using: 'dense', limit: 20 },
      { query: sparse(3), using: 'sparse', limit: 20 },
    ],
    query: { fusion: 'rrf' },
    with_payload: true,
    limit: 1,
  });
  assert.deepEqual([found[0]?.id, found[0]?.payload, found[0]?.score], [3, { id: 3 }, 1]);
  const [point] = await client.retrieve('hybrid', { ids: [2], with_vector: ['sparse'] });
  assert.deepEqual(point?.vector, { sparse: sparse(2) });
});

test('qdrant-js: settings of storage are shown as they were set', async () => {
  const client = clientOf('below /v1/vectors');
  const index = { datatype: 'float16', on_disk: true } as const;
  const storage = { payload: { memory: 'cold' }, id_tracker: { memory: 'pinned' } };
  const body = { vectors: { size: 2, datatype: 'turbo16' }, sparse_vectors: { words: { index } }, ...storage };
  const made = await gateway.fetch('/v1/vectors/collections/stored', { method: 'PUT', json: body });
  assert.equal(made.status, 200, await made.clone().text());
  const { params } = (await client.getCollection('stored')).config;
  assert.deepEqual(params.sparse_vectors, { words: { index } });
  assert.deepEqual(params.vectors, { size: 2, distance: 'Cosine', datatype: 'turbo16' });
  assert.deepEqual({ ...params, ...storage }, params);
  const patch = { params: { id_tracker: { memory: 'cold' } } };
  const changed = await gateway.fetch('/v1/vectors/collections/stored', { method: 'PATCH', json: patch });
  assert.equal(changed.status, 200);
  const after: object = (await client.getCollection('stored')).config.params;
  assert.deepEqual({ ...after, ...patch.params }, after);
  const wrong = { vectors: { size: 2 }, id_tracker: { memory: 'lost' } };
  const refused = await gateway.fetch('/v1/vectors/collections/lost', { method: 'PUT', json: wrong });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /id_tracker\.memory/);
});

test('qdrant-js: a refused call tells what is wrong, and where', async () => {
  const client = clientOf('below /v1/vectors');
  await client.createCollection('refusing', { vectors: { size: 4, distance: 'Cosine' } });
  await assert.rejects(
    client.upsert('refusing', { points: [points[0]!, { id: 2, vector: [1, 2] }] }),
    (error: { status?: number; data?: { status?: { error?: string } } }) => {
      assert.equal(error.status, 400);
      assert.match(error.data?.status?.error ?? '', /points\[1\]/);
      return true;
    },
  );
  assert.deepEqual(await client.count('refusing'), { count: 0 });
});

test("mem0's calls: a collection that may exist, memories by user, one's own id kept beside", async () => {
  const client = clientOf('below /v1/vectors');
  // It creates its collections at every start.
  for (let start = 0; start < 2; start++) {
    for (const [name, size] of [
      ['memories', 4],
      ['memory_migrations', 1],
    ] as const) {
      await client.createCollection(name, { vectors: { size, distance: 'Cosine' } }).catch((error) => {
        assert.equal(error.status, 409);
      });
    }
  }
  await client.createPayloadIndex('memories', { field_name: 'user_id', field_schema: 'keyword' });
  await client.upsert('memory_migrations', {
    points: [{ id: uuid, vector: [0], payload: { user_id: 'anonymous' } }],
  });
  const migrations = await client.scroll('memory_migrations', { limit: 1, with_payload: true });
  assert.equal(migrations.points[0]?.payload?.user_id, 'anonymous');
  await client.upsert('memories', {
    points: [
      { id: uuid, vector: [1, 0, 0, 0], payload: { data: 'likes tea', user_id: 'ada', hash: 'x' } },
      { id: 2, vector: [1, 0, 0, 0], payload: { data: 'likes rain', user_id: 'bob', hash: 'y' } },
    ],
  });
  const filter = { must: [{ key: 'user_id', match: { value: 'ada' } }] };
  const { points: found } = await client.query('memories', {
    query: [1, 0, 0, 0],
    filter,
    limit: 5,
    with_payload: true,
  });
  assert.deepEqual(
    found.map(({ payload }) => payload?.data),
    ['likes tea'],
  );
  const listed = await client.scroll('memories', { limit: 100, filter, with_payload: true, with_vector: false });
  assert.deepEqual(ids(listed.points), [uuid]);
  await client.delete('memories', { points: [uuid] });
  assert.deepEqual(await client.retrieve('memories', { ids: [uuid], with_payload: true }), []);
});
