import { randomUUID } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';
import type { CollectionSpec } from '../collection.ts';
import type { PointId } from '../point.ts';
import {
  collectionExists,
  noCollection,
  noPoint,
  payloadIndexesMax,
  tooManyCollections,
  tooManyPayloadIndexes,
} from '../refusals.ts';
import type { RegisteredCollection, VectorRegistry } from '../registry.ts';
import type { PointQuery, VectorStore } from '../store.ts';
import { changedBeforeWritten, checkInputs, checkVectors } from './changed-points.ts';
import { type ConnectionOptions, createConnection, QdrantRefused, wordsOf } from './connection.ts';
import { createDeletions, type Deletions } from './deletions.ts';
import { type Partition, partitionOf } from './partition.ts';
import { changeAliases, createPhysicalCollections } from './physical-collections.ts';
import { listIn, numberIn, objectIn, scoredPoint, selectorOf, storedPoint } from './read-answers.ts';
import { summarize } from './tenant-points.ts';
import { unsupported } from './unsupported.ts';
import { writeFilter } from './write-filter.ts';
import { writeOperations } from './write-operations.ts';
import { idsOf, type Lookups, lookupOf, searchesOf, writeQuery } from './write-query.ts';

export interface QdrantStoreOptions extends ConnectionOptions {
  registry: VectorRegistry;
  clock: Clock;
  limits: { collectionsPerAccount: number };
  /** For the operator's log. */
  onTrouble(message: string): void;
}

export interface QdrantStore extends VectorStore {
  /** Done by itself every few seconds; for who will not wait. */
  deletions: Deletions;
}

const deletionIntervalMs = 10_000;
/** A probe waits for no longer. */
const troubleTimeoutMs = 2_000;

/**
 * Vectors in Qdrant (1.19's REST API, one node or a cluster), whose collections are the registry's. One Qdrant
 * collection serves all of one size and distance. What a call writes is done in order; of a call that Qdrant breaks off
 * (503), or that is larger than one request, the first operations may have been done: sent again, it ends whole.
 */
export function createQdrantStore(options: QdrantStoreOptions): QdrantStore {
  const { registry, clock, limits, onTrouble } = options;
  const connection = createConnection(options);
  const probe = createConnection({ ...options, timeouts: { connectMs: troubleTimeoutMs, readMs: troubleTimeoutMs } });
  const physical = createPhysicalCollections(connection);
  const deletions = createDeletions({ registry, connection, clock, onTrouble });
  const timer = setInterval(deleteDue, deletionIntervalMs);
  timer.unref();

  function deleteDue(): void {
    deletions.run().catch((error: unknown) => onTrouble(`vectors: ${wordsOf(error)}`));
  }

  async function open(tenant: string, name: string): Promise<Partition> {
    const collection = await registry.find(tenant, name);
    if (collection === null) throw noCollection(name);
    return partitionOf(collection);
  }

  async function ask(partition: Partition, path: string, body: string, use: 'read' | 'write'): Promise<unknown> {
    try {
      return await connection.ask({ method: 'POST', path: `/collections/${partition.physical}${path}`, body, use });
    } catch (error) {
      throw error instanceof QdrantRefused ? await inCallersWords(partition, error) : error;
    }
  }

  /** Qdrant's complaint about a call that was found right here, without the names that things have there. */
  async function inCallersWords(partition: Partition, { status, message }: QdrantRefused): Promise<FailureError> {
    if (status === 404 && !(await physical.exists(partition.physical))) {
      const why = `its Qdrant collection ${partition.physical} is missing`;
      return new FailureError({
        kind: 'overloaded',
        message: `The vector store cannot serve this collection: ${why}.`,
      });
    }
    if (status === 413) return new FailureError(invalid(null, 'The call is larger than Qdrant takes: split it.'));
    const said = message.replaceAll(partition.collection.generation, '…').replaceAll(/\bp\.(?=["\w])/g, '');
    return new FailureError(invalid(null, `Qdrant refused the call: ${said}`));
  }

  /** Ids among `ids` that stand for no point. */
  async function missing(partition: Partition, ids: readonly PointId[]): Promise<readonly PointId[]> {
    const there = new Set<PointId>();
    for (let from = 0; from < ids.length; from += lookedUpMax) {
      const points = await lookUp(partition, ids.slice(from, from + lookedUpMax), { payload: false, vector: false });
      for (const point of points) there.add(point.id);
    }
    return ids.filter((id) => !there.has(id));
  }

  async function lookUp(partition: Partition, ids: readonly PointId[], want: Parameters<VectorStore['retrieve']>[3]) {
    const body = JSON.stringify({ ids: ids.map(partition.pointIdOf), ...selectorOf(want) });
    return listIn(await ask(partition, '/points', body, 'read')).map((point) =>
      storedPoint(point, want, partition.collection),
    );
  }

  async function lookedUp(tenant: string, queries: readonly PointQuery[]): Promise<Lookups> {
    const names = new Set(queries.flatMap(searchesOf).flatMap((search) => lookupOf(search)?.collection ?? []));
    return new Map(await Promise.all(Array.from(names, async (name) => [name, await open(tenant, name)] as const)));
  }

  async function countOf(partition: Partition, filter: unknown): Promise<number> {
    const body = JSON.stringify({ filter, exact: true });
    return numberIn(objectIn(await ask(partition, '/points/count', body, 'read')).count);
  }

  return {
    deletions,
    async create(owner, spec) {
      const { name } = spec;
      const known = await registry.find(owner.tenant, name);
      if (known !== null) throw collectionExists(name);
      const row = { ...owner, ...spec, generation: randomUUID() };
      await physical.ensure(row);
      const made = await registry.create(row, limits.collectionsPerAccount);
      if (made === 'exists') throw collectionExists(name);
      if (made === 'full') throw tooManyCollections(limits.collectionsPerAccount);
    },
    async drop(tenant, collection) {
      const dropped = await registry.drop(tenant, collection, clock.wallMs());
      if (dropped !== null) deleteDue();
      return dropped !== null;
    },
    async list(tenant) {
      return (await registry.list(tenant)).map(specOf);
    },
    async find(tenant, collection) {
      const row = await registry.find(tenant, collection);
      return row === null ? null : specOf(row);
    },
    async inspect(tenant, name) {
      const partition = await open(tenant, name);
      const points = await countOf(partition, writeFilter(partition, null));
      const indexes = await registry.indexes(partition.collection.generation);
      const counted = await Promise.all(
        indexes.map(async ({ key, type }) => {
          const present = { must: [partition.mine], must_not: [{ is_empty: { key: `p.${key}` } }] };
          return [key, { type, points: await countOf(partition, present) }] as const;
        }),
      );
      return { ...specOf(partition.collection), points, indexed: points, payloadSchema: Object.fromEntries(counted) };
    },
    async write(tenant, name, operations) {
      const partition = await open(tenant, name);
      checkVectors(partition, operations);
      const [unknown] = await missing(partition, changedBeforeWritten(operations));
      if (unknown !== undefined) throw noPoint(unknown);
      let last = 0;
      for (const body of writeOperations(partition, operations)) {
        const results = listIn(await ask(partition, '/points/batch?wait=true&ordering=strong', body, 'write'));
        const id = objectIn(results.at(-1)).operation_id;
        if (typeof id === 'number') last = id;
      }
      return last;
    },
    async retrieve(tenant, name, ids, want) {
      const partition = await open(tenant, name);
      const found = new Map((await lookUp(partition, [...new Set(ids)], want)).map((point) => [point.id, point]));
      return ids.flatMap((id) => found.get(id) ?? []);
    },
    async query(tenant, name, queries) {
      const partition = await open(tenant, name);
      for (const query of queries) checkInputs(partition, query);
      const lookups = await lookedUp(tenant, queries);
      const body = `{"searches":[${queries.map((query) => writeQuery(partition, query, lookups)).join(',')}]}`;
      try {
        const results = listIn(await ask(partition, '/points/query/batch', body, 'read'));
        return results.map((result, at) =>
          listIn(objectIn(result).points).map((point) => scoredPoint(point, queries[at]!.want, partition.collection)),
        );
      } catch (error) {
        // Qdrant refuses a query by a point that it does not have, and names that by the id which it has there.
        const ids = error instanceof FailureError && error.failure.kind === 'invalid-request' ? idsOf(queries) : [];
        const [unknown] = ids.length === 0 ? [] : await missing(partition, ids);
        throw unknown === undefined ? error : noPoint(unknown);
      }
    },
    async queryGroups(tenant, name) {
      await open(tenant, name);
      throw unsupported('groups');
    },
    async scroll(tenant, name, { filter, limit, offset, orderBy, want }) {
      const partition = await open(tenant, name);
      if (orderBy !== null) throw unsupported('order-by');
      const body = JSON.stringify({
        filter: writeFilter(partition, filter),
        // One more: its id, as the caller knows it, begins the next page.
        limit: limit + 1,
        ...(offset !== null && { offset: partition.pointIdOf(offset) }),
        ...selectorOf(want),
      });
      const { points } = objectIn(await ask(partition, '/points/scroll', body, 'read'));
      const found = listIn(points).map((point) => storedPoint(point, want, partition.collection));
      return { points: found.slice(0, limit), next: found[limit]?.id ?? null };
    },
    async count(tenant, name, filter) {
      const partition = await open(tenant, name);
      return countOf(partition, writeFilter(partition, filter));
    },
    async facet(tenant, name) {
      await open(tenant, name);
      throw unsupported('facet');
    },
    async indexPayload(tenant, name, key, type, params) {
      if (params !== undefined && Object.keys(params).some((one) => one !== 'type')) throw unsupported('text-index');
      const { collection } = await open(tenant, name);
      if ((await registry.index(collection.generation, key, type, payloadIndexesMax)) === 'full') {
        throw tooManyPayloadIndexes();
      }
      return 0;
    },
    async aliases(tenant, collection) {
      const found = await registry.aliases(tenant, collection);
      if (collection !== null && found.length === 0) await open(tenant, collection);
      return found;
    },
    changeAliases: (tenant, changes) => changeAliases(registry, tenant, changes),
    tenants: () => summarize(registry, connection),
    async adopt(from, to) {
      const adopted = await registry.adopt(from, to);
      if (adopted.kind === 'exists') throw collectionExists(adopted.name);
      return { collections: adopted.collections };
    },
    async purge(tenant) {
      const purged = await registry.purge(tenant, clock.wallMs());
      if (purged.length > 0) deleteDue();
      return { collections: purged.length };
    },
    async trouble() {
      try {
        await probe.ask({ method: 'GET', path: '/collections', use: 'read' });
        return null;
      } catch (error) {
        return wordsOf(error);
      }
    },
    async close() {
      clearInterval(timer);
      await Promise.all([connection.close(), probe.close()]);
      await deletions.settled();
    },
  };
}

/** Points of one look whether they exist. */
const lookedUpMax = 1_000;

function specOf({ name, size, distance, embeddingModel, named }: RegisteredCollection): CollectionSpec {
  return { name, size, distance, embeddingModel, ...(named !== undefined && { named }) };
}
