import { FailureError, invalid } from '../../../kernel/failure.ts';
import { vectorOf } from '../../check-vector.ts';
import type { Filter } from '../../filter/filter.ts';
import { readKeyPath } from '../../filter/read-key-path.ts';
import { havingVector, neighboursBySearch } from '../../neighbours-by-search.ts';
import type { PointId, ScoredPoint, StoredPoint, Want } from '../../point.ts';
import { comparePointIds } from '../../point-id.ts';
import type * as port from '../../vector-store.ts';
import type { NeighbourQuery, Neighbours, WriteOperation } from '../../vector-store.ts';
import { type ExactScore, exactScore, ranked } from '../index/exact-score.ts';
import { mappedInSteps, type Steps, scannedPerStep } from '../index/resumable-steps.ts';
import { createTopK, type TopK } from '../index/top-k.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { AnswerBudget } from '../query/answer-budget.ts';
import { idOrder, orderByValue } from '../query/order-points.ts';
import { rank } from '../query/rank-points.ts';
import { vectorsUsed } from '../query/resolve-input.ts';
import { type SearchParts, searchGroups, searchPoints } from '../query/search-points.ts';
import { pointReader } from '../query/stored-points.ts';
import type { VectorRows, VectorTables } from '../vector-rows.ts';
import type { Job } from '../waiting-jobs.ts';
import { pointsOf, writePoints } from '../write-points.ts';
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

/** One call's operations as a job of the group commit; resolves to the number of the last one. */
function createWriteJob(
  state: ShardState,
  tenant: string,
  name: string,
  operations: readonly WriteOperation[],
): Job<number> {
  const { collections, tables, opened, damage } = state;
  const { bounds, watch, onStoredBytes } = state.options;
  let open: OpenCollection | null = null;
  let slotMark = 0;
  let memoryMark = 0;
  let counts: readonly (readonly [VectorRows, number])[] = [];
  let added = 0;
  let account = '';
  return {
    tenant,
    points: pointsOf(operations),
    run() {
      const row = state.rowOf(tenant, name);
      watch.begin();
      return damage.guard(row, () => {
        open = opened.open(row);
        open.pins++;
        slotMark = open.slots.mark();
        memoryMark = open.memory.mark();
        counts = [...open.vectors.values()].map((vector) => [vector, vector.count()]);
        added = writePoints(tables, open, operations, bounds);
        account = row.account;
        collections.setCounts(row, row.points, row.seq);
        collections.addBytes(row.cid, added);
        return row.seq;
      });
    },
    committed() {
      if (open === null) return;
      open.pins--;
      open.slots.keep();
      open.memory.settle();
      if (added !== 0) onStoredBytes(account, added);
    },
    undone() {
      if (open === null) return;
      open.pins--;
      open.slots.undo(slotMark);
      open.memory.undo(memoryMark);
      for (const [vector, count] of counts) vector.setCount(count);
    },
  };
}

/** Multiplications of one step: some milliseconds. */
const stepWork = 2_000_000;
/** Bytes of vectors in memory at a time: of larger samples some are read again. */
const partBytesMax = 8 * 1024 * 1024;

interface Taken {
  slot: number;
  id: PointId;
  /** Its nearest so far. */
  top: TopK;
}

/**
 * The nearest of each of some points taken by chance, among these, by dense vectors. Each vector is read once, unless
 * together they are too large, and each pair is compared once. In steps, between which the collection may not
 * change. Throws a FailureError (400) where it would take too long.
 */
function* compareSample(
  tables: VectorTables,
  collection: OpenCollection,
  { filter, sample, limit, using }: NeighbourQuery,
  { random, budget, lookUp, workMax }: SearchParts & { workMax: number },
): Steps<Neighbours> {
  const open = { ...collection, lookUp };
  const { spec, value } = vectorsUsed(open, using);
  if (spec.kind !== 'dense') throw new Error('only dense vectors are compared with each other');
  const target = { kind: 'sample' } as const;
  const passing = havingVector(using, filter);
  const drawn = { target, filter: passing, limit: sample, scoreThreshold: null, exact: true };
  const { slots } = yield* rank({ tables, open, random }, drawn, sample);
  boundWork(slots.length, spec.size, workMax);
  const read = pointReader(open.memory.row, open.vectors, { payload: false, vector: false }, budget);
  const nearestMax = Math.min(limit, slots.length - 1);
  const taken = (slot: number): Taken => ({ slot, id: read(slot).id, top: createTopK(nearestMax) });
  const points = yield* mappedInSteps(slots.length < 2 ? [] : slots, taken);
  points.sort((a, b) => comparePointIds(a.id, b.id));
  const score = exactScore(spec.distance);
  yield* comparePairs(points, spec.size, (slot) => value(slot) as Float32Array, score);
  const idOf = new Map(points.map(({ slot, id }) => [slot, id]));
  const nearest = points.map(({ top }) => {
    const found = ranked(top, score.sign);
    return Array.from(found.slots, (slot, at) => ({
      id: idOf.get(slot) as PointId,
      score: found.scores[at] as number,
    }));
  });
  return { ids: points.map(({ id }) => id), nearest };
}

/** Offers each point to all others. */
function* comparePairs(
  points: readonly Taken[],
  size: number,
  vectorOf: (slot: number) => Float32Array,
  { score, sign }: ExactScore,
): Steps<void> {
  const partMax = Math.max(1, Math.floor(partBytesMax / (size * Float32Array.BYTES_PER_ELEMENT)));
  const pairsPerStep = Math.max(1, Math.floor(stepWork / size));
  let pairs = 0;
  for (let from = 0; from < points.length; from += partMax) {
    const read = (point: Taken) => ({ point, vector: vectorOf(point.slot) });
    const part = yield* mappedInSteps(points.slice(from, from + partMax), read);
    for (const [at, one] of points.entries()) {
      if (at <= from) continue;
      const vector = part[at - from]?.vector ?? vectorOf(one.slot);
      for (const { point: earlier, vector: other } of part) {
        if (earlier === one) break;
        const key = score(other, vector) * sign;
        earlier.top.offer(key, one.slot);
        one.top.offer(key, earlier.slot);
        pairs += 1;
        if (pairs % pairsPerStep === 0) yield;
      }
    }
  }
}

function boundWork(count: number, size: number, workMax: number): void {
  const countMax = Math.floor(Math.sqrt((2 * workMax) / size));
  if (count <= countMax) return;
  const message = `sample: at most ${countMax} points of ${size} numbers are compared in one call, got ${count}`;
  throw new FailureError(invalid('sample', message));
}
