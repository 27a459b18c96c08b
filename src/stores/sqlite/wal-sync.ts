import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Database } from './database.ts';

/** A power cut may take this much of what was acknowledged; our own death takes nothing. */
const walSyncIntervalMs = 100;

const dataSync = promisify(fdatasync);

/** The write-ahead log of a database opened with durability `os`: synced and measured off the loop. */
export interface WalSync {
  /** Something was committed: it will be synced within `walSyncIntervalMs`. */
  dirty(): void;
  /** Resolves once everything committed so far is on the disk. */
  sync(): Promise<void>;
  /** Waits for a running sync. */
  stop(): Promise<void>;
}

/**
 * `onSynced` is told the bytes of the log that are not yet in the database. `onBroken` comes once: after a failed sync
 * nobody knows what is on the disk, and asking again would be answered "fine" (fsync clears the error), so the ledger
 * must not be used until it is opened anew.
 */
export function createWalSync(
  database: Database,
  onSynced: (pendingBytes: number) => void,
  onBroken: (error: Error) => void,
): WalSync {
  requireNoopCheckpoint(database);
  // Reads two counters and takes no lock.
  const measure = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  const frameBytes = Number(database.prepare('PRAGMA page_size').get()?.page_size) + 24;
  // Opening the log besides SQLite is safe: its locks are on the database and the -shm file.
  let descriptor: number | null = null;
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  let isDirty = false;
  let stopped = false;

  function tick(): void {
    timer = null;
    if (running !== null || stopped) return;
    try {
      openLog();
    } catch {
      // Out of file descriptors, which passes (F22). Nothing was asked of the disk yet, so nothing is unknown.
      schedule();
      return;
    }
    sync().catch(onBroken);
  }

  function openLog(): number {
    descriptor ??= openSync(`${database.file}-wal`, 'r');
    return descriptor;
  }

  function schedule(): void {
    if (timer !== null || stopped) return;
    timer = setTimeout(tick, walSyncIntervalMs);
    timer.unref();
  }

  /** One at a time; whoever comes while one runs gets the one after it, since its own commits may have missed it. */
  async function sync(): Promise<void> {
    while (running !== null) await running.catch(() => {});
    isDirty = false;
    running = dataSync(openLog());
    try {
      await running;
    } finally {
      running = null;
    }
    if (stopped) return;
    onSynced(pendingBytes());
    if (isDirty) schedule();
  }

  function pendingBytes(): number {
    const row = measure.get();
    return Math.max(0, Number(row?.log) - Number(row?.checkpointed)) * frameBytes;
  }

  return {
    dirty() {
      isDirty = true;
      if (running === null) schedule();
    },
    sync,
    async stop() {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
      while (running !== null) await running.catch(() => {});
      if (descriptor !== null) closeSync(descriptor);
      descriptor = null;
    },
  };
}

/**
 * Before 3.51 SQLite takes the unknown word NOOP for PASSIVE and would checkpoint here, on the loop and unsynced: a
 * power cut could then damage the file. Node 24 brought newer ones in its minor releases.
 */
function requireNoopCheckpoint(database: Database): void {
  const version = String(database.prepare('SELECT sqlite_version() AS version').get()?.version);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 3 || (major === 3 && minor >= 51)) return;
  throw new Error(
    `The ledger needs SQLite 3.51; Node ${process.versions.node} brings ${version}. Update Node to the newest 24.`,
  );
}
