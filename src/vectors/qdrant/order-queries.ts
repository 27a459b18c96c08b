import { FailureError, invalid } from '../../kernel/failure.ts';
import { knownEntry } from '../../kernel/known-entry.ts';
import { fuse } from '../embedded/query/fuse-results.ts';
import { allOf, type Filter, filterOf } from '../filter/filter.ts';
import { differentValues } from '../filter/reach.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { firstLook, groupPoints, isGroup, nextLook } from '../group-points.ts';
import type { PointId, ScoredPoint } from '../point.ts';
import type { Fusion, GroupQuery, PointGroup, PointQuery, Prefetch, Target } from '../vector-store.ts';
import { orderPoints, withPoints } from './order-points.ts';
import type { Partition } from './partition.ts';
import { type Reading, selectable } from './scan-values.ts';
import { type Searched, searchesOf } from './write-query.ts';

/** Points that orders by keys within other queries, or over prefetches, are about, those of one call together. */
const namedPointsMax = 100_000;
/** The score that Qdrant gives where nothing is scored. */
const unscored = 1;

/** Gives the lists that Qdrant itself finds. */
export type RunQueries = (queries: readonly PointQuery[]) => Promise<readonly ScoredPoint[][]>;

type OrderTarget = Extract<Target, { kind: 'order-by' }>;

/** Whether a query's own ranks depend on the order of a key: those of Qdrant's queries do not. */
export function isRankedHere({ target, prefetch = [] }: Searched): boolean {
  return target.kind === 'order-by' || (target.kind === 'fusion' && prefetch.some(isRankedHere));
}

/** Queries of one call with an order by a payload key in them, which Qdrant has no index for. */
export function orderQueries(reading: Reading, partition: Partition, run: RunQueries) {
  let named = 0;

  function rankHere(query: Searched, outer: readonly Filter[], limit: number): Promise<RankedHere> {
    const { target } = query;
    if (target.kind === 'order-by') return inOrder(query, target, outer, limit);
    if (target.kind === 'fusion') return fused(query, target.method, outer, limit);
    throw new Error(`Qdrant ranks ${target.kind} itself`);
  }

  async function inOrder(
    query: Searched,
    { order }: OrderTarget,
    outer: readonly Filter[],
    limit: number,
  ): Promise<RankedHere> {
    const filters = [...outer, ...filtersOf(query)];
    const prefetches = query.prefetch ?? [];
    if (prefetches.length > 0) filters.push(onlyIds(await foundIds(prefetches, filters)));
    const entries = await orderPoints(reading, partition, order, allOf(filters), limit);
    return entries.map((entry) => ({ ...entry, score: unscored }));
  }

  async function fused(query: Searched, method: Fusion, outer: readonly Filter[], limit: number): Promise<RankedHere> {
    const filters = [...outer, ...filtersOf(query)];
    const lists: RankedHere[] = [];
    for (const one of query.prefetch ?? []) lists.push(await found(one, filters));
    const threshold = query.scoreThreshold ?? Number.NEGATIVE_INFINITY;
    return fuseById(lists, method, limit).filter(({ score }) => score >= threshold);
  }

  async function found(prefetch: Prefetch, outer: readonly Filter[]): Promise<RankedHere> {
    const ranked = await (isRankedHere(prefetch)
      ? rankHere(prefetch, outer, prefetch.limit)
      : foundByQdrant(prefetch, outer));
    named += ranked.length;
    if (named <= namedPointsMax) return ranked;
    const message = `prefetch: at most ${namedPointsMax} points a call go with an order by a key; ask for fewer by limit`;
    throw new FailureError(invalid('prefetch', message));
  }

  async function foundIds(prefetches: readonly Prefetch[], outer: readonly Filter[]): Promise<ReadonlySet<PointId>> {
    const ids = new Set<PointId>();
    for (const prefetch of prefetches) {
      for (const { id } of await found(prefetch, outer)) ids.add(id);
    }
    return ids;
  }

  async function foundByQdrant(prefetch: Prefetch, outer: readonly Filter[]): Promise<RankedHere> {
    const query = await replaced(prefetch, outer);
    reading.goOn();
    const want = { payload: false, vector: false } as const;
    const filter = allOf([...outer, ...filtersOf(query)]);
    const [points = []] = await run([{ ...query, filter, offset: 0, want }]);
    return points;
  }

  async function replaced<Query extends Searched>(query: Query, outer: readonly Filter[]): Promise<Query> {
    if (!searchesOf(query).slice(1).some(isRankedHere)) return query;
    const filters = [...outer, ...filtersOf(query)];
    const prefetch: Prefetch[] = [];
    for (const one of query.prefetch ?? []) {
      prefetch.push(isRankedHere(one) ? await byIds(one, filters) : await replaced(one, filters));
    }
    return { ...query, prefetch };
  }

  /** A prefetch of the same points, in no order: the query around it ranks them anew. */
  async function byIds(prefetch: Prefetch, outer: readonly Filter[]): Promise<Prefetch> {
    const filter = onlyIds(await foundIds([prefetch], outer));
    return { target: { kind: 'all' }, filter, limit: prefetch.limit, scoreThreshold: null, exact: false };
  }

  return {
    /** The answer to a query that Qdrant cannot rank. */
    async answer(query: PointQuery): Promise<ScoredPoint[]> {
      const { offset, limit, want } = query;
      const ranked = await rankHere(query, [], offset + limit);
      const points = await withPoints(reading, partition, ranked.slice(offset), want);
      return points.map(({ entry, point }) => ({ ...point, ...scoreOf(entry) }));
    },
    answerGroups: (query: GroupQuery): Promise<PointGroup[]> =>
      groupRanked(reading, partition, query, (limit) => rankHere(query, [], limit)),
    /** One that Qdrant can rank, with the points that other prefetches find in their place. */
    withoutOrders: <Query extends Searched>(query: Query): Promise<Query> => replaced(query, []),
  };
}

function scoreOf({ score, value }: RankedHere[number]): { score: number; orderValue?: number } {
  return value === undefined ? { score } : { score, orderValue: value };
}

function fuseById(lists: readonly RankedHere[], method: Fusion, limit: number): RankedHere {
  const numbers = new Map<PointId, number>();
  for (const { id } of lists.flat()) if (!numbers.has(id)) numbers.set(id, numbers.size);
  const sources = lists.map((list) => ({
    slots: Uint32Array.from(list, ({ id }) => knownEntry(numbers, id)),
    scores: Float64Array.from(list, ({ score }) => score),
  }));
  const ids = [...numbers.keys()];
  const { slots, scores } = fuse(sources, method, limit);
  return Array.from(slots, (slot, i) => ({ id: ids[slot]!, score: scores[i]! }));
}

function filtersOf({ filter }: Searched): Filter[] {
  return filter === null ? [] : [filter];
}

function onlyIds(ids: ReadonlySet<PointId>): Filter {
  return filterOf('must', [{ kind: 'has-id', ids }]);
}

/** Points in an order that was made here, best first. */
type RankedHere = readonly { id: PointId; score: number; value?: number }[];

/** Points that are looked at for groups. */
const groupedPointsMax = 100_000;

/** The groups of the points from `rank`, which is asked for more until they are whole. */
async function groupRanked(
  reading: Reading,
  partition: Partition,
  query: GroupQuery,
  rank: (limit: number) => Promise<RankedHere>,
): Promise<PointGroup[]> {
  for (let lookMax = query.groups * query.groupSize * firstLook; ; lookMax *= nextLook) {
    const limit = Math.min(lookMax, groupedPointsMax);
    const ranked = await rank(limit);
    const { groups, whole } = groupPoints(await groupValues(reading, partition, ranked, query.groupBy), query);
    if (!whole && ranked.length === limit && limit < groupedPointsMax) continue;
    const entries = [...groups].flatMap(([group, places]) => places.map((at) => ({ group, ...ranked[at]! })));
    const hits = new Map<string | number, ScoredPoint[]>();
    for (const { entry, point } of await withPoints(reading, partition, entries, query.want)) {
      const { group, score } = entry;
      hits.set(group, [...(hits.get(group) ?? []), { ...point, score }]);
    }
    return Array.from(hits, ([id, points]) => ({ id, hits: points }));
  }
}

/** Values of the key that each may be in a group by. */
async function groupValues(
  reading: Reading,
  partition: Partition,
  ranked: RankedHere,
  groupBy: string,
): Promise<(string | number)[][]> {
  const key = readKeyPath(groupBy, 'group_by');
  const want = { payload: { include: [selectable(key)] }, vector: false } as const;
  const values = new Map<PointId, (string | number)[]>();
  for (const { entry, point } of await withPoints(reading, partition, ranked, want)) {
    values.set(entry.id, differentValues(point.payload ?? null, key.steps).filter(isGroup));
  }
  return ranked.map(({ id }) => {
    const groups = values.get(id) ?? [];
    // A point is in an order once for each of its values, and in a group once.
    values.delete(id);
    return groups;
  });
}
