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
import { findEntry, isDamage, type WrittenEntry } from './cache-file.ts';

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

/**
 * Entries in a file of SQLite. A thread writes, in one transaction what came while it wrote the one before. Reads are
 * one look at an index in the calling thread, which waits for no writer. A power cut may empty it.
 */
export function openSqliteCache(
  options: CacheFileOptions & { clock: Pick<Clock, 'wallMs'>; onTrouble(message: string): void },
): CacheStore {
  const { file, bounds, clock, onTrouble } = options;
  const entry = new URL('./cache-worker.ts', import.meta.url);
  const thread = createWorkThread(entry, 'thread of the cache', {
    workerData: { file, bounds } satisfies CacheFileOptions,
  });
  const reader = createReader(file);
  let closed = false;
  let waiting: WrittenEntry[] = [];
  /** The order that will take what waits; null: none is to come. */
  let writing: Promise<void> | null = null;
  let running: Promise<unknown> = Promise.resolve();

  async function call(order: CacheOrder): Promise<unknown> {
    const { answer, generation, remade } = await thread.ask<CacheEnd>((id) => ({
      message: { id, ...order },
      transfer: [],
    }));
    if (remade !== null) onTrouble(`cache: ${file} was made anew and is empty: ${remade}`);
    if (!closed && reader.generation() !== generation) reader.renew(generation);
    return answer;
  }

  async function write(): Promise<void> {
    await running.catch(() => undefined);
    const entries = waiting;
    waiting = [];
    writing = null;
    running = call({ method: 'put', entries, nowMs: clock.wallMs() });
    await running;
  }

  // A caller that asks before the thread has started does not wait for long: the look counts as a miss then.
  const opening = call({ method: 'put', entries: [], nowMs: clock.wallMs() }).then(
    () => undefined,
    (error: unknown) => onTrouble(`cache: ${file} cannot be opened: ${String(error)}`),
  );

  return {
    async get(scope, digest) {
      if (closed) return null;
      const generation = reader.generation();
      if (generation === null) await opening;
      try {
        return reader.find(scope, digest, clock.wallMs());
      } catch (error) {
        if (isDamage(error)) void call({ method: 'renew', generation: generation ?? 0 }).catch(() => undefined);
        throw error;
      }
    },
    async put(scope, digest, entry) {
      waiting.push({ scope, digest, entry });
      writing ??= write();
      await writing;
    },
    clear: (which) => call({ method: 'clear', which }) as Promise<number>,
    stats: () => call({ method: 'stats', nowMs: clock.wallMs() }) as Promise<CacheScopeStats[]>,
    async close() {
      await Promise.allSettled([writing, running]);
      await opening;
      closed = true;
      reader.close();
      await call({ method: 'close' }).catch(() => undefined);
      await thread.close();
    },
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
