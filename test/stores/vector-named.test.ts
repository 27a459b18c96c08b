import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, JsonValue } from '../../src/kernel/json.ts';
import type { CollectionSpec } from '../../src/vectors/collection.ts';
import type { PointId, SparseVector, VectorValue } from '../../src/vectors/point.ts';
import type { Target, VectorInput, VectorStore, WriteOperation } from '../../src/vectors/vector-store.ts';
import { readTarget } from '../../src/vectors/wire/read-target.ts';
import { vectorDrivers } from './vector-drivers.ts';
import { owner, tenant } from './vector-points.ts';
import { everything, idsOnly, query, refusal, where } from './vector-suite.ts';

const dot = (size: number) => ({ kind: 'dense', size, distance: 'Dot', embeddingModel: null }) as const;
const shape: CollectionSpec = {
  name: 'docs',
  size: 2,
  distance: 'Dot',
  embeddingModel: null,
  named: {
    title: dot(3),
    words: { kind: 'sparse', modifier: 'none', embeddingModel: null },
    rare: { kind: 'sparse', modifier: 'idf', embeddingModel: null },
    parts: { kind: 'multi', size: 2, distance: 'Dot' },
  },
};

const sparse = (numbers: Record<number, number>): SparseVector => ({
  indices: Uint32Array.from(Object.keys(numbers).map(Number)),
  values: Float32Array.from(Object.values(numbers)),
});
const multi = (...rows: [number, number][]) => ({ rows: rows.length, numbers: Float32Array.from(rows.flat()) });
const floats = (...numbers: number[]) => Float32Array.from(numbers);

type Vectors = Partial<Record<'' | 'title' | 'words' | 'rare' | 'parts', VectorValue>>;

/** Every point with the vectors that it has, and no others. */
function put(points: Record<number, Vectors>, payload: object | null = null): WriteOperation {
  const entries = Object.entries(points).map(([id, vectors]) => [Number(id), vectors] as const);
  return {
    kind: 'upsert',
    points: {
      ids: entries.map(([id]) => id),
      vectors: Float32Array.from(entries.flatMap(([, { '': unnamed }]) => [...((unnamed as Float32Array) ?? [0, 0])])),
      without: new Set(entries.flatMap(([, vectors], i) => (vectors[''] === undefined ? [i] : []))),
      named: columns(entries.map(([, vectors]) => vectors)),
      payloads: entries.map(() => (payload === null ? null : JSON.stringify(payload))),
    },
  };
}

function columns(rows: readonly Vectors[]) {
  return (['title', 'words', 'rare', 'parts'] as const).map((name) => ({
    name,
    values: rows.map((row) => row[name] ?? null),
  }));
}

const points: Record<number, Vectors> = {
  1: { '': floats(1, 0), title: floats(1, 0, 0), words: sparse({ 5: 1, 9: 2 }), parts: multi([1, 0], [0, 1]) },
  2: { '': floats(0, 1), words: sparse({ 9: 1 }), rare: sparse({ 1: 1, 2: 1 }) },
  3: { title: floats(0, 2, 0), words: sparse({ 4000000000: 3 }), rare: sparse({ 1: 1 }), parts: multi([3, 0]) },
  4: {},
  5: { rare: sparse({ 1: 1, 3: 1 }) },
};

async function filled(store: VectorStore): Promise<VectorStore> {
  await store.create(owner, shape);
  await store.write(tenant, 'docs', [put(points)]);
  return store;
}

const nearest = (vector: VectorInput): Target => ({ kind: 'nearest', vector, mmr: null });

async function found(
  store: VectorStore,
  using: string,
  target: Target | VectorValue,
  more: Partial<Parameters<typeof query>[1]> = {},
): Promise<[PointId, number][]> {
  const asked = 'kind' in target ? target : nearest(target);
  const [hits] = await store.query(tenant, 'docs', [query([], { target: asked, using, ...more })]);
  return hits!.map(({ id, score }) => [id, Math.round(score * 1e4) / 1e4]);
}

/** As plain arrays, for comparisons. */
function plain(value: VectorValue): unknown {
  if ('indices' in value) return { indices: [...value.indices], values: [...value.values] };
  return 'rows' in value ? [value.rows, [...value.numbers]] : [...value];
}

for (const driver of vectorDrivers) {
  const { name } = driver;

  test(`${name}: a point has the vectors that were written, each by its name, or none`, async (t) => {
    const store = await filled(await driver.open(t));
    assert.deepEqual(await store.find(tenant, 'docs'), shape);
    const read = await store.retrieve(tenant, 'docs', [1, 2, 3, 4, 5], everything);
    for (const { id, vector, named = {} } of read) {
      const { '': unnamed, ...others } = points[Number(id)]!;
      assert.deepEqual(vector == null ? vector : [...vector], unnamed === undefined ? null : plain(unnamed));
      const wanted = Object.entries(others).map(([key, value]) => [key, plain(value)]);
      assert.deepEqual(
        Object.fromEntries(Object.entries(named).map(([key, value]) => [key, plain(value)])),
        Object.fromEntries(wanted),
      );
    }
    const [some] = await store.retrieve(tenant, 'docs', [1], { payload: false, vector: ['words'] });
    assert.deepEqual([some?.vector, Object.keys(some?.named ?? {})], [null, ['words']]);
    assert.equal((await store.inspect(tenant, 'docs')).points, 5);
  });

  test(`${name}: each vector is searched by its name, and only points that have it are found`, async (t) => {
    const store = await filled(await driver.open(t));
    assert.deepEqual(await found(store, '', floats(2, 1)), [
      [1, 2],
      [2, 1],
    ]);
    assert.deepEqual(await found(store, 'title', floats(1, 1, 0)), [
      [3, 2],
      [1, 1],
    ]);
    assert.deepEqual(await found(store, 'words', sparse({ 9: 2, 7: 5 })), [
      [1, 4],
      [2, 2],
    ]);
    assert.deepEqual(await found(store, 'words', sparse({ 4000000000: 1 })), [[3, 3]]);
    assert.deepEqual(await found(store, 'parts', multi([1, 0], [0, 1])), [
      [3, 3],
      [1, 2],
    ]);
    const filter = where({ must: [{ has_id: [2, 3] }] });
    assert.deepEqual(await found(store, 'words', sparse({ 9: 1 }), { filter }), [[2, 1]]);
    assert.equal(await refusal(found(store, 'titel', nearest({ id: 1 }))), 'invalid-request');
    assert.equal(await refusal(found(store, 'title', floats(1))), 'invalid-request');
    assert.equal(await refusal(found(store, 'title', sparse({ 1: 1 }))), 'invalid-request');
  });

  test(`${name}: idf makes a term weigh by how rare it is in the collection, as writes change it`, async (t) => {
    const store = await filled(await driver.open(t));
    const idf = (count: number, having: number) => Math.log((count - having + 0.5) / (having + 0.5) + 1);
    const round = (score: number) => Math.round(score * 1e4) / 1e4;
    const asked = sparse({ 1: 1, 3: 1 });
    const [first, ...others] = await found(store, 'rare', asked);
    assert.deepEqual(first, [5, round(idf(3, 3) + idf(3, 1))]);
    assert.deepEqual(others.map(([id]) => id).sort(), [2, 3]);
    for (const [, score] of others) assert.equal(score, round(idf(3, 3)));
    if (driver.idf === 'with-deleted') return;
    await store.write(tenant, 'docs', [
      { kind: 'delete', which: { ids: [2] } },
      put({ 3: { rare: sparse({ 3: 1 }) } }),
    ]);
    const after = new Map(await found(store, 'rare', asked));
    assert.deepEqual(after.get(5), round(idf(2, 1) + idf(2, 2)));
    assert.deepEqual(after.get(3), round(idf(2, 2)));
  });

  test(`${name}: idf makes the terms of examples and of context weigh as those of a query do`, async (t) => {
    const store = await filled(await driver.open(t));
    const asked = sparse({ 1: 1, 3: 1 });
    const byQuery = await found(store, 'rare', asked);
    const examples = { positive: [asked], negative: [] };
    const summed: Target = { kind: 'recommend', ...examples, strategy: 'sum_scores' };
    assert.deepEqual((await found(store, 'rare', summed)).slice(0, 3), byQuery);
    // Unweighed, point 2 is nearer to the positive example and point 5 to the negative one.
    const context = [{ positive: sparse({ 1: 1.5 }), negative: sparse({ 3: 1 }) }];
    const [[first]] = (await found(store, 'rare', { kind: 'discover', target: asked, context })) as [[PointId, number]];
    assert.notEqual(first, 5);
    const worst = (await found(store, 'rare', { kind: 'context', context })).at(-1)!;
    assert.equal(worst[0], 5);
  });

  test(`${name}: vectors are written and deleted by name, the others stay`, async (t) => {
    const store = await filled(await driver.open(t));
    await store.write(tenant, 'docs', [
      {
        kind: 'update-vectors',
        ids: [4, 2],
        vectors: floats(0, 0, 5, 0),
        without: new Set([0]),
        named: columns([{ title: floats(9, 0, 0) }, { words: sparse({ 7: 1 }) }]),
      },
      { kind: 'delete-vectors', which: { ids: [1] }, names: ['', 'words'] },
    ]);
    assert.deepEqual(await found(store, '', floats(1, 0)), [[2, 5]]);
    assert.deepEqual(await found(store, 'title', floats(1, 0, 0), { limit: 2 }), [
      [4, 9],
      [1, 1],
    ]);
    assert.deepEqual(await found(store, 'words', sparse({ 7: 1, 9: 1 })), [[2, 1]]);
    await store.write(tenant, 'docs', [put({ 4: { '': floats(1, 1) } })]);
    const [point] = await store.retrieve(tenant, 'docs', [4], everything);
    assert.deepEqual([[...(point?.vector ?? [])], point?.named], [[1, 1], undefined]);
  });

  test(`${name}: a point's own vector of that name is looked for, and one that has none is not found`, async (t) => {
    const store = await filled(await driver.open(t));
    assert.deepEqual(await found(store, 'words', nearest({ id: 1 })), [[2, 2]]);
    assert.equal(await refusal(found(store, 'words', nearest({ id: 99 }))), 'not-found');
    const recommend: Target = { kind: 'recommend', positive: [{ id: 2 }], negative: [], strategy: 'best_score' };
    assert.equal((await found(store, 'words', recommend))[0]?.[0], 1);
  });

  test(`${name}: sparse examples are averaged term by term, and multivectors by all of their rows`, async (t) => {
    const store = await filled(await driver.open(t));
    const like = (positive: VectorInput[], negative: VectorInput[]): Target => {
      return { kind: 'recommend', positive, negative, strategy: 'average_vector' };
    };
    assert.deepEqual(await found(store, 'words', like([sparse({ 9: 2 }), sparse({ 9: 4, 5: 2 })], [])), [
      [1, 7],
      [2, 3],
    ]);
    // Twice the mean of those that are liked, less that of the others.
    assert.deepEqual(await found(store, 'words', like([sparse({ 9: 2 })], [sparse({ 5: 1 }), sparse({ 5: 3 })])), [
      [1, 6],
      [2, 4],
    ]);
    assert.deepEqual(await found(store, 'parts', like([multi([1, 0])], [multi([0, 1])])), [
      [3, 3],
      [1, 1],
    ]);
  });

  test(`${name}: what prefetches found is merged by rank or by score, or ranked anew`, async (t) => {
    const store = await filled(await driver.open(t));
    const prefetch = [
      { ...part('', nearest(floats(1, 0.5))), limit: 2 },
      { ...part('words', nearest(sparse({ 9: 1, 4000000000: 1 }))), limit: 3 },
    ];
    const rrf: Target = { kind: 'fusion', method: { kind: 'rrf', k: 2, weights: null } };
    // By words 3, 1, 2; by the unnamed vector 1, 2.
    assert.deepEqual(await found(store, '', rrf, { prefetch }), [
      [1, round(1 / 2 + 1 / 3)],
      [2, round(1 / 3 + 1 / 4)],
      [3, round(1 / 2)],
    ]);
    const weighed: Target = { kind: 'fusion', method: { kind: 'rrf', k: 60, weights: [0.1, 1] } };
    const [first] = await found(store, '', weighed, { prefetch, limit: 1 });
    assert.equal(first?.[0], 1);
    const dbsf: Target = { kind: 'fusion', method: { kind: 'dbsf' } };
    assert.deepEqual(
      (await found(store, '', dbsf, { prefetch })).map(([id]) => id),
      [1, 2, 3],
    );
    const filter = where({ must_not: [{ has_id: [1] }] });
    assert.deepEqual(
      (await found(store, '', rrf, { prefetch, filter })).map(([id]) => id),
      [2, 3],
    );
    assert.deepEqual(await found(store, 'title', floats(1, 1, 0), { prefetch, limit: 1 }), [[3, 2]]);
    const nested = [{ ...part('', rrf), prefetch, limit: 2 }];
    assert.deepEqual(await found(store, 'words', sparse({ 9: 1 }), { prefetch: nested }), [
      [1, 2],
      [2, 1],
    ]);
    assert.equal(await refusal(found(store, '', rrf)), 'invalid-request');
    assert.equal(await refusal(found(store, '', { kind: 'all' }, { prefetch })), 'invalid-request');
  });

  test(`${name}: an upsert changes what passes its filter, or what is there, or what is not`, async (t) => {
    const store = await filled(await driver.open(t));
    const state = async () =>
      (await store.retrieve(tenant, 'docs', [1, 2, 9], everything)).map(({ id, payload }) => [id, payload?.v ?? 0]);
    const write = (more: object, v: number) =>
      store.write(tenant, 'docs', [{ ...put({ 1: {}, 2: {}, 9: {} }, { v }), ...more } as WriteOperation]);
    await write({ updateMode: 'update_only' }, 1);
    assert.deepEqual(await state(), [
      [1, 1],
      [2, 1],
    ]);
    await write({ updateMode: 'insert_only' }, 2);
    await write({ updateFilter: where({ must: [{ key: 'v', match: { value: 2 } }] }) }, 3);
    assert.deepEqual(await state(), [
      [1, 1],
      [2, 1],
      [9, 3],
    ]);
    const vectors = { ids: [1, 9], vectors: floats(5, 0, 5, 0) };
    const updateFilter = where({ must_not: [{ has_id: [1] }] });
    await store.write(tenant, 'docs', [{ kind: 'update-vectors', ...vectors, updateFilter }]);
    assert.deepEqual(await found(store, '', floats(1, 0)), [[9, 5]]);
  });

  test(`${name}: a filter asks which points have a vector of some name`, async (t) => {
    const store = await filled(await driver.open(t));
    const count = (filter: object) => store.count(tenant, 'docs', where(filter));
    assert.equal(await count({ must: [{ has_vector: '' }] }), 2);
    assert.equal(await count({ must: [{ has_vector: 'words' }] }), 3);
    assert.equal(await count({ must_not: [{ has_vector: 'rare' }] }), 2);
  });

  test(`${name}: a formula reckons from scores, payloads and conditions, with defaults`, async (t) => {
    const store = await filled(await driver.open(t));
    await store.write(tenant, 'docs', [
      { kind: 'set-payload', which: { ids: [1] }, payload: '{"stars":4,"at":{"lat":0,"lon":0}}', key: null },
      { kind: 'set-payload', which: { ids: [3] }, payload: '{"kind":"x","stars":null}', key: null },
      // Neither of these is a value: the default stands for both.
      { kind: 'set-payload', which: { ids: [2] }, payload: '{"stars":[]}', key: null },
    ]);
    const prefetch = [{ ...part('words', nearest(sparse({ 9: 1, 4000000000: 1 }))), limit: 3 }];
    const score = (formula: JsonValue, defaults: JsonObject = { stars: 1 }) =>
      found(store, '', readTarget({ formula, defaults }, 'query', 10, null as never, { using: '', from: null }), {
        prefetch,
      });
    // By words: 3 has 3, 1 has 2, 2 has 1.
    assert.deepEqual(await score({ mult: ['$score', 'stars'] }), [
      [1, 8],
      [3, 3],
      [2, 1],
    ]);
    const boosted = { sum: ['$score[0]', { mult: [10, { key: 'kind', match: { value: 'x' } }] }] };
    assert.deepEqual((await score(boosted))[0], [3, 13]);
    const decayed = { gauss_decay: { x: 'stars', target: 4, scale: 3, midpoint: 0.5 } };
    // Two are equally good, in any order.
    assert.deepEqual(
      new Map(await score(decayed)),
      new Map([
        [1, 1],
        [2, 0.5],
        [3, 0.5],
      ]),
    );
    const divided = { div: { left: { neg: 'stars' }, right: { pow: { base: 2, exponent: 3 } } } };
    assert.deepEqual((await score(divided)).at(-1), [1, -0.5]);
    assert.deepEqual(await score({ sum: ['$score', { has_vector: 'parts' }, { mult: [5, { has_vector: '' }] }] }), [
      [1, 8],
      [2, 6],
      [3, 4],
    ]);
    const far = { geo_distance: { origin: { lat: 0, lon: 1 }, to: 'at' } };
    assert.equal(Math.round((await score(far, { at: { lat: 0, lon: 1 } }))[0]![1]), 111_195);
    // Of the second prefetch 3 has no score: the default stands for it, and 0 without one.
    prefetch.push({ ...part('', nearest(floats(1, 0.5))), limit: 2 });
    const ofThird = async (defaults: JsonObject) => new Map(await score('$score[1]', defaults)).get(3);
    assert.deepEqual([await ofThird({}), await ofThird({ '$score[1]': 7 }), await ofThird({ $score: 7 })], [0, 7, 0]);
    assert.equal(await refusal(score('stars', {})), 'invalid-request');
    assert.equal(await refusal(score({ ln: 0 })), 'invalid-request');
  });

  test(`${name}: points of another collection are examples for this one's vectors, of another tenant's never`, async (t) => {
    const store = await filled(await driver.open(t));
    await store.create(owner, { name: 'other', size: 2, distance: 'Dot', embeddingModel: null });
    const points = { ids: [1, 7], vectors: floats(0, 1, 1, 0), payloads: [null, null] };
    await store.write(tenant, 'other', [{ kind: 'upsert', points }]);
    const from = { collection: 'other', vector: '' };
    // The point 1 of this collection is another, which may be found.
    assert.deepEqual(await found(store, '', nearest({ id: 7, from })), [
      [1, 1],
      [2, 0],
    ]);
    const prefetch = [{ ...part('', nearest({ id: 1, from })), limit: 1 }];
    assert.deepEqual(await found(store, 'words', sparse({ 9: 1 }), { prefetch }), [[2, 1]]);
    const elsewhere = { collection: 'docs', vector: '' };
    assert.equal(
      await refusal(found(store, '', nearest({ id: 7, from: { ...from, collection: 'none' } }))),
      'not-found',
    );
    const others = driver.tenants[1];
    await store.create(
      { tenant: others, account: 'beta' },
      { name: 'mine', size: 2, distance: 'Dot', embeddingModel: null },
    );
    const asked = store.query(others, 'mine', [query([], { target: nearest({ id: 1, from: elsewhere }) })]);
    assert.equal(await refusal(asked), 'not-found');
  });

  test(`${name}: discovery stays on the better side of its pairs`, async (t) => {
    const store = await driver.open(t);
    await store.create(owner, { ...shape, distance: 'Dot' });
    await store.write(tenant, 'docs', [
      put({ 1: { '': floats(1, 0) }, 2: { '': floats(0.9, 0.1) }, 3: { '': floats(-1, 0) }, 4: { '': floats(0, 1) } }),
    ]);
    const pair = { positive: floats(1, 0), negative: floats(-1, 0) };
    const discover: Target = { kind: 'discover', target: floats(0, 1), context: [pair] };
    assert.deepEqual(
      (await found(store, '', discover)).map(([id]) => id),
      [2, 1, 4, 3],
    );
    const context: Target = { kind: 'context', context: [pair] };
    const scores = new Map(await found(store, '', context));
    assert.deepEqual([scores.get(1), scores.get(2)], [0, 0]);
    assert.ok(scores.get(3)! < -0.5);
  });

  test(`${name}: a collection without vectors keeps payloads`, async (t) => {
    const store = await driver.open(t);
    const bare: CollectionSpec = { name: 'docs', size: 0, distance: 'Cosine', embeddingModel: null };
    await store.create(owner, bare);
    await store.write(tenant, 'docs', [
      { kind: 'upsert', points: { ids: [1, 2], vectors: floats(), payloads: ['{"a":1}', '{"a":2}'] } },
    ]);
    assert.deepEqual(await store.find(tenant, 'docs'), bare);
    assert.equal(await store.count(tenant, 'docs', where({ must: [{ key: 'a', match: { value: 2 } }] })), 1);
    assert.equal(await refusal(found(store, '', floats(1))), 'invalid-request');
    const all = await store.query(tenant, 'docs', [query([], { target: { kind: 'all' } })]);
    assert.deepEqual(all[0]?.map(({ id }) => id).toSorted(), [1, 2]);
  });

  test(`${name}: a collection made again has nothing of the one before`, async (t) => {
    const store = await filled(await driver.open(t));
    assert.equal(await store.drop(tenant, 'docs'), true);
    await store.create(owner, shape);
    assert.deepEqual(await found(store, 'words', sparse({ 9: 1 })), []);
    assert.equal(await store.count(tenant, 'docs', null), 0);
  });
}

function part(using: string, target: Target) {
  const { want: _want, offset: _offset, ...shared } = query([], { target, using, want: idsOnly });
  return shared;
}

function round(score: number): number {
  return Math.round(score * 1e4) / 1e4;
}
