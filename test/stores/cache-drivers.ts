import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CacheBounds, CacheStore, SharedCacheStore } from '../../src/books/metering/cache-store.ts';
import { createSealer } from '../../src/kernel/seal.ts';
import { openRedisCache } from '../../src/stores/cache/redis-cache.ts';
import { createSealedCache, RecentEntries } from '../../src/stores/cache/sealed-cache.ts';
import { openSqliteCache } from '../../src/stores/cache/sqlite-cache.ts';
import { fakeClock } from '../fake-clock.ts';
import { memoryCache } from '../memory-cache.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startRedisCluster } from '../start-redis-cluster.ts';

type FakeClock = ReturnType<typeof fakeClock>;

export interface CacheUnderTest {
  cache: CacheStore;
  clock: FakeClock;
  /** The driver's own entries, whose bodies are sealed; null: it seals none. */
  sealed: CacheStore | null;
  /** The next start over the same entries; null: they end with their process. */
  again: (() => Promise<CacheStore>) | null;
  remove(): Promise<void>;
}

export interface CacheDriver {
  name: string;
  skip: string | false;
  create(bounds: CacheBounds): Promise<CacheUnderTest>;
}

const suiteSecret = 'a secret of the cache suite, 32 bytes long';
const secret = () => suiteSecret;
const sealer = createSealer([suiteSecret], 'cache');

/** Opens `open` and what follows it in turn, sealed. */
async function sealedOver(
  open: () => SharedCacheStore,
  clock: FakeClock,
  removeAll: () => void,
): Promise<CacheUnderTest> {
  const opened: CacheStore[] = [];
  function next() {
    const driver = open();
    const cache = createSealedCache(driver, sealer, () => clock.wallMs());
    opened.push(cache);
    return { driver, cache };
  }
  const { driver, cache } = next();
  return {
    cache,
    clock,
    sealed: driver,
    async again() {
      await opened.at(-1)?.close();
      return next().cache;
    },
    async remove() {
      for (const one of opened) await one.close();
      removeAll();
    },
  };
}

const memory: CacheDriver = {
  name: 'memory',
  skip: false,
  async create(bounds) {
    const clock = fakeClock();
    const cache = memoryCache(() => clock.wallMs(), bounds);
    return { cache, clock, sealed: null, again: null, remove: () => cache.close() };
  },
};

const sqlite: CacheDriver = {
  name: 'sqlite',
  skip: false,
  async create(bounds) {
    const folder = mkdtempSync(join(tmpdir(), 'culvert-cache-'));
    const clock = fakeClock();
    const onTrouble = (message: string) => assertNoTrouble(message);
    const open = () => openSqliteCache({ file: join(folder, 'cache.db'), bounds, clock, onTrouble, secret });
    return sealedOver(open, clock, () => rmSync(folder, { recursive: true, force: true }));
  },
};

/** The cache as a server opens it: entries that were found lately are in memory. */
const sqliteWithMemory: CacheDriver = {
  name: 'sqlite with memory',
  skip: false,
  async create(bounds) {
    const folder = mkdtempSync(join(tmpdir(), 'culvert-cache-'));
    const clock = fakeClock();
    const caches: CacheStore[] = [];
    function open(): CacheStore {
      const recent = new RecentEntries();
      const file = join(folder, 'cache.db');
      const onRemoved = recent.forget.bind(recent);
      const driver = openSqliteCache({ file, bounds, clock, onTrouble: assertNoTrouble, onRemoved, secret });
      const cache = createSealedCache(driver, sealer, () => clock.wallMs(), recent);
      caches.push(cache);
      return {
        ...cache,
        // Each entry that is there is in memory from then on.
        async put(scope, digest, entry) {
          await cache.put(scope, digest, entry);
          await cache.get(scope, digest);
        },
      };
    }
    async function again() {
      await caches.at(-1)?.close();
      return open();
    }
    async function remove() {
      for (const one of caches) await one.close();
      rmSync(folder, { recursive: true, force: true });
    }
    return { cache: open(), clock, sealed: null, again, remove };
  },
};

function assertNoTrouble(message: string): never {
  throw new Error(message);
}

let books = 0;

const redis = (name: string, start: () => Promise<{ url: string }>): CacheDriver => ({
  name,
  skip: redisMissing,
  async create(bounds) {
    const { url } = await start();
    books += 1;
    const booksId = `cache-${books}`;
    const clock = fakeClock(Date.now());
    return sealedOver(
      () => openRedisCache({ url, booksId, bounds, clock, onTrouble: () => {} }),
      clock,
      () => {},
    );
  },
});

let server: Promise<{ url: string }> | null = null;
let cluster: Promise<{ url: string }> | null = null;

/** The suite of the cache runs over each of these. */
export const cacheDrivers: readonly CacheDriver[] = [
  memory,
  sqlite,
  sqliteWithMemory,
  redis('redis', () => (server ??= startRedis(null))),
  redis('redis cluster', () => (cluster ??= startRedisCluster(null))),
];
