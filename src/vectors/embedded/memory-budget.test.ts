// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alice, ask, near, spec, temporaryStore, upsert } from '../../../test/fixtures/temporary-vector-store.ts';
import { seededRandom } from '../../kernel/random.ts';
import { readFilter } from '../filter/read-filter.ts';
import type { SparseVector } from '../point.ts';
import type { WriteOperation } from '../vector-store.ts';

const size = 128;
const random = seededRandom(9);
const vectors = Array.from({ length: 1_500 }, () => Array.from({ length: size }, () => random.next() - 0.5));

function nearestOf(query: number[], vectorsOf: number[][]): number {
  const distance = (vector: number[]) => vector.reduce((sum, x, i) => sum + (x - query[i]!) ** 2, 0);
  return vectorsOf.reduce((best, vector, i) => (distance(vector) < distance(vectorsOf[best]!) ? i : best), 0);
}

test('collections take turns in a memory that holds one index at a time, and answer all the same', async (t) => {
  const { store, logged } = temporaryStore(t, { memoryBytes: 1_100_000 });
  for (const name of ['a', 'b', 'c']) {
    await store.create(alice, spec(name, size, { distance: 'Euclid' }));
    await store.write('alice', name, [upsert(...vectors.map((vector, i) => [i, vector] as [number, number[]]))]);
  }
  for (const [turn, name] of ['a', 'b', 'c', 'a', 'c', 'b'].entries()) {
    const query = vectors[turn * 11]!.map((x) => x + 0.001);
    const [hits] = await store.query('alice', name, [near(query, { limit: 1 })]);
    assert.equal(hits![0]!.id, nearestOf(query, vectors));
    const indexed = await Promise.all(['a', 'b', 'c'].map(async (one) => (await store.inspect('alice', one)).indexed));
    assert.equal(indexed['abc'.indexOf(name)], vectors.length);
    assert.equal(indexed.filter((count) => count > 0).length, 1);
  }
  assert.deepEqual(logged, []);
});

test('a collection that no memory holds is served from its rows, and that is said once', async (t) => {
  const { store, logged } = temporaryStore(t, { memoryBytes: 200_000 });
  await store.create(alice, spec('large', size, { distance: 'Euclid' }));
  await store.write('alice', 'large', [upsert(...vectors.map((vector, i) => [i, vector] as [number, number[]]))]);
  for (const i of [3, 700]) {
    const [hits] = await store.query('alice', 'large', [near(vectors[i]!, { limit: 1 })]);
    assert.equal(hits![0]!.id, i);
  }
  await store.write('alice', 'large', [upsert([9_999, new Array(size).fill(5)])]);
  const [hits] = await store.query('alice', 'large', [near(new Array(size).fill(5), { limit: 1 })]);
  assert.equal(hits![0]!.id, 9_999);
  assert.equal(logged.length, 1);
  assert.match(
    logged[0]!,
    /'large' \(1500 points of 128 components\) does not fit vectors\.memory.*from the disk, slower/,
  );
});

test('sparse vectors that no memory holds are found in their rows, and that is said once', async (t) => {
  const { store, logged } = temporaryStore(t, { memoryBytes: 200_000 });
  const words = { kind: 'sparse', modifier: 'none', embeddingModel: null } as const;
  await store.create(alice, spec('large', 2, { named: { words } }));
  const ofTerms = (...terms: number[]): SparseVector => ({
    indices: Uint32Array.from(terms),
    values: new Float32Array(terms.length).fill(1),
  });
  /** Its id, and twenty words that it shares with others. */
  const wordsOf = (id: number) => ofTerms(id, ...Array.from({ length: 20 }, (_, at) => 10_000 + (id % 50) * 20 + at));
  const put = (ids: number[]): WriteOperation => {
    const named = [{ name: 'words', values: ids.map(wordsOf) }];
    const unnamed = Float32Array.from(ids.flatMap((id) => [1, id]));
    return { kind: 'upsert', points: { ids, vectors: unnamed, named, payloads: ids.map(() => null) } };
  };
  const found = async (term: number) => {
    const [hits] = await store.query('alice', 'large', [
      ask({ kind: 'nearest', vector: ofTerms(term), mmr: null }, { using: 'words', limit: 3 }),
    ]);
    return hits!.map(({ id }) => id);
  };
  await store.write('alice', 'large', [put(Array.from({ length: 2_000 }, (_, id) => id))]);
  assert.deepEqual([await found(3), await found(1_999), await found(5_000)], [[3], [1_999], []]);
  await store.write('alice', 'large', [put([5_000])]);
  assert.deepEqual(await found(5_000), [5_000]);
  assert.deepEqual(logged, [
    "vectors: the sparse vectors 'words' of collection 'large' (2000 points) do not fit vectors.memory; they are searched on the disk, slower",
  ]);
});

test('a filter key whose values no memory holds is answered from the rows, and that is said once a collection', async (t) => {
  const { store, logged } = temporaryStore(t, { memoryBytes: 200_000 });
  await store.create(alice, spec('docs', 2, { distance: 'Euclid' }));
  const payload = (i: number) => ({ url: `${i}`.repeat(60), other: `${i}`.repeat(61), kind: i % 3 });
  const rows = Array.from({ length: 1_000 }, (_, i) => [i, [i, 0], payload(i)] as [number, number[], object]);
  await store.write('alice', 'docs', [upsert(...rows)]);
  const count = (key: string, value: string | number) =>
    store.count('alice', 'docs', readFilter({ must: { key, match: { value } } }, 'filter'));
  for (let call = 0; call < 2; call++) {
    assert.equal(await count('kind', 1), 333);
    assert.equal(await count('url', payload(205).url), 1);
    assert.equal(await count('other', payload(205).other), 1);
  }
  assert.equal(logged.length, 1);
  assert.match(logged[0]!, /'docs': the values of 'url' do not fit.*vectors\.memory.*slower/);
});

test('a write is seen by the next search and filter, also after one that failed', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs', 2, { distance: 'Euclid' }));
  const many = Array.from({ length: 400 }, (_, i) => [i, [i, 0], { n: i }] as [number, number[], object]);
  await store.write('alice', 'docs', [upsert(...many)]);
  const filter = readFilter({ must: [{ key: 'n', range: { gte: 390 } }] }, 'filter');
  const nearest = async () => (await store.query('alice', 'docs', [near([1_000, 0], { limit: 1 })]))[0]![0]!.id;
  assert.equal(await nearest(), 399);
  assert.equal(await store.count('alice', 'docs', filter), 10);

  const bad = { kind: 'update-vectors', ids: [77_777], vectors: Float32Array.of(1, 1) } as const;
  const calls = [
    store.write('alice', 'docs', [upsert([500, [500, 0], { n: 500 }])]),
    store.write('alice', 'docs', [upsert([600, [600, 0], { n: 600 }]), { kind: 'delete', which: { filter } }, bad]),
    store.write('alice', 'docs', [
      { kind: 'delete', which: { filter: readFilter({ must: [{ key: 'n', match: { value: 399 } }] }, '') } },
    ]),
  ];
  assert.deepEqual(
    (await Promise.allSettled(calls)).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal(await nearest(), 500);
  assert.equal(await store.count('alice', 'docs', filter), 10);
  assert.equal(await store.count('alice', 'docs', null), 400);
});
