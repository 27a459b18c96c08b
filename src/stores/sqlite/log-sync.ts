import { closeSync, fdatasync, openSync } from 'node:fs';
import type { StatementSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { type Database, requireNoopCheckpoint } from './database.ts';

/** A power cut may take this much of the acknowledged writes; the death of our process takes nothing. */
const walSyncIntervalMs = 100;

const dataSync = promisify(fdatasync);

/**
 * Syncs the write-ahead log of a database off the loop: a busy disk holds up those who wait for their own change, and
 * nobody else. Opening the log besides SQLite is safe: SQLite's locks are on the database and the -shm file.
 */
export class LogSync {
  readonly #log: string;
  #descriptor: number | null = null;
  /** Null: no sync runs. */
  running: Promise<void> | null = null;
  /** Begins when the running one has ended, which may have missed the last commits. */
  #next: Promise<void> | null = null;

  constructor(file: string) {
    this.#log = `${file}-wal`;
  }

  /**
   * Resolves once everything committed so far is on the disk. Calls that come while one runs share the one after it.
   * Rejects with `NoDescriptor` where the disk was not asked.
   */
  async sync(): Promise<void> {
    if (this.running !== null) return this.#afterRunning(this.running);
    try {
      this.#descriptor ??= openSync(this.#log, 'r');
    } catch (error) {
      throw new NoDescriptor(String(error));
    }
    this.running = dataSync(this.#descriptor);
    try {
      await this.running;
    } finally {
      this.running = null;
    }
  }

  #afterRunning(running: Promise<void>): Promise<void> {
    this.#next ??= running
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.sync();
      });
    return this.#next;
  }

  /** Waits for a running sync, and for the one behind it. */
  async close(): Promise<void> {
    for (let last = this.#next ?? this.running; last !== null; last = this.#next ?? this.running)
      await last.catch(() => {});
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}

/** A sync could not open the log, which passes. */
class NoDescriptor extends Error {}

/**
 * Syncs and measures, off the loop, the write-ahead log of a database opened with durability `os`. `onLong` gets the
 * bytes of the log that are not yet in the database, after each sync that found more than `longBytes` and the first one
 * that found less. `onBroken` is called once: after a failed sync nobody knows what is on the disk, and another sync
 * would answer "fine" (fsync clears the error), so the ledger must not be used until it is opened anew.
 */
export class WalSync {
  /** Bytes not yet in the database, as of the last sync. */
  pendingBytes = 0;
  readonly #log: LogSync;
  readonly #watch: { longBytes: number; onLong(pendingBytes: number): void; onBroken(error: Error): void };
  readonly #measure: StatementSync;
  readonly #frameBytes: number;
  #timer: NodeJS.Timeout | null = null;
  #isDirty = false;
  #stopped = false;

  constructor(
    database: Database,
    watch: { longBytes: number; onLong(pendingBytes: number): void; onBroken(error: Error): void },
  ) {
    requireNoopCheckpoint(database);
    this.#log = new LogSync(database.file);
    this.#watch = watch;
    // Reads two counters and takes no lock.
    this.#measure = database.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#frameBytes = Number(database.prepare('PRAGMA page_size').get()?.page_size) + 24;
  }

  /** Something was committed: it will be synced within `walSyncIntervalMs`. */
  readonly dirty = (): void => {
    this.#isDirty = true;
    if (this.#timer !== null || this.#log.running !== null || this.#stopped) return;
    this.#timer = setTimeout(this.#tick, walSyncIntervalMs);
    this.#timer.unref();
  };

  readonly #tick = (): void => {
    this.#timer = null;
    if (this.#log.running !== null || this.#stopped) return;
    this.sync().catch((error: Error) => {
      // Out of file descriptors, which passes (F22). The disk was not asked yet, so its state is known.
      if (error instanceof NoDescriptor) this.dirty();
      else this.#watch.onBroken(error);
    });
  };

  /** Resolves once everything committed so far is on the disk. */
  async sync(): Promise<void> {
    this.#isDirty = false;
    await this.#log.sync();
    if (this.#stopped) return;
    const row = this.#measure.get();
    const wasLong = this.pendingBytes > this.#watch.longBytes;
    this.pendingBytes = Math.max(0, Number(row?.log) - Number(row?.checkpointed)) * this.#frameBytes;
    if (wasLong || this.pendingBytes > this.#watch.longBytes) this.#watch.onLong(this.pendingBytes);
    if (this.#isDirty) this.dirty();
  }

  /** Waits for a running sync. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#log.close();
  }
}
