// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  alice,
  ask,
  near,
  spec,
  type TemporaryStore,
  temporaryStore,
  upsert,
} from '../../../test/fixtures/temporary-vector-store.ts';
import { vectorMaker } from '../../../test/memory-rows.ts';
import type { FailureError } from '../../kernel/failure.ts';
import { readFilter } from '../filter/read-filter.ts';
import type { PointQuery } from '../vector-store.ts';
import { callBounds } from './call-bounds.ts';
import type { EmbeddedOptions, EmbeddedStore } from './embedded-store.ts';
import { trialSearches } from './index/bit-trial.ts';
import { shardOf } from './shards/shard-of.ts';

/** Hardly more points than make an index that is worth keeping. */
const small = { size: 64, count: 5_100 };
/** Hardly more than make one that looks through bits first. */
const large = { size: 512, count: 6_000 };

/** A collection with an index that is kept, and the vectors of its points. */
async function filled(t: TestContext, { size, count } = small, options: Partial<EmbeddedOptions> = {}) {
  const made = temporaryStore(t, { imagesEveryMs: 20, ...options });
  const make = vectorMaker(size, { seed: 4, clusters: 60 });
  const vectors = Array.from({ length: count }, () => [...make()]);
  await made.store.create(alice, spec('codes', size));
  for (let from = 0; from < count; from += 1_000) {
    const points = vectors
      .slice(from, from + 1_000)
      .map((vector, i): [number, number[], object] => [from + i, vector, { third: (from + i) % 3 }]);
    await made.store.write('alice', 'codes', [upsert(...points)]);
  }
  const home = join(made.dataDir, 'vectors');
  const shard = join(home, `shard-${shardOf('alice')}`);
  return { made, make, vectors, home, database: `${shard}.db`, images: `${shard}.images` };
}

const idsNear = async (store: EmbeddedStore, vector: number[], more: Partial<PointQuery> = {}) =>
  (await store.query('alice', 'codes', [near(vector, more)]))[0]!.map(({ id }) => id);

const third = readFilter({ must: [{ key: 'third', match: { value: 1 } }] }, 'filter');

/** Closed after the bits have ended their trial; no image is kept before that. */
async function closedAfterTrial(t: TestContext) {
  const files = await filled(t, large, { imagesEveryMs: 1_000_000 });
  const { made, make } = files;
  for (let i = 0; i <= trialSearches; i++) await idsNear(made.store, [...make()]);
  const queries = Array.from({ length: 10 }, () => [...make()]);
  const all = await Promise.all(queries.map((query) => idsNear(made.store, query)));
  const filtered = await Promise.all(queries.map((query) => idsNear(made.store, query, { filter: third })));
  await made.store.close();
  return { ...files, queries, all, filtered };
}

/** Each slice of making an index is one step of it. */
const slowClock = () => {
  let nowMs = 0;
  return { monotonicMs: () => (nowMs += 20) };
};

const patient = { ...callBounds, rowsMs: Number.POSITIVE_INFINITY };

/** Resolves when an image is kept that was not before. */
async function savedImages({ dataDir }: TemporaryStore, after: string | null = null): Promise<string> {
  const path = join(dataDir, 'vectors', `shard-${shardOf('alice')}.db`);
  for (;;) {
    await pause(20);
    const database = new DatabaseSync(path, { readOnly: true });
    const isThere = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'image'").get() !== undefined;
    const nonce = isThere ? database.prepare('SELECT nonce FROM image').get()?.nonce : null;
    database.close();
    if (typeof nonce === 'string' && nonce !== after) return nonce;
  }
}

/** Makes the row of a point unreadable, so that reading all rows fails. */
function damage(database: string, id: number): void {
  const file = new DatabaseSync(database);
  file.prepare('UPDATE point SET vector = zeroblob(length(vector)) WHERE id = ?').run(id);
  file.close();
}

test('a start takes the index up as it was kept, without reading all vectors', async (t) => {
  const { made, make, database } = await filled(t, large);
  // Until the bits have ended their trial, which is kept, too.
  for (let i = 0; i <= trialSearches; i++) await idsNear(made.store, [...make()]);
  await savedImages(made);
  const queries = Array.from({ length: 10 }, () => [...make()]);
  const before = await Promise.all(queries.map((query) => idsNear(made.store, query)));
  const far = Array.from({ length: large.count }, (_, id) => id).find((id) => !before.flat().includes(id))!;
  await made.store.close();
  damage(database, far);
  const store = await made.reopen();
  for (const [i, query] of queries.entries()) assert.deepEqual(await idsNear(store, query), before[i]);
});

test('kept indexes are taken up before anybody asks, as long as none gives its memory back for another', async (t) => {
  const { made, vectors, images } = await filled(t);
  await made.store.create(alice, spec('more', small.size));
  await made.store.write('alice', 'more', [upsert(...vectors.map((vector, i): [number, number[]] => [i, vector]))]);
  for (const name of ['codes', 'more']) await made.store.query('alice', name, [near(vectors[0]!)]);
  const isWhole = (name: string) => !name.endsWith('.new');
  while (!existsSync(images) || readdirSync(images).filter(isWhole).length < 2) await pause(20);
  const indexed = async (store: EmbeddedStore) =>
    Promise.all(['codes', 'more'].map(async (name) => (await store.inspect('alice', name)).indexed));
  const store = await made.reopen();
  assert.deepEqual(await indexed(store), [0, 0]);
  await store.takeUpImages();
  assert.deepEqual(await indexed(store), [small.count, small.count]);
  await store.close();
  // Room for one of them.
  const cramped = temporaryStore(t, { dataDir: made.dataDir, memoryBytes: 900_000 }).store;
  await cramped.takeUpImages();
  assert.deepEqual(await indexed(cramped), [small.count, 0]);
});

test('columns are taken up as they were kept, without reading all payloads, and not after a write', async (t) => {
  const { made, vectors, database, images } = await filled(t);
  const other = 5;
  await made.store.count('alice', 'codes', third);
  await idsNear(made.store, vectors[0]!, { filter: third });
  while (!existsSync(images) || !readdirSync(images).some((name) => name.endsWith('-columns'))) await pause(20);
  await made.store.close();
  const file = new DatabaseSync(database);
  const { payload } = file.prepare('SELECT payload FROM point WHERE id = ?').get(other)!;
  file.prepare('UPDATE point SET payload = ? WHERE id = ?').run('{"third":"damaged"}', other);
  file.close();
  const store = await made.reopen();
  assert.equal(await store.count('alice', 'codes', third), small.count / 3);
  await store.close();

  const again = new DatabaseSync(database);
  again.prepare('UPDATE point SET payload = ? WHERE id = ?').run(payload!, other);
  again.close();
  const sound = await made.reopen();
  await sound.write('alice', 'codes', [{ kind: 'delete', which: { ids: [1, 4] } }]);
  const reopened = await made.reopen();
  assert.equal(await reopened.count('alice', 'codes', third), small.count / 3 - 2);
});

test('an image from before the last write is not used', async (t) => {
  const { made, make, vectors } = await filled(t);
  await idsNear(made.store, vectors[0]!);
  const nonce = await savedImages(made);
  const store = await made.reopen();
  const fresh = [...make()];
  await store.write('alice', 'codes', [upsert([small.count, fresh], [7, fresh])]);
  await store.write('alice', 'codes', [{ kind: 'delete', which: { ids: [8] } }]);
  const reopened = await made.reopen();
  assert.deepEqual((await idsNear(reopened, fresh)).slice(0, 2).sort(), [7, small.count].sort());
  assert.ok(!(await idsNear(reopened, vectors[8]!)).includes(8));
  // Once it is quiet again it is kept again.
  await savedImages(made, nonce);
  assert.ok(!(await idsNear(await made.reopen(), vectors[8]!)).includes(8));
});

test('a search after a start is answered from the bits of a kept index, before the rest of it is read', async (t) => {
  const { made, queries, all, filtered } = await closedAfterTrial(t);
  for (const [i, query] of queries.entries()) {
    const options = { dataDir: made.dataDir, clock: slowClock(), bounds: patient };
    const { store } = temporaryStore(t, { ...options, imagesEveryMs: null });
    assert.deepEqual(await idsNear(store, query, i % 2 === 0 ? {} : { filter: third }), [all, filtered][i % 2]![i]);
    assert.equal((await store.inspect('alice', 'codes')).indexed, 0);
    while ((await store.inspect('alice', 'codes')).indexed === 0) await pause(1);
    assert.deepEqual(await idsNear(store, query), all[i]);
    await store.close();
  }
});

test('what is written while a kept index is taken up is found, and what is deleted is not', async (t) => {
  const { made, make, queries, all } = await closedAfterTrial(t);
  const options = { dataDir: made.dataDir, clock: slowClock(), bounds: patient };
  const { store } = temporaryStore(t, { ...options, imagesEveryMs: null });
  assert.deepEqual(await idsNear(store, queries[0]!), all[0]);
  const fresh = [...make()];
  const gone = Number(all[1]![0]);
  const written = store.write('alice', 'codes', [upsert([7, fresh]), { kind: 'delete', which: { ids: [gone] } }]);
  assert.equal((await store.inspect('alice', 'codes')).indexed, 0);
  await written;
  assert.equal((await idsNear(store, fresh))[0], 7);
  assert.ok(!(await idsNear(store, queries[1]!)).includes(gone));
});

test('codes that are damaged behind sound bits are made anew, and searches go on', async (t) => {
  const { made, queries, all, images } = await closedAfterTrial(t);
  const path = join(images, readdirSync(images)[0]!);
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0x55, bytes.length - 60_000, bytes.length - 1_000));
  const store = await made.reopen();
  for (const [i, query] of queries.entries()) assert.deepEqual(await idsNear(store, query), all[i]);
  while ((await store.inspect('alice', 'codes')).indexed === 0) await pause(20);
  for (const [i, query] of queries.entries()) assert.deepEqual(await idsNear(store, query), all[i]);
});

test('rows that are missing behind a kept index are found out, and the collection refused', async (t) => {
  const { made, queries, database, all } = await closedAfterTrial(t);
  const file = new DatabaseSync(database);
  file.prepare('DELETE FROM point WHERE id = ?').run(Number(all[9]![0]));
  file.close();
  const store = await made.reopen();
  const isRefused = ({ failure }: FailureError) => /'codes' is damaged/.test(JSON.stringify(failure));
  for (;;) {
    try {
      await idsNear(store, queries[0]!);
    } catch (error) {
      assert.ok(isRefused(error as FailureError));
      return;
    }
    await pause(5);
  }
});

for (const [what, spoil] of [
  ['cut', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ['overwritten', (bytes: Buffer) => bytes.fill(0, 600, 60_000)],
  ['empty', () => Buffer.alloc(0)],
] as const) {
  test(`an image that was ${what} is not used`, async (t) => {
    const { made, vectors, images } = await filled(t);
    const before = await idsNear(made.store, vectors[9]!);
    await savedImages(made);
    await made.store.close();
    const [name] = readdirSync(images);
    const path = join(images, name!);
    writeFileSync(path, spoil(readFileSync(path)));
    assert.deepEqual(await idsNear(await made.reopen(), vectors[9]!), before);
  });
}

test('an image whose head tells other numbers of rows is not used', async (t) => {
  const { made, queries, all, images } = await closedAfterTrial(t);
  const path = join(images, readdirSync(images)[0]!);
  const sound = readFileSync(path, 'latin1');
  for (const count of ['5999', '9e15', '-1e9', 'null', '"10"']) {
    const spoiled = sound.replace('"count":6000', `"count":${count}`);
    writeFileSync(path, spoiled, 'latin1');
    assert.deepEqual(await idsNear(await made.reopen(), queries[0]!), all[0], count);
  }
});

test('an image of a state that was put back, and written otherwise since, is not used', async (t) => {
  const { made, make, home, vectors } = await filled(t);
  await made.store.close();
  const backup = join(made.dataDir, 'backup');
  cpSync(home, backup, { recursive: true });
  const [one, other] = [[...make()], [...make()]];
  const store = await made.reopen();
  await store.write('alice', 'codes', [upsert([5, one])]);
  await idsNear(store, one);
  await savedImages(made);
  await store.close();
  cpSync(backup, home, { recursive: true });
  // The same number of writes as the image is of.
  await (await made.reopen()).write('alice', 'codes', [upsert([5, other])]);
  const restored = await made.reopen();
  assert.equal((await idsNear(restored, other))[0], 5);
  assert.notEqual((await idsNear(restored, one))[0], 5);
  assert.equal((await idsNear(restored, vectors[6]!))[0], 6);
});

test('where no image can be written, searches and writes go on', async (t) => {
  const { made, vectors, images } = await filled(t);
  // A file where the folder would be: nothing can be made or removed below it.
  writeFileSync(images, '');
  const before = await idsNear(made.store, vectors[3]!);
  await pause(200);
  assert.deepEqual(await idsNear(made.store, vectors[3]!), before);
  await made.store.write('alice', 'codes', [upsert([small.count, vectors[3]!])]);
  assert.ok((await idsNear(await made.reopen(), vectors[3]!)).includes(small.count));
});

test('the image of a dropped collection goes with it', async (t) => {
  const { made, vectors, images } = await filled(t);
  await idsNear(made.store, vectors[0]!);
  await savedImages(made);
  await made.store.drop('alice', 'codes');
  while (existsSync(images) && readdirSync(images).length > 0) await pause(20);
  assert.equal(
    (await made.store.query('alice', 'codes', [ask({ kind: 'all' })]).catch(() => 'gone')) as unknown,
    'gone',
  );
});
