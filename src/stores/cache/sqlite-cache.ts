import type { StatementSync } from 'node:sqlite';
import type {
  CacheBounds,
  CacheEntry,
  CacheScopeStats,
  CacheSelection,
  SharedCacheStore,
} from '../../books/metering/cache-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createWorkThread } from '../../kernel/threads/work-thread.ts';
import { type Database, openDatabase } from '../sqlite/database.ts';
import { type EntryPlace, findEntry, inodeOf, isDamage, type WrittenEntry } from './cache-file.ts';
import { type BodyPieces, type GatheredEntry, GatheredWrites } from './gathered-writes.ts';

/** Data for the thread at its start. */
export interface CacheFileOptions {
  file: string;
  bounds: CacheBounds;
}

/** An order to the thread that writes; answered once, with the same `id`. */
export type CacheCall = { id: number } & CacheOrder;

type CacheOrder =
  | {
      method: 'put';
      entries: readonly GatheredEntry[];
      /** Has the bodies; null: there are none. */
      shared: SharedArrayBuffer | null;
      /** Seals the open ones; null: all are sealed. */
      secret: string | null;
      nowMs: number;
    }
  | { method: 'swap'; entry: WrittenEntry; over: number | null; nowMs: number }
  | { method: 'clear'; which: CacheSelection }
  | { method: 'stats'; nowMs: number }
  | { method: 'renew'; generation: number }
  | { method: 'close' };

/** A driver whose thread seals. */
export interface SealsItself {
  /** The same as `put` for a body that nobody has sealed. The pieces are copied when it returns. */
  putOpen(scope: string, digest: string, entry: CacheEntry, pieces: BodyPieces): Promise<void>;
  /** The entry that is being written there, open, with a copy of its body; null: none is. */
  underway(scope: string, digest: string): CacheEntry | null;
}

const nothing = new Uint8Array(0);

export interface CacheEnd {
  answer: unknown;
  /** Number of the file that the thread has open. */
  generation: number;
  /** Why the file was made anew since the last answer; null: it was not. */
  remade: string | null;
}

/** How long a process may find what is in a file that was removed. */
const staleMs = 1_000;

/** The connection of the calling thread to the file that the writing thread has open. */
function createReader(file: string) {
  let open: { generation: number; inode: bigint; database: Database; find: StatementSync } | null = null;
  let seenMs = 0;

  function close(): void {
    open?.database.close();
    open = null;
  }

  return {
    generation: () => open?.generation ?? null,
    renew(generation: number): void {
      close();
      const database = openDatabase(file, 'checkpoint', 0);
      try {
        open = { generation, inode: inodeOf(file), database, find: database.prepare(findEntry) };
      } catch (error) {
        database.close();
        throw error;
      }
    },
    /** Whether the file is gone or another one: the thread of another process may have made it anew. */
    isStale(): boolean {
      if (open === null || performance.now() - seenMs < staleMs) return false;
      seenMs = performance.now();
      return inodeOf(file) !== open.inode;
    },
    /** Null: none, or nothing is open. */
    find(scope: string, digest: string, nowMs: number): CacheEntry | null {
      const row = open?.find.get(scope, digest, nowMs);
      return row === undefined ? null : entryOf(row);
    },
    close,
  };
}

export interface SqliteCacheOptions extends CacheFileOptions {
  clock: Pick<Clock, 'wallMs'>;
  onTrouble(message: string): void;
  /** The secret that seals, at the time. Absent: callers seal. */
  secret?: () => string;
  /** Gets the places whose entries are no longer there; null: any may be. */
  onRemoved?(places: readonly EntryPlace[] | null): void;
}

/**
 * Entries in a file of SQLite. A thread writes, in one transaction what came within `gatherMs`. Reads are one look at an
 * index in the calling thread, which waits for no writer. A power cut may empty it.
 */
export function openSqliteCache(options: SqliteCacheOptions): SharedCacheStore & Partial<SealsItself> {
  const { file, bounds, clock, onTrouble, onRemoved, secret } = options;
  const entry = new URL('./cache-worker.ts', import.meta.url);
  const thread = createWorkThread(entry, 'thread of the cache', {
    workerData: { file, bounds } satisfies CacheFileOptions,
  });
  const reader = createReader(file);
  let closed = false;
  async function call(order: CacheOrder): Promise<unknown> {
    const message = (id: number) => ({ message: { id, ...order }, transfer: [] });
    const { answer, generation, remade } = await thread.ask<CacheEnd>(message);
    if (remade !== null) onTrouble(`cache: ${file} was made anew and is empty: ${remade}`);
    if (closed || reader.generation() === generation) return answer;
    reader.renew(generation);
    onRemoved?.(null);
    return answer;
  }

  const writes = new GatheredWrites(async (entries, shared) => {
    const order = { method: 'put', entries, shared, secret: secret?.() ?? null, nowMs: clock.wallMs() } as const;
    const removed = await call(order);
    if ((removed as EntryPlace[]).length > 0) onRemoved?.(removed as EntryPlace[]);
  });

  // A caller that asks before the thread has started does not wait for long: the look counts as a miss then.
  const opening = call({ method: 'put', entries: [], shared: null, secret: null, nowMs: clock.wallMs() }).then(
    () => undefined,
    (error: unknown) => onTrouble(`cache: ${file} cannot be opened: ${String(error)}`),
  );

  const find = finder(reader, clock, (generation) => void call({ method: 'renew', generation }).catch(() => undefined));

  return {
    get(scope, digest) {
      if (closed) return null;
      return reader.generation() === null ? opening.then(() => find(scope, digest)) : find(scope, digest);
    },
    put: (scope, digest, entry) => writes.add({ scope, digest }, entry, 'sealed', { head: nothing, rest: entry.body }),
    swap: swapBy(call, options),
    ...(secret !== undefined && {
      putOpen: (scope, digest, entry, pieces) => writes.add({ scope, digest }, entry, 'open', pieces),
      underway: (scope, digest) => writes.find(scope, digest),
    }),
    async clear(which) {
      await writes.settled();
      const removed = (await call({ method: 'clear', which })) as number;
      onRemoved?.(null);
      return removed;
    },
    async stats() {
      await writes.settled();
      return (await call({ method: 'stats', nowMs: clock.wallMs() })) as CacheScopeStats[];
    },
    async close() {
      await writes.settled();
      await opening;
      closed = true;
      reader.close();
      await call({ method: 'close' }).catch(() => undefined);
      await thread.close();
    },
  };
}

/** `renew` has the thread look at the file again, and make it anew where it is the one of `generation`. */
function finder(
  reader: ReturnType<typeof createReader>,
  clock: SqliteCacheOptions['clock'],
  renew: (generation: number) => void,
): (scope: string, digest: string) => CacheEntry | null {
  return (scope, digest) => {
    try {
      if (!reader.isStale()) return reader.find(scope, digest, clock.wallMs());
      reader.close();
      renew(0);
      return null;
    } catch (error) {
      if (isDamage(error)) renew(reader.generation() ?? 0);
      throw error;
    }
  };
}

function swapBy(
  call: (order: CacheOrder) => Promise<unknown>,
  { clock, onRemoved }: SqliteCacheOptions,
): SharedCacheStore['swap'] {
  return async (scope, digest, entry, over) => {
    const isStill = await call({ method: 'swap', entry: { scope, digest, entry }, over, nowMs: clock.wallMs() });
    // It may have pushed others out.
    onRemoved?.(null);
    return isStill as boolean;
  };
}

function entryOf({ at_ms, expires_ms, key_id, model, tag, sealed }: Record<string, unknown>): CacheEntry {
  const bytes = sealed instanceof Uint8Array ? sealed : new Uint8Array(0);
  return {
    atMs: Number(at_ms),
    expiresAtMs: Number(expires_ms),
    keyId: String(key_id),
    model: String(model),
    tag: tag === null ? null : String(tag),
    body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  };
}
