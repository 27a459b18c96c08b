import { randomUUID } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { CollectionSpec } from '../collection.ts';
import { changedSettings } from '../collection-settings.ts';
import type { RegisteredCollection, VectorRegistry } from '../registry.ts';
import { collectionExists, payloadIndexesMax, tooManyCollections, tooManyPayloadIndexes } from '../vector-refusals.ts';
import type { VectorStore } from '../vector-store.ts';
import { createDeletions, type Deletions } from './deletions.ts';
import { partitionPoints } from './partition-points.ts';
import { Partitions } from './partitions.ts';
import { changeAliases } from './physical-collections.ts';
import { type ConnectionOptions, createConnection, messageOf } from './qdrant-connection.ts';
import { summarize } from './tenant-points.ts';
import { unsupported } from './unsupported-by-qdrant.ts';
import { writeFilter } from './write-filter.ts';

export interface QdrantStoreOptions extends ConnectionOptions {
  registry: VectorRegistry;
  clock: Clock;
  limits: { collectionsPerAccount: number };
  /** For the operator's log. */
  onTrouble(message: string): void;
}

export interface QdrantStore extends VectorStore {
  /** Runs every few seconds; for callers that will not wait. */
  deletions: Deletions;
}

/** Others that change the same settings at the same time. */
const settingTriesMax = 10;

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
  const partitions = new Partitions(connection, registry);
  const deletions = createDeletions({ registry, connection, clock, onTrouble });
  const stopDeleting = every(deletionIntervalMs, deleteDue);

  function deleteDue(): void {
    deletions.run().catch((error: unknown) => onTrouble(`vectors: ${messageOf(error)}`));
  }

  return {
    deletions,
    ...partitionPoints(partitions, clock),
    async create(owner, spec) {
      const { name } = spec;
      const known = await registry.find(owner.tenant, name);
      if (known !== null) throw collectionExists(name);
      const row = { ...owner, ...spec, generation: randomUUID() };
      await partitions.physical.ensure(row);
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
      const partition = await partitions.open(tenant, name);
      const points = await partitions.countOf(partition, writeFilter(partition, null));
      const indexes = await registry.indexes(partition.collection.generation);
      const counted = await Promise.all(
        indexes.map(async ({ key, ...index }) => {
          const present = { must: [partition.mine], must_not: [{ is_empty: { key: `p.${key}` } }] };
          return [key, { ...index, points: await partitions.countOf(partition, present) }] as const;
        }),
      );
      return { ...specOf(partition.collection), points, indexed: points, payloadSchema: Object.fromEntries(counted) };
    },
    async configure(tenant, name, change) {
      for (let tries = 0; tries < settingTriesMax; tries += 1) {
        const { generation, settings } = (await partitions.open(tenant, name)).collection;
        const after = changedSettings(settings, change);
        if ((await registry.configure(generation, settings, after)) === 'done') return;
      }
      throw new FailureError({
        kind: 'overloaded',
        message: `Others keep changing the settings of '${name}'. Retry it.`,
      });
    },
    async indexPayload(tenant, name, key, type, params) {
      const isTextIndex = type === 'text' && Object.keys(params ?? {}).some((one) => one !== 'type');
      if (isTextIndex) throw unsupported('text-index');
      const { collection } = await partitions.open(tenant, name);
      const { generation } = collection;
      if (type === null) await registry.forgetIndex(generation, key);
      else {
        const index = { key, type, ...(params !== undefined && { params }) };
        if ((await registry.index(generation, index, payloadIndexesMax)) === 'full') throw tooManyPayloadIndexes();
      }
      return 0;
    },
    async aliases(tenant, collection) {
      const found = await registry.aliases(tenant, collection);
      if (collection !== null && found.length === 0) await partitions.open(tenant, collection);
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
        return messageOf(error);
      }
    },
    async close() {
      stopDeleting();
      await Promise.all([connection.close(), probe.close()]);
      await deletions.settled();
    },
  };
}

function specOf({ generation: _, tenant: __, account: ___, ...spec }: RegisteredCollection): CollectionSpec {
  return spec;
}
