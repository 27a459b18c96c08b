import type { StatementSync } from 'node:sqlite';
import type {
  CacheBounds,
  CacheEntry,
  CacheScopeStats,
  CacheSelection,
  CacheStore,
} from '../../books/metering/cache-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createWorkThread } from '../../kernel/work-thread.ts';
import { type Database, openDatabase } from '../sqlite/database.ts';
import { type EntryPlace, findEntry, isDamage, type WrittenEntry } from './cache-file.ts';

/** Rows of this long are one transaction, in ms: a commit costs more than its rows. */
const gatherMs = 100;
/** So many bytes do not wait for more. */
const gatheredBytesMax = 4 * 1024 * 1024;

/** Data for the thread at its start. */
export interface CacheFileOptions {
  file: string;
  bounds: CacheBounds;
}

/** An order to the thread that writes; answered once, with the same `id`. */
export type CacheCall = { id: number } & CacheOrder;

type CacheOrder =
  | { method: 'put'; entries: readonly WrittenEntry[]; nowMs: number }
  | { method: 'clear'; which: CacheSelection }
  | { method: 'stats'; nowMs: number }
  | { method: 'renew'; generation: number }
  | { method: 'close' };

export interface CacheEnd {
  answer: unknown;
  /** Number of the file that the thread has open. */
  generation: number;
  /** Why the file was made anew since the last answer; null: it was not. */
  remade: string | null;
}

/** The connection of the calling thread to the file that the writing thread has open. */
function createReader(file: string) {
  let open: { generation: number; database: Database; find: StatementSync } | null = null;

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
        open = { generation, database, find: database.prepare(findEntry) };
      } catch (error) {
        database.close();
        throw error;
      }
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
  /** Gets the places whose entries are no longer there; null: any may be. */
  onRemoved?(places: readonly EntryPlace[] | null): void;
}

/**
 * Entries in a file of SQLite. A thread writes, in one transaction what came within `gatherMs`. Reads are one look at an
 * index in the calling thread, which waits for no writer. A power cut may empty it.
 */
export function openSqliteCache({ file, bounds, clock, onTrouble, onRemoved }: SqliteCacheOptions): CacheStore {
  const entry = new URL('./cache-worker.ts', import.meta.url);
  const thread = createWorkThread(entry, 'thread of the cache', {
    workerData: { file, bounds } satisfies CacheFileOptions,
  });
  const reader = createReader(file);
  let closed = false;
  async function call(order: CacheOrder, transfer: ArrayBuffer[] = []): Promise<unknown> {
    const message = (id: number) => ({ message: { id, ...order }, transfer });
    const { answer, generation, remade } = await thread.ask<CacheEnd>(message);
    if (remade !== null) onTrouble(`cache: ${file} was made anew and is empty: ${remade}`);
    if (closed || reader.generation() === generation) return answer;
    reader.renew(generation);
    onRemoved?.(null);
    return answer;
  }

  const writes = createWrites(async (entries, bytes) => {
    const removed = await call({ method: 'put', entries, nowMs: clock.wallMs() }, [bytes]);
    if ((removed as EntryPlace[]).length > 0) onRemoved?.(removed as EntryPlace[]);
  });

  // A caller that asks before the thread has started does not wait for long: the look counts as a miss then.
  const opening = call({ method: 'put', entries: [], nowMs: clock.wallMs() }).then(
    () => undefined,
    (error: unknown) => onTrouble(`cache: ${file} cannot be opened: ${String(error)}`),
  );

  function find(scope: string, digest: string): CacheEntry | null {
    try {
      return reader.find(scope, digest, clock.wallMs());
    } catch (error) {
      const generation = reader.generation() ?? 0;
      if (isDamage(error)) void call({ method: 'renew', generation }).catch(() => undefined);
      throw error;
    }
  }

  return {
    get(scope, digest) {
      if (closed) return null;
      return reader.generation() === null ? opening.then(() => find(scope, digest)) : find(scope, digest);
    },
    put: (scope, digest, entry) => writes.add({ scope, digest, entry }),
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

/** Gathers entries for `write`, which runs once at a time. */
function createWrites(write: (entries: readonly WrittenEntry[], bytes: ArrayBuffer) => Promise<void>) {
  let waiting: WrittenEntry[] = [];
  let waitingBytes = 0;
  /** The write that takes what waits, and what makes it begin now; null: none is to come. */
  let coming: { done: Promise<void>; hurry(): void } | null = null;
  let running: Promise<void> = Promise.resolve();

  function begin(): { done: Promise<void>; hurry(): void } {
    const { promise: gathered, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, gatherMs);
    const hurry = () => {
      clearTimeout(timer);
      resolve();
    };
    return { done: writeAfter(gathered), hurry };
  }

  async function writeAfter(gathered: Promise<void>): Promise<void> {
    await gathered;
    await running.catch(() => undefined);
    const { entries, bytes } = inOneBuffer(waiting, waitingBytes);
    waiting = [];
    waitingBytes = 0;
    coming = null;
    running = write(entries, bytes);
    await running;
  }

  return {
    /** Resolves once the entry is written. */
    add(entry: WrittenEntry): Promise<void> {
      waiting.push(entry);
      waitingBytes += entry.entry.body.length;
      coming ??= begin();
      if (waitingBytes > gatheredBytesMax) coming.hurry();
      return coming.done;
    },
    /** Resolves once what came before is written, or cannot be. */
    async settled(): Promise<void> {
      coming?.hurry();
      await Promise.allSettled([coming?.done, running]);
    },
  };
}

/** The entries with their bodies in one buffer, which the thread gets without a copy. */
function inOneBuffer(
  waiting: readonly WrittenEntry[],
  length: number,
): { entries: WrittenEntry[]; bytes: ArrayBuffer } {
  const all = new Uint8Array(length);
  let end = 0;
  const entries = waiting.map(({ entry, ...place }) => {
    const start = end;
    end += entry.body.length;
    all.set(entry.body, start);
    return { ...place, entry: { ...entry, body: all.subarray(start, end) } };
  });
  return { entries, bytes: all.buffer };
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
