import type { Clock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { JsonValue } from '../../kernel/json.ts';
import { checkBatch, formed, vectorOf } from '../check-vector.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { neighboursBySearch } from '../neighbours-by-search.ts';
import type { PointId, ScoredPoint } from '../point.ts';
import { createValueCounts } from '../value-counts.ts';
import { noPoint } from '../vector-refusals.ts';
import type { FacetHit, FacetQuery, PointQuery, Target, VectorStore, WriteOperation } from '../vector-store.ts';
import { orderedPage } from './order-points.ts';
import { isRankedHere, orderQueries } from './order-queries.ts';
import { keyInPayload, type Partition } from './partition.ts';
import type { Partitions } from './partitions.ts';
import type { AnswerRoom } from './qdrant-connection.ts';
import { listIn, objectIn, scoredPoint, selectorOf, storedPoint } from './read-answers.ts';
import { createReading, type Reading, scanTurns, scanValues } from './scan-values.ts';
import { writeFilter } from './write-filter.ts';
import { writeOperations } from './write-operations.ts';
import {
  idsOf,
  inputsOf,
  type Lookups,
  lookupOf,
  type Searched,
  searchesOf,
  writeGroupQuery,
  writeQuery,
} from './write-query.ts';

type PointMethods = Pick<
  VectorStore,
  'write' | 'retrieve' | 'query' | 'queryGroups' | 'neighbours' | 'scroll' | 'count' | 'facet'
>;

/** Writes and finds points of the callers' collections. */
export function partitionPoints(partitions: Partitions, clock: Pick<Clock, 'monotonicMs'>): PointMethods {
  const scans = scanTurns();

  /** Qdrant refuses a query by a point that it does not have, and names that by the id which it has there. */
  async function search(
    partition: Partition,
    path: string,
    body: string,
    queries: readonly Searched[],
    room?: AnswerRoom,
  ) {
    try {
      return await partitions.ask(partition, path, body, 'read', room);
    } catch (error) {
      const ids = error instanceof FailureError && error.failure.kind === 'invalid-request' ? idsOf(queries) : [];
      const [unknown] = ids.length === 0 ? [] : await partitions.missing(partition, ids);
      throw unknown === undefined ? error : noPoint(unknown);
    }
  }

  async function run(
    partition: Partition,
    queries: readonly PointQuery[],
    lookups: Lookups,
    room: AnswerRoom,
  ): Promise<ScoredPoint[][]> {
    const body = `{"searches":[${queries.map((query) => writeQuery(partition, query, lookups)).join(',')}]}`;
    const results = listIn(await search(partition, '/points/query/batch', body, queries, room));
    return results.map((result, at) =>
      listIn(objectIn(result).points).map((point) => scoredPoint(point, queries[at]!.want, partition.collection)),
    );
  }

  return {
    async write(tenant, name, operations) {
      const partition = await partitions.open(tenant, name);
      checkVectors(partition, operations);
      const [unknown] = await partitions.missing(partition, changedBeforeWritten(operations));
      if (unknown !== undefined) throw noPoint(unknown);
      let last = 0;
      for (const body of writeOperations(partition, operations)) {
        const results = listIn(
          await partitions.ask(partition, '/points/batch?wait=true&ordering=strong', body, 'write'),
        );
        const id = objectIn(results.at(-1)).operation_id;
        if (typeof id === 'number') last = id;
      }
      return last;
    },
    async retrieve(tenant, name, ids, want) {
      const partition = await partitions.open(tenant, name);
      const found = new Map(
        (await partitions.lookUp(partition, [...new Set(ids)], want)).map((point) => [point.id, point]),
      );
      return ids.flatMap((id) => found.get(id) ?? []);
    },
    async query(tenant, name, queries) {
      const partition = await partitions.open(tenant, name);
      for (const query of queries) checkInputs(partition, query);
      const lookups = await lookUp(partitions, tenant, queries);
      const reading = createReading(partitions, scans, clock);
      const orders = orderQueries(reading, partition, (batch) => run(partition, batch, lookups, reading.room));
      const byQdrant: PointQuery[] = [];
      const answers: (ScoredPoint[] | null)[] = [];
      for (const query of queries) {
        const isMine = isRankedHere(query);
        if (!isMine) byQdrant.push(await orders.withoutOrders(query));
        answers.push(isMine ? await orders.answer(query) : null);
      }
      const found = byQdrant.length === 0 ? [] : await run(partition, byQdrant, lookups, reading.room);
      return answers.map((answer) => answer ?? found.shift() ?? []);
    },
    async queryGroups(tenant, name, grouped) {
      const partition = await partitions.open(tenant, name);
      checkInputs(partition, grouped);
      const lookups = await lookUp(partitions, tenant, [grouped]);
      const reading = createReading(partitions, scans, clock);
      const orders = orderQueries(reading, partition, (batch) => run(partition, batch, lookups, reading.room));
      if (isRankedHere(grouped)) return orders.answerGroups(grouped);
      const query = await orders.withoutOrders(grouped);
      const body = writeGroupQuery(partition, query, lookups);
      const result = objectIn(await search(partition, '/points/query/groups', body, [query]));
      return listIn(result.groups).map((group) => {
        const { id, hits } = objectIn(group);
        return {
          id: id as string | number,
          hits: listIn(hits).map((point) => scoredPoint(point, query.want, partition.collection)),
        };
      });
    },
    async neighbours(tenant, name, query) {
      return neighboursBySearch((queries) => this.query(tenant, name, queries), query);
    },
    async scroll(tenant, name, { filter, limit, offset, orderBy, want }) {
      const partition = await partitions.open(tenant, name);
      if (orderBy !== null) {
        return orderedPage(createReading(partitions, scans, clock), partition, orderBy, { filter, limit, want });
      }
      const body = JSON.stringify({
        filter: writeFilter(partition, filter),
        // One more: its id, as the caller knows it, begins the next page.
        limit: limit + 1,
        ...(offset !== null && { offset: partition.pointIdOf(offset) }),
        ...selectorOf(want),
      });
      const { points } = objectIn(await partitions.ask(partition, '/points/scroll', body, 'read'));
      const found = listIn(points).map((point) => storedPoint(point, want, partition.collection));
      return { points: found.slice(0, limit), next: found[limit]?.id ?? null };
    },
    async count(tenant, name, filter) {
      const partition = await partitions.open(tenant, name);
      return partitions.countOf(partition, writeFilter(partition, filter));
    },
    async facet(tenant, name, query) {
      const partition = await partitions.open(tenant, name);
      return countValues(createReading(partitions, scans, clock), partition, query);
    },
  };
}

/** The collections that the queries look points up in. */
async function lookUp(partitions: Partitions, tenant: string, queries: readonly Searched[]): Promise<Lookups> {
  const names = new Set(queries.flatMap(searchesOf).flatMap((search) => lookupOf(search)?.collection ?? []));
  return new Map(
    await Promise.all(Array.from(names, async (name) => [name, await partitions.open(tenant, name)] as const)),
  );
}

/** Different values that one call counts, in bytes. */
const countedBytesMax = 64 * 1024 * 1024;

/**
 * Counted here. Qdrant's own facets need an index of the key's type, which tenants of one Qdrant collection may each
 * have of another; they count values of that type alone.
 */
async function countValues(
  reading: Reading,
  partition: Partition,
  { key, filter, limit }: FacetQuery,
): Promise<readonly FacetHit[]> {
  const path = readKeyPath(key, 'key');
  const counts = createValueCounts(path, countedBytesMax);
  const { must, ...others } = writeFilter(partition, filter);
  const passing = { ...others, must: [...must, { must_not: [{ is_empty: { key: keyInPayload(path.text) } }] }] };
  const count = (_id: PointId, values: readonly JsonValue[]) => {
    for (const value of values) counts.add(value);
  };
  return reading.inTurn(partition, async () => {
    await scanValues(reading, partition, path, () => passing, count);
    return counts.top(limit);
  });
}

/**
 * Points that a call changes, by id, without having written them itself before: those must exist already. That the same
 * call deletes one of them by a filter first is not seen here.
 */
function changedBeforeWritten(operations: readonly WriteOperation[]): readonly PointId[] {
  const written = new Set<PointId>();
  const needed = new Set<PointId>();
  const need = (ids: readonly PointId[]) => {
    for (const id of ids) if (!written.has(id)) needed.add(id);
  };
  for (const operation of operations) {
    switch (operation.kind) {
      case 'upsert':
        if (operation.updateMode !== 'update_only') for (const id of operation.points.ids) written.add(id);
        break;
      case 'update-vectors':
        need(operation.ids);
        break;
      case 'set-payload':
      case 'overwrite-payload':
      case 'delete-payload':
        if ('ids' in operation.which) need(operation.which.ids);
        break;
      case 'delete':
        if ('ids' in operation.which) for (const id of operation.which.ids) written.delete(id);
        break;
      case 'clear-payload':
      case 'delete-vectors':
        break;
    }
  }
  return [...needed];
}

/** Throws a FailureError (400): a collection that was made again since the call was read may have other vectors. */
function checkVectors({ collection }: Partition, operations: readonly WriteOperation[]): void {
  for (const operation of operations) {
    if (operation.kind === 'upsert') checkBatch(collection, operation.points);
    else if (operation.kind === 'update-vectors') checkBatch(collection, operation);
  }
}

/** The same for search results. */
function checkInputs({ collection }: Partition, query: Searched): void {
  for (const { target, using = '' } of searchesOf(query)) {
    if (!comparing.has(target.kind)) continue;
    const spec = vectorOf(collection, using, 'using');
    for (const input of inputsOf(target)) if (!('id' in input)) formed(spec, input, 'query');
  }
}

const comparing: ReadonlySet<Target['kind']> = new Set(['nearest', 'recommend', 'discover', 'context']);
