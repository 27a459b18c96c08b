import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { CacheEntry, CacheStore, SharedCacheStore } from '../../books/metering/cache-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { DataFolder } from '../sqlite/data-folder.ts';
import type { Secrets } from '../storage-secrets.ts';
import { placeOf, sealPurpose } from './seal-context.ts';
import type { SealsItself } from './sqlite-cache.ts';

export interface CacheParts {
  config: { storage: { state: string; cache: { max_per_scope: number; max: number } } };
  folder: Pick<DataFolder, 'path'>;
  /** Facts of the stores; of these, the books' name is asked for with Redis alone. */
  stores: { booksId(): Promise<string>; folderWriters?: 'one' | 'several'; urls?: { state: string } };
  secrets: Pick<Secrets, 'all' | 'sealer'>;
  /** Room on the disk of the data folder; null: nobody looks. */
  room: { refusal(): object | null; taken(bytes: number): void } | null;
  clock: Clock;
  onTrouble(message: string): void;
}

/** Other processes have written by then what they kept before. */
const writtenWithinMs = 200;

/** Further entries that come before the cache is open are found only after it. */
const earlyMax = 64;

interface Uses {
  models: Readonly<Record<string, { cache?: object | undefined }>>;
  tools: { search: { cache?: object | undefined } };
}

export interface OpenedCache extends CacheStore {
  /** Opens it where a configuration keeps answers, and waits for a file: the first look finds all. Never rejects. */
  prepare(config: Uses): Promise<void>;
}

/** The cache that `storage` names: a server without cached models has neither file nor connection. */
export function openCache(parts: CacheParts): OpenedCache {
  const { config, folder, room, onTrouble } = parts;
  const file = join(folder.path, 'cache.db');
  const inFolder = config.storage.state === 'memory';
  const hasOthers = !inFolder || parts.stores.folderWriters === 'several';
  let opening: Promise<SharedCacheStore> | null = null;
  let ready: SharedCacheStore | null = null;
  let closed = false;
  function open(): Promise<SharedCacheStore> {
    if (closed) return Promise.reject(new Error('the cache is closed'));
    opening ??= openDriver(parts, file).then(
      (store) => {
        ready = store;
        return store;
      },
      (error: unknown) => {
        opening = null;
        throw error;
      },
    );
    return opening;
  }

  const openSoon = () =>
    open().then(
      () => undefined,
      (error: unknown) => onTrouble(`cache: it cannot be opened: ${String(error)}`),
    );

  const early = createEarly(async (...entry) => (await open()).put(...entry));

  /** Null: nothing was ever kept. */
  async function opened(): Promise<CacheStore | null> {
    return opening === null && inFolder && !existsSync(file) ? null : open();
  }

  return {
    async prepare({ models, tools }) {
      if (ready !== null || ![...Object.values(models), tools.search].some(({ cache }) => cache !== undefined)) return;
      const opening = openSoon();
      // A Redis that does not answer keeps nobody waiting.
      if (inFolder) await opening;
    },
    get(scope, digest) {
      if (closed) return null;
      if (ready !== null) return ready.get(scope, digest);
      // No request waits for the start of a thread or a connection.
      void openSoon();
      return early.get(scope, digest);
    },
    put(scope, digest, entry) {
      if (inFolder && room !== null && room.refusal() !== null) {
        return Promise.reject(new Error('the disk of the data folder is full'));
      }
      if (inFolder) room?.taken(entry.body.length);
      // Nothing here holds the entry until it is written.
      return ready === null ? early.put(scope, digest, entry) : ready.put(scope, digest, entry);
    },
    ...(hasOthers && {
      swap: async (...given: Parameters<SharedCacheStore['swap']>) => (ready ?? (await open())).swap(...given),
    }),
    clear: async (which) => clearFrom(await opened(), which, hasOthers),
    stats: async () => (await opened())?.stats() ?? [],
    async close() {
      closed = true;
      await (await opening?.catch(() => null))?.close();
    },
  };
}

/** Clears it, and what `hasOthers`' processes had on their way to it. Returns how many it removed. */
async function clearFrom(store: CacheStore | null, which: Parameters<CacheStore['clear']>[0], hasOthers: boolean) {
  const removed = (await store?.clear(which)) ?? 0;
  if (store === null || !hasOthers) return removed;
  await pause(writtenWithinMs);
  return removed + (await store.clear(which));
}

/** Entries that come before it is open, on their way to `put`. */
function createEarly(put: CacheStore['put']) {
  const entries = new Map<string, CacheEntry>();
  return {
    get: (scope: string, digest: string) => entries.get(placeOf(scope, digest)) ?? null,
    async put(scope: string, digest: string, entry: CacheEntry): Promise<void> {
      const place = placeOf(scope, digest);
      if (entries.size < earlyMax) entries.set(place, entry);
      try {
        await put(scope, digest, entry);
      } finally {
        if (entries.get(place) === entry) entries.delete(place);
      }
    },
  };
}

async function openDriver(
  { config, stores, secrets, clock, onTrouble }: CacheParts,
  file: string,
): Promise<SharedCacheStore> {
  const { state, cache } = config.storage;
  const bounds = { scopeBytes: cache.max_per_scope, totalBytes: cache.max };
  const { createSealedCache, RecentEntries } = await import('./sealed-cache.ts');
  // Of a store that others write too, nobody here knows what they removed.
  const recent = state === 'memory' && stores.folderWriters !== 'several' ? new RecentEntries() : null;
  async function driver(): Promise<SharedCacheStore & Partial<SealsItself>> {
    if (state === 'memory') {
      const { openSqliteCache } = await import('./sqlite-cache.ts');
      // The newest one seals.
      const secret = () => secrets.all()[0] ?? '';
      return openSqliteCache({ file, bounds, clock, onTrouble, secret, onRemoved: (places) => recent?.forget(places) });
    }
    const [{ openRedisCache }, booksId] = await Promise.all([import('./redis-cache.ts'), stores.booksId()]);
    return openRedisCache({ url: () => stores.urls?.state ?? state, booksId, bounds, clock, onTrouble });
  }
  const opened = await driver();
  // It is open once the first look has an answer.
  await (async () => opened.get('', ''))().catch(() => null);
  return createSealedCache(opened, secrets.sealer(sealPurpose), () => clock.wallMs(), recent);
}
