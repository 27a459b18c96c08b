import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonValue } from '../../src/kernel/json.ts';
import { seededRandom } from '../../src/kernel/random.ts';
import type { Filter } from '../../src/vectors/filter/filter.ts';
import type { PointId } from '../../src/vectors/point.ts';
import type { FacetHit, OrderBy, PointQuery, VectorStore } from '../../src/vectors/vector-store.ts';
import { vectorDrivers } from './vector-drivers.ts';
import { filled, spec, tenant } from './vector-points.ts';
import { everything, idsOnly, query, type TestPoint, upsert, where } from './vector-suite.ts';

const time = '2024-02-03T04:05:06.000007Z';
const microsecondsOf = { [time]: Date.parse('2024-02-03T04:05:06Z') * 1_000 + 7, '1970-01-01 00:00': 0 };
/** Values of every kind, with those that have no place in an order or among facets. */
const kinds: readonly (JsonValue | undefined)[] = [
  ...[3, -7, 2.5, 0, 1e300, 'red', 'blue', time, '1970-01-01 00:00', true, false, null, undefined],
  ...[[1, 9, 9, 'red'], [], [[4]], { deep: 3 }],
];

const random = seededRandom(77);
/** More than a first page holds (1,000), so that the known points already leave out some of the others. */
const many: readonly TestPoint[] = Array.from({ length: 2_300 }, (_, id) => {
  const value = id < 1_200 ? Math.floor(random.next() * 500) : kinds[id % kinds.length];
  return {
    id,
    vector: [random.next(), 0, 0, 1],
    payload: { odd: id % 2 === 1, list: [{ v: id }, {}], ...(value !== undefined && { v: value }) },
  };
});

type Entry = { id: PointId; value: number };

function valuesOf({ payload }: TestPoint): JsonValue[] {
  const value = payload?.v;
  return value === undefined ? [] : [...new Set(Array.isArray(value) ? value : [value])];
}

/** The expected order, plainly. */
function entriesOf(points: readonly TestPoint[]): Entry[] {
  const numberOf = (value: JsonValue) =>
    typeof value === 'number' ? value : ((microsecondsOf as Record<string, number>)[String(value)] ?? null);
  return points.flatMap((point) =>
    valuesOf(point).flatMap((value) => {
      const number = numberOf(value);
      return number === null ? [] : [{ id: point.id, value: number }];
    }),
  );
}

function ordered(points: readonly TestPoint[], { direction, startFrom }: Omit<OrderBy, 'key'>): Entry[] {
  const sign = direction === 'asc' ? 1 : -1;
  const start = typeof startFrom === 'string' ? (microsecondsOf as Record<string, number>)[startFrom]! : startFrom;
  return entriesOf(points)
    .filter(({ value }) => start === null || sign * (value - start) >= 0)
    .toSorted((a, b) => sign * (a.value - b.value));
}

/** Equal values have an order of the engine's own: their places on a page are not compared. */
function assertOrder(found: readonly { id: PointId; orderValue?: number | string }[], all: Entry[], limit: number) {
  assert.deepEqual(
    found.map(({ orderValue }) => orderValue),
    all.slice(0, limit).map(({ value }) => value),
  );
  const known = new Set(all.map(({ id, value }) => `${id} ${value}`));
  for (const { id, orderValue } of found) assert.ok(known.delete(`${id} ${orderValue}`), `${id} at ${orderValue}`);
}

async function scrolled(store: VectorStore, filter: Filter | null, order: Omit<OrderBy, 'key'>, limit: number) {
  const orderBy = { key: 'v', ...order };
  const page = await store.scroll(tenant, 'docs', { filter, limit, offset: null, orderBy, want: idsOnly });
  assert.equal(page.next, null);
  return page.points;
}

for (const driver of vectorDrivers) {
  const { name } = driver;

  test(`${name}: pages stand in the order of a key, whatever its values are and however many have none`, async (t) => {
    const store = await filled(await driver.open(t), many);
    const odd = many.filter(({ payload }) => payload?.odd === true);
    const isOdd = where({ must: { key: 'odd', match: { value: true } } });
    for (const direction of ['asc', 'desc'] as const) {
      for (const startFrom of [null, 100, 2.5, time, '1970-01-01 00:00'] as const) {
        for (const limit of [1, 40, 3_000]) {
          const order = { direction, startFrom };
          assertOrder(await scrolled(store, null, order, limit), ordered(many, order), limit);
          assertOrder(await scrolled(store, isOdd, order, limit), ordered(odd, order), limit);
        }
      }
    }
    const nothing = { key: 'odd', direction: 'asc', startFrom: null } as const;
    const page = await store.scroll(tenant, 'docs', {
      filter: null,
      limit: 9,
      offset: null,
      orderBy: nothing,
      want: idsOnly,
    });
    assert.deepEqual(page.points, []);
  });

  test(`${name}: points of an order come with what is wanted of them, also from within arrays`, async (t) => {
    const store = await filled(await driver.open(t), many.slice(0, 1_100));
    const orderBy = { key: 'list[0].v', direction: 'desc', startFrom: null } as const;
    const page = await store.scroll(tenant, 'docs', {
      filter: null,
      limit: 2,
      offset: null,
      orderBy,
      want: everything,
    });
    assert.deepEqual(
      page.points.map(({ vector, ...rest }) => ({ ...rest, size: vector?.length })),
      [1_099, 1_098].map((id) => ({ id, payload: many[id]!.payload, size: 4, orderValue: id })),
    );
    const all = { ...orderBy, key: 'list[].v' };
    const [found] = await store.query(tenant, 'docs', [
      query([], { target: { kind: 'order-by', order: all }, limit: 2, offset: 1, want: everything }),
    ]);
    assert.deepEqual(
      found!.map(({ id, score, orderValue, payload }) => [id, score, orderValue, payload]),
      [1_098, 1_097].map((id) => [id, 1, id, many[id]!.payload]),
    );
  });

  test(`${name}: an order may be over what prefetches found, and what it finds be ranked anew`, async (t) => {
    const store = await filled(await driver.open(t), many);
    const order = { key: 'list[].v', direction: 'desc', startFrom: null } as const;
    const byOrder = { kind: 'order-by', order } as const;
    const isOdd = where({ must: { key: 'odd', match: { value: true } } });
    const { offset: _offset, want: _want, ...nearest } = query([1, 0, 0, 0], { limit: 5, exact: true });
    const latest = { ...nearest, target: byOrder, limit: 6 };
    const asked: readonly PointQuery[] = [
      query([], { target: byOrder, prefetch: [nearest], limit: 9 }),
      query([1, 0, 0, 0], { prefetch: [latest], filter: isOdd, limit: 3 }),
      query([1, 0, 0, 0], { limit: 1, exact: true }),
      query([], { target: byOrder, prefetch: [{ ...nearest, prefetch: [latest], limit: 4 }], limit: 9 }),
    ];
    const found = (await store.query(tenant, 'docs', asked)).map((list) => list.map(({ id }) => id as number));
    const nearestFirst = (points: readonly TestPoint[]) =>
      points.toSorted((a, b) => b.vector[0]! - a.vector[0]!).map(({ id }) => id as number);
    const descending = (ids: readonly number[]) => ids.toSorted((a, b) => b - a);
    const latestOdd = many.filter(({ payload }) => payload?.odd === true).slice(-6);
    assert.deepEqual(found, [
      descending(nearestFirst(many).slice(0, 5)),
      nearestFirst(latestOdd).slice(0, 3),
      nearestFirst(many).slice(0, 1),
      descending(nearestFirst(many.slice(-6)).slice(0, 4)),
    ]);
  });

  test(`${name}: an order is merged with other lists by rank, and put in groups`, async (t) => {
    const store = await filled(await driver.open(t), many);
    const order = { key: 'list[].v', direction: 'desc', startFrom: null } as const;
    const byOrder = { kind: 'order-by', order } as const;
    const isOdd = where({ must: { key: 'odd', match: { value: true } } });
    const { offset: _offset, want: _want, ...nearest } = query([1, 0, 0, 0], { limit: 4, exact: true });
    const method = { kind: 'rrf', k: 2, weights: [2.7, 1] } as const;
    const merged = { kind: 'fusion', method } as const;
    const latest = { ...nearest, target: byOrder };
    const [found, nested] = await store.query(tenant, 'docs', [
      query([], {
        target: merged,
        prefetch: [latest, nearest],
        filter: isOdd,
        limit: 5,
        offset: 1,
        scoreThreshold: 0.3,
      }),
      query([1, 0, 0, 0], {
        prefetch: [{ ...nearest, target: merged, prefetch: [latest, nearest], limit: 3 }],
        limit: 9,
      }),
    ]);
    const odd = many.filter(({ payload }) => payload?.odd === true);
    const nearestFirst = (points: readonly TestPoint[]) => points.toSorted((a, b) => b.vector[0]! - a.vector[0]!);
    const scores = (points: readonly TestPoint[]) => {
      const sums = new Map<PointId, number>();
      const lists: [number, readonly TestPoint[]][] = [
        [2.7, points.slice(-4).toReversed()],
        [1, nearestFirst(points).slice(0, 4)],
      ];
      for (const [weight, list] of lists) {
        for (const [at, { id }] of list.entries()) sums.set(id, (sums.get(id) ?? 0) + 1 / ((at + 1) / weight + 1));
      }
      return [...sums].toSorted(([, a], [, b]) => b - a);
    };
    const rounded = (score: number) => Math.round(score * 1e5);
    assert.deepEqual(
      found!.map(({ id, score }) => [id, rounded(score)]),
      scores(odd)
        .filter(([, score]) => score >= 0.3)
        .slice(1, 6)
        .map(([id, score]) => [id, rounded(score)]),
    );
    const best = new Set(
      scores(many)
        .slice(0, 3)
        .map(([id]) => id),
    );
    assert.deepEqual(
      nested!.map(({ id }) => id),
      nearestFirst(many.filter(({ id }) => best.has(id))).map(({ id }) => id),
    );

    const { limit: _limit, ...grouped } = latest;
    const byV = await store.queryGroups(tenant, 'docs', {
      ...grouped,
      want: everything,
      groupBy: 'list[0].v',
      groups: 3,
      groupSize: 2,
    });
    assert.deepEqual(
      byV.map(({ id, hits }) => [id, hits.map((hit) => [hit.id, hit.score, hit.payload])]),
      [2_299, 2_298, 2_297].map((id) => [id, [[id, 1, many[id]!.payload]]]),
    );
    assert.deepEqual(
      await store.queryGroups(tenant, 'docs', { ...grouped, want: idsOnly, groupBy: 'odd', groups: 3, groupSize: 2 }),
      [],
    );
  });

  test(`${name}: facets are values with how many points have them, most first, whatever else is there`, async (t) => {
    const store = await filled(await driver.open(t), many);
    const countsOf = (points: readonly TestPoint[]) => {
      const counts = new Map<JsonValue, number>();
      for (const value of points.flatMap(valuesOf)) {
        const isFacet = typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value);
        if (isFacet) counts.set(value, (counts.get(value) ?? 0) + 1);
      }
      return counts;
    };
    const ask = (key: string, filter: Filter | null, limit: number) =>
      store.facet(tenant, 'docs', { key, filter, limit });
    const mapOf = (hits: readonly FacetHit[]) => new Map(hits.map(({ value, count }) => [value, count]));
    const all = await ask('v', null, 10_000);
    assert.deepEqual(mapOf(all), countsOf(many));
    assert.deepEqual(
      all.map(({ count }) => count),
      all.map(({ count }) => count).toSorted((a, b) => b - a),
    );
    assert.deepEqual(await ask('v', null, 7), all.slice(0, 7));
    const odd = many.filter(({ payload }) => payload?.odd === true);
    const isOdd = where({ must: { key: 'odd', match: { value: true } } });
    assert.deepEqual(mapOf(await ask('v', isOdd, 10_000)), countsOf(odd));
    assert.deepEqual(await ask('list[1].v', null, 10), []);
    assert.equal((await ask('list[].v', null, 10_000)).length, many.length);
  });

  test(`${name}: neither an order nor facets show what another tenant has`, async (t) => {
    const store = await filled(await driver.open(t), many.slice(0, 20));
    const other = { tenant: driver.tenants[1], account: 'beta' };
    await store.create(other, spec);
    await store.write(other.tenant, 'docs', [
      upsert([{ id: 1, vector: [1, 0, 0, 0], payload: { v: -1_000, odd: 'theirs' } }]),
    ]);
    const order = { direction: 'asc', startFrom: null } as const;
    const found = await scrolled(store, null, order, 100);
    assert.equal(found.length, 20);
    assert.ok(found.every(({ orderValue }) => orderValue !== -1_000));
    const facets = await store.facet(tenant, 'docs', { key: 'odd', filter: null, limit: 10 });
    assert.deepEqual(facets.map(({ value }) => value).toSorted(), [false, true]);
    const anyone = where({ should: [{ key: 'odd', match: { value: 'theirs' } }, { must_not: [{ has_id: [1] }] }] });
    const mine = await store.facet(tenant, 'docs', { key: 'odd', filter: anyone, limit: 10 });
    assert.deepEqual(mine.map(({ value }) => value).toSorted(), [false, true]);
  });
}
