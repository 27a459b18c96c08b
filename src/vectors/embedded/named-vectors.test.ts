import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import {
  alice,
  everything,
  near,
  spec,
  temporaryStore,
  upsert,
} from '../../../test/fixtures/temporary-vector-store.ts';
import type { CollectionSpec } from '../collection.ts';
import type { ExportedCollection, ExportedPoint } from '../export-lines.ts';
import { exportLines } from '../export-lines.ts';
import { importCollection, importPoints } from '../import-points.ts';
import type { SparseVector } from '../point.ts';
import type { WriteOperation } from '../vector-store.ts';
import { shardOf } from './shards/shard-of.ts';

const named: CollectionSpec = {
  ...spec('docs', 2),
  named: {
    title: { kind: 'dense', size: 2, distance: 'Dot', embeddingModel: null },
    words: { kind: 'sparse', modifier: 'idf', embeddingModel: null },
    parts: { kind: 'multi', size: 2, distance: 'Cosine' },
  },
};

function words(...indices: number[]): SparseVector {
  return { indices: Uint32Array.from(indices), values: new Float32Array(indices.length).fill(1) };
}

/** `ids`, each with all vectors; its words are its own number and 7. */
function put(ids: readonly number[]): WriteOperation {
  const vectors = ids.flatMap((id) => [1, id]);
  return {
    kind: 'upsert',
    points: {
      ids,
      vectors: Float32Array.from(vectors),
      named: [
        { name: 'title', values: ids.map((id) => Float32Array.from([id, 1])) },
        { name: 'words', values: ids.map((id) => words(7, 1_000 + id)) },
        { name: 'parts', values: ids.map((id) => ({ rows: 2, numbers: Float32Array.from([id, 0, 0, id]) })) },
      ],
      payloads: ids.map((id) => JSON.stringify({ id })),
    },
  };
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const byWords = (...indices: number[]) => ({
  ...near([]),
  target: { kind: 'nearest', vector: words(...indices), mmr: null } as const,
  using: 'words',
  limit: 5,
});

test('named vectors are there after a start, and the ids that share a term are found by the index made then', async (t) => {
  const world = temporaryStore(t);
  await world.store.create(alice, named);
  await world.store.write('alice', 'docs', [put(range(1, 600))]);
  await world.store.write('alice', 'docs', [{ kind: 'delete', which: { ids: range(1, 300) } }]);
  const store = await world.reopen();
  assert.deepEqual(await store.find('alice', 'docs'), named);
  const [found] = await store.query('alice', 'docs', [byWords(1_450, 1_020)]);
  assert.deepEqual(
    found?.map(({ id }) => id),
    [450],
  );
  const [point] = await store.retrieve('alice', 'docs', [450], everything);
  assert.deepEqual([...(point!.named!.title as Float32Array)], [450, 1]);
  assert.equal(store.commits(), 0);
});

test('a folder of before named vectors opens, with what was in it, and takes them', async (t) => {
  const world = temporaryStore(t);
  await world.store.create(alice, spec('old'));
  await world.store.write('alice', 'old', [upsert([1, [1, 0], { a: 1 }], [2, [0, 1]])]);
  await world.store.close();
  const file = join(world.dataDir, 'vectors', `shard-${shardOf('alice')}.db`);
  const database = new DatabaseSync(file);
  database.exec(
    'ALTER TABLE collection DROP COLUMN more; DROP TABLE field; DROP TABLE field_row; PRAGMA user_version = 2',
  );
  database.close();
  const store = await world.reopen();
  const [found] = await store.query('alice', 'old', [near([1, 0])]);
  assert.deepEqual(
    found?.map(({ id }) => id),
    [1, 2],
  );
  const copy = new DatabaseSync(`${file}.before-schema-2`, { readOnly: true });
  assert.equal(copy.prepare('SELECT count(*) AS count FROM point').get()?.count, 2, 'its earlier file is beside it');
  assert.equal(copy.prepare('PRAGMA user_version').get()?.user_version, 2);
  copy.close();
  await store.create(alice, named);
  await store.write('alice', 'docs', [put([1, 2])]);
  assert.equal((await store.query('alice', 'docs', [byWords(7)]))[0]?.length, 2);
});

test('a named vector that the disk changed or lost refuses the collection, others are served', async (t) => {
  for (const damage of [
    'UPDATE field_row SET vector = zeroblob(16) WHERE key = (SELECT max(key) FROM field_row)',
    'DELETE FROM field_row WHERE key = (SELECT max(key) FROM field_row)',
  ]) {
    const world = temporaryStore(t);
    await world.store.create(alice, named);
    await world.store.create(alice, spec('sound'));
    await world.store.write('alice', 'docs', [put([1, 2])]);
    await world.store.close();
    const database = new DatabaseSync(join(world.dataDir, 'vectors', `shard-${shardOf('alice')}.db`));
    database.exec(damage);
    database.close();
    const store = await world.reopen();
    await assert.rejects(store.retrieve('alice', 'docs', [1, 2], everything), /^Collection 'docs' is damaged/);
    assert.equal(await store.count('alice', 'sound', null), 0);
  }
});

test('a write that is refused leaves named vectors as they were', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, named);
  await store.write('alice', 'docs', [put(range(1, 400))]);
  const before = await store.query('alice', 'docs', [byWords(7, 1_399)]);
  const refused = { kind: 'set-payload', which: { ids: [9_999] }, payload: '{}', key: null } as const;
  await assert.rejects(store.write('alice', 'docs', [put(range(500, 600)), refused]));
  const [after] = await store.query('alice', 'docs', [byWords(7, 1_399)]);
  assert.deepEqual(after, before[0]);
});

test('what a tenant has is exported and imported with its named vectors', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, named);
  await store.write('alice', 'docs', [
    put([1, 2]),
    { kind: 'delete-vectors', which: { ids: [2] }, names: ['', 'words'] },
  ]);
  const lines: string[] = [];
  for await (const line of exportLines(store, 'alice')) lines.push(...line.trim().split('\n'));
  const [, { collection }, ...rest] = lines.map((line) => JSON.parse(line)) as [
    unknown,
    { collection: ExportedCollection },
    ...ExportedPoint[],
  ];
  await importCollection(store, { tenant: 'carol', account: 'acme' }, collection);
  await importPoints(store, 'carol', 'docs', rest.slice(0, -1));
  assert.deepEqual(await store.find('carol', 'docs'), named);
  const [from, to] = await Promise.all(
    ['alice', 'carol'].map((tenant) => store.retrieve(tenant, 'docs', [1, 2], everything)),
  );
  assert.deepEqual(to, from);
  const bob = { tenant: 'bob-in-another-shard', account: 'acme' };
  await store.adopt('carol', bob);
  assert.deepEqual(await store.retrieve(bob.tenant, 'docs', [1, 2], everything), from);
});
