import { vectorOf } from '../../check-vector.ts';
import type { Filter } from '../../filter/filter.ts';
import { readKeyPath } from '../../filter/read-key-path.ts';
import { neighboursBySearch } from '../../neighbours-by-search.ts';
import type { PointId, ScoredPoint, StoredPoint, Want } from '../../point.ts';
import type * as port from '../../vector-store.ts';
import { mappedInSteps, type Steps, scannedPerStep } from '../index/resumable-steps.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { AnswerBudget } from '../query/answer-budget.ts';
import { compareSample } from '../query/compare-sample.ts';
import { idOrder, orderByValue } from '../query/order-points.ts';
import { searchGroups, searchPoints } from '../query/search-points.ts';
import { pointReader } from '../query/stored-points.ts';
import type { VectorTables } from '../vector-rows.ts';
import { createWriteJob } from '../write-job.ts';
import type { ShardState } from './shard-state.ts';

/** Writes and finds points of a shard's collections. */
export function shardPoints(state: ShardState) {
  const { tables, group } = state;

  return {
    ...searchesIn(state),

    write(tenant: string, name: string, operations: readonly port.WriteOperation[]): Promise<number> {
      const write = () => group.add(createWriteJob(state, tenant, name, operations));
      const filters = operations.flatMap(filtersOf);
      if (filters.length === 0) return write();
      // In its transaction, nobody could come in between while columns are made.
      const look = ({ memory }: OpenCollection) => filters.forEach(memory.look);
      return state.withMemory(tenant, name, () => {
        state.reading(tenant, name, look);
        return write();
      });
    },

    retrieve: (tenant: string, name: string, ids: readonly PointId[], want: Want): Promise<StoredPoint[]> =>
      inSteps(state, tenant, name, (open, budget) =>
        readPoints(tables, open, ids, pointReader(rowOnDisk(tables, open), open.vectors, want, budget)),
      ),

    scroll: (tenant: string, name: string, query: port.ScrollQuery): Promise<port.Page> =>
      state.withMemory(tenant, name, () =>
        inSteps(state, tenant, name, (open, budget) => readScroll(tables, open, query, budget)),
      ),

    count: (tenant: string, name: string, filter: Filter | null): Promise<number> =>
      state.withMemory(tenant, name, () =>
        state.reading(tenant, name, ({ row, memory }) => (filter === null ? row.points : memory.count(filter))),
      ),

    facet: (tenant: string, name: string, { key, filter, limit }: port.FacetQuery): Promise<readonly port.FacetHit[]> =>
      state.withMemory(tenant, name, () =>
        inSteps(state, tenant, name, function* ({ memory }) {
          const slots = filter === null ? null : yield* memory.selecting(filter);
          return memory.columns().facet(readKeyPath(key, 'key'), slots, limit);
        }),
      ),
  };
}

/** Searches of a shard's collections. */
function searchesIn(state: ShardState) {
  const { tables } = state;
  const { random, batches, bounds } = state.options;
  const partsOf = (tenant: string, budget: AnswerBudget) => ({ random, budget, lookUp: state.lookUpOf(tenant) });

  const query = (
    tenant: string,
    name: string,
    queries: readonly port.PointQuery[],
  ): Promise<readonly ScoredPoint[][]> =>
    state.withMemory(tenant, name, () =>
      batches.run(tenant, queries, (one, budget) =>
        state.readingInSteps(tenant, name, (open) => searchPoints(tables, open, one, partsOf(tenant, budget))),
      ),
    );

  return {
    query,

    queryGroups: (tenant: string, name: string, grouped: port.GroupQuery): Promise<port.PointGroup[]> =>
      state.withMemory(tenant, name, () =>
        inSteps(state, tenant, name, (open, budget) => searchGroups(tables, open, grouped, partsOf(tenant, budget))),
      ),

    async neighbours(tenant: string, name: string, sampled: port.NeighbourQuery): Promise<port.Neighbours> {
      const { kind } = vectorOf(state.rowOf(tenant, name).spec, sampled.using, 'using');
      // Terms of sparse vectors weigh by their frequency, which an index knows.
      if (kind !== 'dense') return neighboursBySearch((queries) => query(tenant, name, queries), sampled);
      return state.withMemory(tenant, name, () =>
        inSteps(state, tenant, name, (open, budget) =>
          compareSample(tables, open, sampled, { ...partsOf(tenant, budget), workMax: bounds.comparedWork }),
        ),
      );
    },
  };
}

/** A call that reads, in the turns of its tenant. */
async function inSteps<Found>(
  state: ShardState,
  tenant: string,
  name: string,
  read: (open: OpenCollection, budget: AnswerBudget) => Steps<Found>,
): Promise<Found> {
  const [found] = await state.options.batches.run(tenant, [null], (_, budget) =>
    state.readingInSteps(tenant, name, (open) => read(open, budget)),
  );
  return found!;
}

/** Callers that go through all points would leave no room for those that searches find. */
function rowOnDisk({ points }: VectorTables, { cid }: OpenCollection) {
  return (slot: number) => points.row(cid, slot);
}

function* readPoints<Read>(
  { points }: VectorTables,
  { cid }: OpenCollection,
  ids: readonly PointId[],
  read: (slot: number) => Read,
): Steps<Read[]> {
  const slots = yield* mappedInSteps(ids, (id) => points.slotOfId(cid, id));
  return yield* mappedInSteps(
    slots.filter((slot) => slot !== null),
    read,
  );
}

function filtersOf(operation: port.WriteOperation): Filter[] {
  const which = 'which' in operation && 'filter' in operation.which ? [operation.which.filter] : [];
  const condition = 'updateFilter' in operation && operation.updateFilter !== undefined ? [operation.updateFilter] : [];
  return [...which, ...condition];
}

/** One page; by `orderBy` there is no next one, as in Qdrant: `startFrom` goes on from the last value. */
function* readScroll(
  tables: VectorTables,
  open: OpenCollection,
  query: port.ScrollQuery,
  budget: AnswerBudget,
): Steps<port.Page> {
  const { filter, limit, offset, orderBy, pageBytes = Number.POSITIVE_INFINITY } = query;
  const slots = filter === null ? null : yield* open.memory.selecting(filter);
  const read = pointReader(rowOnDisk(tables, open), open.vectors, query.want, budget);
  if (orderBy !== null) {
    const page = orderByValue(open, orderBy, slots, limit);
    const points = yield* mappedInSteps(page, ({ slot, value }) => ({ ...read(slot), orderValue: value }));
    return { points, next: null };
  }
  const found = idOrder(tables.points, open, slots, offset, limit + 1);
  const page: StoredPoint[] = [];
  for (const { slot } of found.slice(0, limit)) {
    if (page.length > 0 && page.length % scannedPerStep === 0) yield;
    page.push(read(slot));
    if (budget.answerBytes >= pageBytes) break;
  }
  return { points: page, next: found[page.length]?.id ?? null };
}
