import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { type Random, systemRandom } from '../../kernel/random.ts';
import { createWorkTurns, type WorkTurns } from '../../kernel/sharing/work-turns.ts';
import { moveTenant } from '../move-tenant.ts';
import type { VectorStore } from '../vector-store.ts';
import { type CallBounds, callBounds } from './call-bounds.ts';
import type { PassCores } from './index/pass-threads.ts';
import { IndexMaking } from './index-making.ts';
import { createMemoryBudget } from './memory-budget.ts';
import { createQueryBatches } from './query/query-batches.ts';
import { createRowWatch } from './row-watch.ts';
import { OpenShards } from './shards/open-shards.ts';
import type { WalBounds } from './shards/shard-file.ts';
import { shardOf } from './shards/shard-of.ts';

export { allShards } from './shards/shard-of.ts';

export interface EmbeddedOptions {
  /** The data folder; vectors lie in its `vectors` folder, and nothing that callers say names a file there. */
  dataDir: string;
  /** The shards that are this store's; no other may open them. */
  shards: readonly number[];
  /** For indexes and payload columns of all of them. */
  memoryBytes: number;
  limit: CollectionLimit;
  /** Cores for passes over large indexes. Absent: one. */
  passCores?: PassCores;
  /** Messages for the operator, once each. */
  report(message: string): void;
  random?: Random;
  /** Bounds of each shard's write-ahead log. */
  wal?: WalBounds;
  clock?: Pick<Clock, 'monotonicMs'>;
  /** Turns at the thread, which all its calls take. Default: the store's alone. */
  turns?: WorkTurns;
  bounds?: CallBounds;
  /** How often indexes are looked at that may be kept on the disk; default: 10 s. Null: none is kept, nor at its end. */
  imagesEveryMs?: number | null;
}

const usualImagesEveryMs = 10_000;
/** Longest that images are written while the store closes. */
const lastImagesMs = 3_000;

/** Collections that an account may have, over all its tenants and shards; asked when one is about to be made. */
export interface CollectionLimit {
  /** Takes one of the account's places; rejects with a FailureError when it has none left. */
  take(account: string): Promise<void>;
  /** Gives places back. */
  give(account: string, collections: number): void;
  /** Bytes that the account gained or lost; when a file is opened, those that were there before. */
  onStoredBytes(account: string, bytes: number): void;
}

export interface EmbeddedStore extends VectorStore {
  /** Commits since it was opened: with one call at a time one each, fewer when calls share them. */
  commits(): number;
  /** Makes the indexes that images are kept of, between calls, so that no search waits for them. Never rejects. */
  takeUpImages(): Promise<void>;
}

/** The driver of `VectorStore` in this process: SQLite files as the truth, indexes in memory made of them. */
export function createEmbeddedStore(options: EmbeddedOptions): EmbeddedStore {
  const { limit, report } = options;
  const folder = join(options.dataDir, 'vectors');
  const random = options.random ?? systemRandom;
  const clock = options.clock ?? systemClock;
  const bounds = options.bounds ?? callBounds;
  const watch = createRowWatch(clock, bounds.rowsMs);
  const { memoryBytes: bytesMax, passCores } = options;
  const budget = createMemoryBudget({ bytesMax, passCores, report, watch });
  const turns = options.turns ?? createWorkTurns(clock);
  const batches = createQueryBatches(clock, bounds, turns);
  const making = new IndexMaking(clock);
  const shards = new OpenShards({
    folder,
    numbers: options.shards,
    ...(options.wal !== undefined && { wal: options.wal }),
    budget,
    random,
    clock,
    report,
    bounds,
    batches,
    making,
    turns,
    watch,
    onStoredBytes: limit.onStoredBytes,
  });
  const { imagesEveryMs = usualImagesEveryMs } = options;
  const keepImages = async () => {
    for (const shard of shards.opened()) await shard.keepImages();
  };
  const stopKeeping = imagesEveryMs === null ? null : every(imagesEveryMs, () => void keepImages());
  const of = (tenant: string) => shards.of(tenant);
  mkdirSync(folder, { recursive: true, mode: 0o700 });

  return {
    async create(owner, spec, place) {
      const home = of(owner.tenant);
      // An existing name is a conflict, whether there is room for another or not.
      if (home.find(owner.tenant, spec.name) === null) {
        // As a change of rows within a shard: the place of the one that is moved becomes free later.
        if (place === 'moved') limit.give(owner.account, -1);
        else await limit.take(owner.account);
        try {
          return await home.create(owner, spec);
        } catch (error) {
          limit.give(owner.account, 1);
          throw error;
        }
      }
      return home.create(owner, spec);
    },
    async drop(tenant, collection) {
      const account = await of(tenant).drop(tenant, collection);
      if (account !== null) limit.give(account, 1);
      return account !== null;
    },
    list: async (tenant) => of(tenant).list(tenant),
    find: async (tenant, collection) => of(tenant).find(tenant, collection),
    inspect: async (tenant, collection) => of(tenant).inspect(tenant, collection),
    configure: async (tenant, collection, change) => of(tenant).configure(tenant, collection, change),
    write: async (tenant, collection, operations) => of(tenant).write(tenant, collection, operations),
    retrieve: async (tenant, collection, ids, want) => of(tenant).retrieve(tenant, collection, ids, want),
    query: async (tenant, collection, queries) => of(tenant).query(tenant, collection, queries),
    queryGroups: async (tenant, collection, query) => of(tenant).queryGroups(tenant, collection, query),
    neighbours: async (tenant, collection, query) => of(tenant).neighbours(tenant, collection, query),
    scroll: async (tenant, collection, query) => of(tenant).scroll(tenant, collection, query),
    count: async (tenant, collection, filter) => of(tenant).count(tenant, collection, filter),
    facet: async (tenant, collection, query) => of(tenant).facet(tenant, collection, query),
    indexPayload: async (tenant, collection, key, type, params) =>
      of(tenant).indexPayload(tenant, collection, key, type, params),
    aliases: async (tenant, collection) => of(tenant).aliases(tenant, collection),
    changeAliases: async (tenant, changes) => of(tenant).changeAliases(tenant, changes),
    tenants: async () =>
      shards
        .existing()
        .flatMap((one) => one.tenants())
        .sort((a, b) => (a.tenant < b.tenant ? -1 : a.tenant > b.tenant ? 1 : 0)),
    async adopt(from, to) {
      if (shardOf(from) !== shardOf(to.tenant)) return moveTenant(this, from, to);
      const home = of(from);
      const moved = await home.adopt(from, to);
      for (const { account, collections } of moved.from) limit.give(account, collections);
      limit.give(to.account, -moved.collections);
      return { collections: moved.collections };
    },
    async purge(tenant) {
      const purged = await of(tenant).purge(tenant);
      for (const account of purged) limit.give(account, 1);
      return { collections: purged.length };
    },
    trouble: async () => shards.trouble(),
    commits: () => Array.from(shards.opened(), (one) => one.commits()).reduce((sum, one) => sum + one, 0),
    async takeUpImages() {
      for (const shard of shards.existing()) await shard.takeUpImages();
    },
    async close() {
      batches.close();
      await turns.drained();
      if (stopKeeping !== null) {
        stopKeeping();
        const untilMs = clock.monotonicMs() + lastImagesMs;
        for (const shard of shards.opened()) await shard.keepAllImages(untilMs);
      }
      shards.close();
    },
  };
}
