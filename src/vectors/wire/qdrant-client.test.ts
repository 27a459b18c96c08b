import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { QdrantClient } from '@qdrant/js-client-rest';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import { plainSpec, scriptedStore, shownFailure } from '../../../test/vector-call.ts';
import { systemClock } from '../../kernel/clock.ts';
import type { WriteOperation } from '../store.ts';
import { vectorVerbNames, vectorVerbs } from '../verbs.ts';
import { prepareCall } from './prepare-call.ts';

const vector = [0.1, 0.2, 0.3, 0.4];
const floats = new Float32Array(vector);
const filter = { must: [{ key: 'metadata.k', match: { value: 'v' } }] };

/** A client whose calls are read and answered here, over a store that finds one point whatever it is asked. */
async function connected(): Promise<{ client: QdrantClient; written: WriteOperation[]; close: () => void }> {
  const written: WriteOperation[] = [];
  const point = { id: 1, payload: { a: 1 } };
  const { store } = scriptedStore({
    create: async () => {},
    drop: async () => true,
    list: async () => [plainSpec],
    find: async () => plainSpec,
    inspect: async () => ({ ...plainSpec, points: 1, indexed: 1, payloadSchema: {} }),
    write: async (_, __, operations) => written.push(...operations),
    retrieve: async () => [point],
    query: async (_, __, queries) => queries.map(() => [{ ...point, score: 0.5 }]),
    queryGroups: async () => [{ id: 'x', hits: [{ ...point, score: 0.5 }] }],
    scroll: async () => ({ points: [point], next: 2 }),
    count: async () => 1,
    facet: async () => [{ value: 'v', count: 1 }],
    indexPayload: async () => 1,
    aliases: async () => [{ alias: 'a', collection: 'plain' }],
    changeAliases: async () => {},
  });
  const router = findMyWay();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [path, search = ''] = request.url!.split('?');
    const found = router.find(request.method as HTTPMethod, path!)!;
    const verb = found.store as (typeof vectorVerbNames)[number];
    const call = {
      owner: { tenant: 't', account: 'a' },
      verb,
      params: found.params,
      search,
      body: Buffer.concat(chunks),
    };
    const prepared = await prepareCall(store, call, { limits: { pointsPerCall: 100 }, clock: systemClock }).catch(
      (error: unknown) => ({ run: async () => shownFailure(error) }),
    );
    const body = await prepared.run(null);
    response.writeHead(typeof body === 'string' ? 400 : 200, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? JSON.stringify({ message: body }) : body);
  });
  for (const verb of vectorVerbNames) router.on(vectorVerbs[verb].method, vectorVerbs[verb].path, () => {}, verb);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new QdrantClient({ url: `http://127.0.0.1:${port}`, checkCompatibility: false });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { client, written, close };
}

test("every call of Qdrant's client is read and its answer understood", async (t) => {
  const { client, written, close } = await connected();
  t.after(close);
  const done = { operation_id: 1, status: 'completed' };

  const created = await client.createCollection('plain', {
    vectors: { size: 4, distance: 'Cosine' },
    optimizers_config: { default_segment_number: 2 },
    replication_factor: 1,
  });
  assert.equal(created, true);
  assert.equal((await client.getCollections()).collections[0]?.name, 'plain');
  assert.equal((await client.getCollection('plain')).points_count, 1);
  assert.equal((await client.collectionExists('plain')).exists, true);
  assert.equal(await client.updateCollection('plain', { optimizers_config: { indexing_threshold: 10_000 } }), true);
  assert.deepEqual(await client.createPayloadIndex('plain', { field_name: 'a', field_schema: 'keyword' }), done);
  assert.deepEqual(await client.deletePayloadIndex('plain', 'a'), done);
  const aliased = { actions: [{ create_alias: { collection_name: 'plain', alias_name: 'a' } }] };
  assert.equal(await client.updateCollectionAliases(aliased), true);
  assert.equal((await client.getAliases()).aliases[0]?.alias_name, 'a');
  assert.equal((await client.getCollectionAliases('plain')).aliases.length, 1);

  assert.deepEqual(await client.upsert('plain', { points: [{ id: 1, vector, payload: { a: 1 } }] }), done);
  await client.upsert('plain', { wait: true, batch: { ids: [1], vectors: [vector], payloads: [{ a: 1 }] } });
  assert.deepEqual(written[0], written[1]);
  await client.updateVectors('plain', { points: [{ id: 1, vector }] });
  await client.setPayload('plain', { payload: { b: 2 }, points: [1] });
  await client.overwritePayload('plain', { payload: { b: 2 }, filter });
  await client.deletePayload('plain', { keys: ['b'], points: [1] });
  await client.clearPayload('plain', { points: [1] });
  await client.delete('plain', { wait: true, ordering: 'weak', points: [1] });
  await client.delete('plain', { filter });
  const batch = await client.batchUpdate('plain', { operations: [{ upsert: { points: [{ id: 1, vector }] } }] });
  assert.equal(batch.length, 1);
  assert.deepEqual(
    written.map(({ kind }) => kind),
    [
      'upsert',
      'upsert',
      'update-vectors',
      'set-payload',
      'overwrite-payload',
      'delete-payload',
      'clear-payload',
      'delete',
      'delete',
      'upsert',
    ],
  );
  assert.deepEqual(written[2], { kind: 'update-vectors', ids: [1], vectors: floats });

  assert.equal((await client.retrieve('plain', { ids: [1], with_vector: true }))[0]?.id, 1);
  const query = { query: vector, filter, limit: 3, with_vector: false, with_payload: ['metadata', 'content'] };
  assert.equal((await client.query('plain', query)).points[0]?.score, 0.5);
  const varied = { query: { nearest: vector, mmr: { diversity: 0.5, candidates_limit: 20 } } };
  assert.equal((await client.query('plain', varied)).points.length, 1);
  assert.equal((await client.queryBatch('plain', { searches: [query, varied] })).length, 2);
  const groups = await client.queryGroups('plain', { query: vector, group_by: 'a', limit: 2, group_size: 1 });
  assert.equal(groups.groups[0]?.id, 'x');
  assert.equal((await client.scroll('plain', { filter, limit: 5 })).next_page_offset, 2);
  assert.equal((await client.count('plain', { filter, exact: true })).count, 1);
  assert.equal((await client.facet('plain', { key: 'a' })).hits[0]?.count, 1);
  assert.equal(await client.deleteCollection('plain'), true);
});
