import { FailureError, invalid } from '../../kernel/failure.ts';
import type { Condition, Filter } from '../filter/filter.ts';
import type { PointId, ScoredPoint } from '../point.ts';
import type { OrderBy, PointQuery, Prefetch, Target } from '../store.ts';
import { type OrderedPoint, orderPoints, readOrdered } from './order-points.ts';
import type { Partition } from './partition.ts';
import type { Reading } from './scan-values.ts';
import { unsupported } from './unsupported.ts';
import { type Searched, searchesOf } from './write-query.ts';

/** Points that an order by a key within another query, or over a prefetch, may be about. */
const namedPointsMax = 100_000;
/** The score that Qdrant gives where nothing is scored. */
const unscored = 1;

/** Gives the lists that Qdrant itself finds. */
export type RunQueries = (queries: readonly PointQuery[]) => Promise<readonly ScoredPoint[][]>;

/** Queries of one call with an order by a payload key in them, which Qdrant has no index for. */
export interface OrderQueries {
  /** The answer to a query whose own order it is. */
  answer(query: PointQuery & { target: OrderTarget }): Promise<ScoredPoint[]>;
  /** The query with the points that such prefetches find in their place. */
  withoutOrders<Query extends Searched>(query: Query): Promise<Query>;
}

type OrderTarget = Extract<Target, { kind: 'order-by' }>;

export function isOrdered<Query extends Searched>(query: Query): query is Query & { target: OrderTarget } {
  return query.target.kind === 'order-by';
}

export function orderQueries(reading: Reading, partition: Partition, run: RunQueries): OrderQueries {
  async function ordered(
    query: Searched & { target: OrderTarget },
    outer: readonly Filter[],
    limit: number,
  ): Promise<readonly OrderedPoint[]> {
    const filters = [...outer, ...ownFilter(query)];
    const among = query.prefetch ?? [];
    if (among.length > 0) filters.push(onlyIds(await foundIds(among, filters)));
    const order: OrderBy = query.target.order;
    return orderPoints(reading, partition, order, allOf(filters), limit);
  }

  /** Points that prefetches find. */
  async function foundIds(prefetches: readonly Prefetch[], outer: readonly Filter[]): Promise<ReadonlySet<PointId>> {
    const ids = new Set<PointId>();
    for (const prefetch of prefetches) {
      const found = isOrdered(prefetch)
        ? await ordered(prefetch, outer, prefetch.limit)
        : await foundByQdrant(prefetch, outer);
      for (const { id } of found) ids.add(id);
      if (ids.size <= namedPointsMax) continue;
      const message = `prefetch: at most ${namedPointsMax} points are put in the order of a key; ask for fewer by limit`;
      throw new FailureError(invalid('prefetch', message));
    }
    return ids;
  }

  async function foundByQdrant(prefetch: Prefetch, outer: readonly Filter[]): Promise<readonly ScoredPoint[]> {
    const query = await replaced(prefetch, outer);
    reading.goOn();
    const want = { payload: false, vector: false } as const;
    const filter = allOf([...outer, ...ownFilter(query)]);
    const [found] = await run([{ ...query, filter, offset: 0, want }]);
    return found!;
  }

  async function replaced<Query extends Searched>(query: Query, outer: readonly Filter[]): Promise<Query> {
    if (!searchesOf(query).slice(1).some(isOrdered)) return query;
    const filters = [...outer, ...ownFilter(query)];
    const prefetch: Prefetch[] = [];
    for (const one of query.prefetch ?? []) {
      prefetch.push(isOrdered(one) ? await named(one, query.target, filters) : await replaced(one, filters));
    }
    return { ...query, prefetch };
  }

  /** A prefetch of the points that an order by a key finds, in no order. */
  async function named(
    prefetch: Prefetch & { target: OrderTarget },
    ranking: Target,
    outer: readonly Filter[],
  ): Promise<Prefetch> {
    // It goes by ranks, and Qdrant takes none that are said to it.
    if (ranking.kind === 'fusion' && ranking.method.kind === 'rrf') throw unsupported('ordered-ranks');
    const filter = onlyIds(await foundIds([prefetch], outer));
    return { target: { kind: 'all' }, filter, limit: prefetch.limit, scoreThreshold: null, exact: false };
  }

  return {
    async answer(query) {
      const { offset, limit, want } = query;
      const entries = await ordered(query, [], offset + limit);
      const points = await readOrdered(reading, partition, entries.slice(offset), want);
      return points.map((point) => ({ ...point, score: unscored }));
    },
    withoutOrders: (query) => replaced(query, []),
  };
}

function ownFilter({ filter }: Searched): Filter[] {
  return filter === null ? [] : [filter];
}

function onlyIds(ids: ReadonlySet<PointId>): Filter {
  return must([{ kind: 'has-id', ids }]);
}

function allOf(filters: readonly Filter[]): Filter | null {
  if (filters.length <= 1) return filters[0] ?? null;
  return must(filters.map((filter) => ({ kind: 'filter', filter })));
}

function must(conditions: readonly Condition[]): Filter {
  return { must: conditions, should: [], mustNot: [], minShould: null };
}
