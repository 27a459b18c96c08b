import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CacheEntry, CacheStore } from '../../books/metering/cache-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Secrets } from '../secrets.ts';
import type { DataFolder } from '../sqlite/data-folder.ts';
import { placeOf, sealPurpose } from './seal-context.ts';
import type { SealsItself } from './sqlite-cache.ts';

export interface CacheParts {
  config: { storage: { state: string; cache: { max_per_scope: number; max: number } } };
  folder: Pick<DataFolder, 'path'>;
  /** Facts of the stores; of these, the books' name is asked for with Redis alone. */
  stores: { booksId(): Promise<string>; folderWriters?: 'one' | 'several' };
  secrets: Pick<Secrets, 'all' | 'sealer'>;
  /** Room on the disk of the data folder; null: nobody looks. */
  room: { refusal(): object | null; taken(bytes: number): void } | null;
  clock: Clock;
  onTrouble(message: string): void;
}

/** Further entries that come before the cache is open are found only after it. */
const earlyMax = 64;

/** The cache that `storage` names. The first use opens it: a server without cached models has neither file nor connection. */
export function openCache(parts: CacheParts): CacheStore {
  const { config, folder, room, onTrouble } = parts;
  const file = join(folder.path, 'cache.db');
  const inFolder = config.storage.state === 'memory';
  let opening: Promise<CacheStore> | null = null;
  let ready: CacheStore | null = null;
  let closed = false;
  /** Entries that came before it is open. */
  const early = new Map<string, CacheEntry>();

  function open(): Promise<CacheStore> {
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

  async function putEarly(scope: string, digest: string, entry: CacheEntry): Promise<void> {
    const place = placeOf(scope, digest);
    if (early.size < earlyMax) early.set(place, entry);
    try {
      await (await open()).put(scope, digest, entry);
    } finally {
      if (early.get(place) === entry) early.delete(place);
    }
  }

  /** Null: nothing was ever kept. */
  async function opened(): Promise<CacheStore | null> {
    return opening === null && inFolder && !existsSync(file) ? null : open();
  }

  return {
    get(scope, digest) {
      if (closed) return null;
      if (ready !== null) return ready.get(scope, digest);
      // No request waits for the start of a thread or a connection.
      void open().catch((error: unknown) => onTrouble(`cache: it cannot be opened: ${String(error)}`));
      return early.get(placeOf(scope, digest)) ?? null;
    },
    put(scope, digest, entry) {
      if (inFolder && room !== null && room.refusal() !== null) {
        return Promise.reject(new Error('the disk of the data folder is full'));
      }
      if (inFolder) room?.taken(entry.body.length);
      // Nothing here holds the entry until it is written.
      return ready === null ? putEarly(scope, digest, entry) : ready.put(scope, digest, entry);
    },
    ...(!inFolder && {
      swap: async (...[scope, digest, entry, over]: Parameters<NonNullable<CacheStore['swap']>>) =>
        (await (ready ?? (await open())).swap?.(scope, digest, entry, over)) ?? false,
    }),
    clear: async (which) => (await opened())?.clear(which) ?? 0,
    stats: async () => (await opened())?.stats() ?? [],
    async close() {
      closed = true;
      await (await opening?.catch(() => null))?.close();
    },
  };
}

async function openDriver(
  { config, stores, secrets, clock, onTrouble }: CacheParts,
  file: string,
): Promise<CacheStore> {
  const { state, cache } = config.storage;
  const bounds = { scopeBytes: cache.max_per_scope, totalBytes: cache.max };
  const { createSealedCache, RecentEntries } = await import('./sealed-cache.ts');
  // Of a store that others write too, nobody here knows what they removed.
  const recent = state === 'memory' && stores.folderWriters !== 'several' ? new RecentEntries() : null;
  async function driver(): Promise<CacheStore & Partial<SealsItself>> {
    if (state === 'memory') {
      const { openSqliteCache } = await import('./sqlite-cache.ts');
      // The newest one seals.
      const secret = () => secrets.all()[0] ?? '';
      return openSqliteCache({ file, bounds, clock, onTrouble, secret, onRemoved: (places) => recent?.forget(places) });
    }
    const [{ openRedisCache }, booksId] = await Promise.all([import('./redis-cache.ts'), stores.booksId()]);
    return openRedisCache({ url: state, booksId, bounds, clock, onTrouble });
  }
  const opened = await driver();
  // It is open once the first look has an answer.
  await (async () => opened.get('', ''))().catch(() => null);
  return createSealedCache(opened, secrets.sealer(sealPurpose), () => clock.wallMs(), recent);
}
