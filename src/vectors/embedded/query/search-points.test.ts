import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  alice,
  ask,
  bob,
  near,
  spec,
  temporaryStore,
  upsert,
} from '../../../../test/fixtures/temporary-vector-store.ts';
import { FailureError } from '../../../kernel/failure.ts';
import type { Distance } from '../../collection.ts';
import { readFilter } from '../../filter/read-filter.ts';
import type { ScoredPoint } from '../../point.ts';
import type { GroupQuery, PointQuery, Target } from '../../vector-store.ts';
import { callBounds } from '../call-bounds.ts';

const v = (...components: number[]) => Float32Array.from(components);

async function compass(t: TestContext, distance: Distance = 'Cosine') {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs', 2, { distance }));
  await store.write('alice', 'docs', [
    upsert([1, [1, 0], { n: 3, tag: 'x' }], [2, [0, 1], { n: 1, tag: ['x', 'y'] }]),
    upsert([3, [-1, 0], { n: 2 }], [4, [0, -1], { n: 1, tag: 7 }], [5, [0.6, 0.8], { tag: 'y' }]),
  ]);
  return {
    store,
    async hits(target: Target, more: Partial<PointQuery> = {}): Promise<ScoredPoint[]> {
      const [hits] = await store.query('alice', 'docs', [ask(target, more)]);
      return hits!;
    },
    async groups(more: Partial<GroupQuery>) {
      const { limit: _, offset: __, ...query } = near([1, 0]);
      return store.queryGroups('alice', 'docs', { ...query, groupBy: 'tag', groups: 5, groupSize: 5, ...more });
    },
  };
}

const ids = (hits: readonly { id: unknown }[]) => hits.map(({ id }) => id);

test('a point named by its id is looked for and left out, by filter and offset too', async (t) => {
  const { hits } = await compass(t);
  const target: Target = { kind: 'nearest', vector: { id: 1 }, mmr: null };
  assert.deepEqual(ids(await hits(target, { limit: 2 })), [5, 2]);
  assert.deepEqual(ids(await hits(target, { limit: 2, offset: 1 })), [2, 4]);
  const filter = readFilter({ must: [{ has_id: [1, 3] }] }, 'filter');
  assert.deepEqual(ids(await hits(target, { filter })), [3]);
  await assert.rejects(hits({ kind: 'nearest', vector: { id: 99 }, mmr: null }), FailureError);
});

test('the threshold is the least score for similarities, the greatest for distances', async (t) => {
  const cosine = await compass(t);
  assert.deepEqual(ids(await cosine.hits(near([1, 0]).target, { scoreThreshold: 0.5 })), [1, 5]);
  const euclid = await compass(t, 'Euclid');
  assert.deepEqual(ids(await euclid.hits(near([1, 0]).target, { scoreThreshold: 1 })), [1, 5]);
});

test('average_vector moves away from what is not liked, as far as towards what is', async (t) => {
  const { hits } = await compass(t);
  const recommend = { kind: 'recommend', strategy: 'average_vector' } as const;
  assert.deepEqual(ids(await hits({ ...recommend, positive: [{ id: 1 }, { id: 2 }], negative: [] })), [5, 3, 4]);
  // 2 × (0, 1) − (1, 0), scaled to length 1
  const [best] = await hits({ ...recommend, positive: [{ id: 2 }], negative: [v(1, 0)] });
  assert.equal(best!.id, 3);
  assert(Math.abs(best!.score - 1 / Math.sqrt(5)) < 1e-6);
  await assert.rejects(hits({ ...recommend, positive: [], negative: [{ id: 1 }] }), FailureError);
});

test('best_score ranks by the likest example, and what is more like a bad one below zero', async (t) => {
  const { hits } = await compass(t);
  const found = await hits({ kind: 'recommend', strategy: 'best_score', positive: [v(1, 0)], negative: [v(0, -1)] });
  const sigmoid = (x: number) => 0.5 * (x / (1 + Math.abs(x)) + 1);
  const expected = [
    [1, sigmoid(1)],
    [5, sigmoid(0.6)],
    [2, sigmoid(0)],
    [3, -sigmoid(0)],
    [4, -sigmoid(1)],
  ] as const;
  assert.deepEqual(
    ids(found),
    expected.map(([id]) => id),
  );
  for (const [i, [, score]] of expected.entries()) assert(Math.abs(found[i]!.score - score) < 1e-6);
});

test('sum_scores adds what is like the good and takes away what is like the bad', async (t) => {
  const { hits } = await compass(t);
  const target = {
    kind: 'recommend',
    strategy: 'sum_scores',
    positive: [v(1, 0), v(0, 1)],
    negative: [{ id: 3 }],
  } as const;
  const found = await hits(target);
  assert.deepEqual(
    found.map(({ id, score }) => [id, Number(score.toFixed(4))]),
    [
      [1, 2],
      [5, 2],
      [2, 1],
      [4, -1],
    ],
  );
  const filter = readFilter({ must_not: [{ has_id: [1] }] }, 'filter');
  assert.deepEqual(ids(await hits(target, { filter, limit: 1 })), [5]);
});

test('diversity picks what is near and yet unlike what was picked, with its own score', async (t) => {
  const { hits } = await compass(t);
  const nearest = (diversity: number, candidates: number): Target => ({
    kind: 'nearest',
    vector: v(0.8, 0.6),
    mmr: { diversity, candidates },
  });
  assert.deepEqual(ids(await hits(nearest(0, 5), { limit: 3 })), [5, 1, 2]);
  const diverse = await hits(nearest(0.9, 5), { limit: 2 });
  assert.deepEqual(ids(diverse), [5, 4]);
  assert(Math.abs(diverse[1]!.score + 0.6) < 1e-6);
  assert.deepEqual(ids(await hits(nearest(0.9, 2), { limit: 5 })), [5, 1]);
});

test('groups come by their best point; a point with two values is in both, one without in none', async (t) => {
  const { groups } = await compass(t);
  const found = (await groups({})).map(({ id, hits }) => [id, ids(hits)]);
  assert.deepEqual(found, [
    ['x', [1, 2]],
    ['y', [5, 2]],
    [7, [4]],
  ]);
  const first = (await groups({ groups: 1, groupSize: 1 })).map(({ id, hits }) => [id, ids(hits)]);
  assert.deepEqual(first, [['x', [1]]]);
});

test('points come in order of a key, from a value on; those without it not at all', async (t) => {
  const { hits } = await compass(t);
  const order = (direction: 'asc' | 'desc', startFrom: number | null = null): Target => ({
    kind: 'order-by',
    order: { key: 'n', direction, startFrom },
  });
  assert.deepEqual(ids(await hits(order('asc'))), [2, 4, 3, 1]);
  assert.deepEqual(ids(await hits(order('desc', 2))), [3, 2, 4]);
  const page = await hits(order('asc'), { limit: 2, offset: 1 });
  assert.deepEqual(page, [
    { id: 4, score: 1, orderValue: 1 },
    { id: 3, score: 1, orderValue: 2 },
  ]);
});

test('a sample has each point once at most, and only those that pass', async (t) => {
  const { hits } = await compass(t);
  assert.deepEqual(ids(await hits({ kind: 'sample' })).toSorted(), [1, 2, 3, 4, 5]);
  const filter = readFilter({ must: [{ has_id: [2, 3, 4] }] }, 'filter');
  const some = ids(await hits({ kind: 'sample' }, { filter, limit: 2 }));
  assert.equal(new Set(some).size, 2);
  assert(some.every((id) => [2, 3, 4].includes(id as number)));
});

test('pages of a filter go in order of ids, integers before UUIDs, each point once', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs'));
  const uuid = (i: number) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
  const points = Array.from({ length: 900 }, (_, i) => (i * 7919) % 900);
  await store.write('alice', 'docs', [
    upsert(
      ...points.map((i) => [i % 3 === 0 ? uuid(i) : i, [1, i], { keep: i % 2 === 0, few: i % 30 === 0 }] as never),
    ),
  ]);
  for (const key of ['keep', 'few']) {
    const filter = readFilter({ must: [{ key, match: { value: true } }] }, 'filter');
    const step = key === 'keep' ? 2 : 30;
    const passing = Array.from({ length: 900 / step }, (_, i) => i * step);
    const expected = [...passing.filter((i) => i % 3 !== 0), ...passing.filter((i) => i % 3 === 0).map(uuid)];
    const seen: unknown[] = [];
    let offset = null;
    do {
      const want = { payload: false, vector: false };
      const page = await store.scroll('alice', 'docs', { filter, limit: 37, offset, orderBy: null, want });
      seen.push(...ids(page.points));
      offset = page.next;
    } while (offset !== null);
    assert.deepEqual(seen, expected);
  }
});

test('an exact search that others come between finds what was there when it began', async (t) => {
  let nowMs = 0;
  // Each look at the clock is a turn later, so that a search suspends at each of its steps.
  const clock = { monotonicMs: () => (nowMs += 10) };
  const { store } = temporaryStore(t, { clock, bounds: { ...callBounds, rowsMs: Number.POSITIVE_INFINITY } });
  // So few that all searches read their rows.
  const count = 250;
  const points = Array.from({ length: count }, (_, id): [number, number[]] => [id, [1, id]]);
  for (const owner of [alice, bob]) {
    await store.create(owner, spec('docs', 2, { distance: 'Manhattan' }));
    await store.write(owner.tenant, 'docs', [upsert(...points)]);
  }
  const order: string[] = [];
  const exact = store.query('alice', 'docs', [near([1, count], { exact: true, limit: 1 })]).then(([found]) => {
    order.push('search');
    return found![0]!.id;
  });
  const removed = store
    .write('alice', 'docs', [{ kind: 'delete', which: { ids: [count - 1] } }])
    .then(() => order.push('own write'));
  const other = store.write('bob', 'docs', [upsert([count, [1, count]])]).then(() => order.push('write of another'));
  assert.equal(await exact, count - 1);
  await Promise.all([removed, other]);
  assert.equal(order[0], 'write of another', order.join());
  const [now] = await store.query('alice', 'docs', [near([1, count], { exact: true, limit: 1 })]);
  assert.equal(now![0]!.id, count - 2);
});
