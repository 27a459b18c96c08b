import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { FailureError } from '../../kernel/failure.ts';

/** The seam over the embedded engine: every other call of SQLite goes through these. */
export interface Database {
  readonly file: string;
  exec(sql: string): void;
  prepare(sql: string): StatementSync;
  /** Makes a function of one value for statements of this connection. */
  define(name: string, answer: (value: unknown) => number): void;
  close(): void;
}

export type SqlValue = SQLInputValue;

/**
 * How safe a commit is once it returned. `fsync`: survives a power cut. `os`: survives our own death (`kill -9`), the
 * caller syncs the write-ahead log itself; checkpoints must then run on a connection opened with `checkpoint`.
 */
export type Durability = 'fsync' | 'os' | 'checkpoint';

const synchronous = { fsync: 'FULL', os: 'OFF', checkpoint: 'NORMAL' } as const;

/**
 * Opens or creates a WAL database. `busyTimeoutMs` is how long a statement blocks the calling thread while another
 * connection writes; 0 where the caller retries. `pageBytes` is for a file that is made here.
 */
export function openDatabase(
  file: string,
  durability: Durability,
  busyTimeoutMs: number,
  pageBytes: 2_048 | 4_096 = 4_096,
): Database {
  // SQLite gives -wal and -shm the mode of the file itself. An existing file is left alone: closing any other
  // descriptor of it would drop this process' locks on it (POSIX advisory locks).
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  const database = naming(file, () => new DatabaseSync(file, { timeout: Math.max(busyTimeoutMs, openBusyTimeoutMs) }));
  naming(file, () =>
    database.exec(
      `PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous[durability]}; PRAGMA busy_timeout = ${busyTimeoutMs}`,
    ),
  );
  return {
    file,
    exec: (sql) => database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    define: (name, answer) => database.function(name, answer),
    close: () => database.close(),
  };
}

/** Switching a new file to WAL needs it alone for a moment; two processes starting at once must both get through. */
const openBusyTimeoutMs = 2_000;

/** SQLite's own words, `file is not a database`, leave out which; the error keeps its code and stack. */
export function naming<T>(file: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (sqliteCode(error) !== null && !(error as Error).message.startsWith(`${file}: `))
      (error as Error).message = `${file}: ${(error as Error).message}`;
    throw error;
  }
}

/** Primary result code (https://www.sqlite.org/rescode.html) of an error thrown by SQLite; null for any other. */
export function sqliteCode(error: unknown): number | null {
  const code = sqliteExtendedCode(error);
  return code === null ? null : code & 0xff;
}

/** The same with its subcode in the upper bits. */
export function sqliteExtendedCode(error: unknown): number | null {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : null;
}

export const sqliteBusy = 5;
export const sqliteLocked = 6;
export const sqliteCorrupt = 11;
export const sqliteFull = 13;
export const sqliteNotADatabase = 26;

/** BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL: the same rows may pass later. */
const passingCodes: readonly number[] = [sqliteBusy, sqliteLocked, 7, 8, 10, 13, 14, 15];

export function isPassing(code: number | null): boolean {
  return code !== null && passingCodes.includes(code);
}

/** Longest wait for another process' write, as for the ledger (design §11). */
const busyWaitMaxMs = 250;
const busyRetryMs = 5;

/**
 * Longest wait for the lock of a checkpoint of ours. Its last step syncs with the lock held, which takes as long as the
 * disk is busy. Below the 2 s for which a worker waits for the books.
 */
export const checkpointWaitMs = 1_500;

/** Checkpoints that run in threads of this process, by file. */
const running = new Map<string, number>();

/** Runs a checkpoint of the file, and is true for `isCheckpointing` until it has ended. */
export async function checkpointing(file: string, checkpoint: () => Promise<void>): Promise<void> {
  running.set(file, (running.get(file) ?? 0) + 1);
  try {
    await checkpoint();
  } finally {
    const left = (running.get(file) ?? 1) - 1;
    if (left === 0) running.delete(file);
    else running.set(file, left);
  }
}

/** Whether a thread of this process may hold the file's lock: that ends soon, so callers wait longer for it. */
export function isCheckpointing(file: string): boolean {
  return running.has(file);
}

export interface TransactionOptions {
  /** `DEFERRED`: it only reads, and waits for no writer. `ITSELF`: it is one statement, which SQLite makes one. */
  begin?: 'IMMEDIATE' | 'DEFERRED' | 'ITSELF';
  /** How long it is tried while another process has the database. A checkpoint of ours may have it for longer. */
  waitMaxMs?: number;
}

/**
 * One transaction, begun and ended within one turn of the loop: `work` must not wait for anything. While another
 * process or a checkpoint writes, the loop goes on and this is tried again; then, or when the disk refuses, a FailureError
 * `quota-unavailable`. Anything else that `work` throws is thrown, with nothing written.
 */
export async function transaction<T>(
  database: Database,
  work: () => T,
  { begin = 'IMMEDIATE', waitMaxMs = busyWaitMaxMs }: TransactionOptions = {},
): Promise<T> {
  const sinceMs = performance.now();
  for (;;) {
    try {
      return atOnce(database, work, begin);
    } catch (error) {
      const code = sqliteCode(error);
      if (code === null || !isPassing(code)) throw error;
      const busy = code === sqliteBusy || code === sqliteLocked;
      const patienceMs = isCheckpointing(database.file) ? Math.max(waitMaxMs, checkpointWaitMs) : waitMaxMs;
      if (!busy || performance.now() - sinceMs >= patienceMs) throw unavailable(error);
    }
    await pause(busyRetryMs);
  }
}

function atOnce<T>(database: Database, work: () => T, begin: NonNullable<TransactionOptions['begin']>): T {
  if (begin === 'ITSELF') return work();
  database.exec(`BEGIN ${begin}`);
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    undo(database);
    throw error;
  }
}

/** SQLite ends the transaction itself when the disk is full. Report that reason, not the missing transaction. */
export function undo(database: Database): void {
  try {
    database.exec('ROLLBACK');
  } catch {}
}

/** The caller's error for a database that cannot be used just now. `outcome`: of the change. */
export function unavailable(
  error: unknown,
  outcome: 'nothing was changed' | 'a power cut may undo the change' = 'nothing was changed',
): FailureError {
  const reason = error instanceof Error ? error.message : String(error);
  return new FailureError({
    kind: 'quota-unavailable',
    message: `The database cannot be used now (${reason}); ${outcome}. Retry it.`,
  });
}

const pauseMs = 20;
const busyRoundsMax = 20;

/** One transaction of housekeeping, which lets other writers go first. `work` must not wait for anything. */
export async function patiently<T>(database: Database, work: () => T): Promise<T> {
  for (let round = 1; ; round += 1) {
    try {
      database.exec('BEGIN IMMEDIATE');
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      undo(database);
      if (sqliteCode(error) !== sqliteBusy || round === busyRoundsMax) throw error;
      await pause(pauseMs);
    }
  }
}

/** A database and its log of this size are read in one or two milliseconds. */
const smallBytesMax = 512 * 1024;

/** Whether all of a database may be read on the loop: a thread for it takes forty times as long to start. */
export function isSmallDatabase(file: string): boolean {
  const bytesOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return bytesOf(file) + bytesOf(`${file}-wal`) <= smallBytesMax;
}

/**
 * Before 3.51 SQLite takes the unknown word NOOP for PASSIVE and would checkpoint here, on the loop and unsynced: a
 * power cut could then damage the file. Node 24 brought newer ones in its minor releases.
 */
export function requireNoopCheckpoint(database: Database): void {
  const version = String(database.prepare('SELECT sqlite_version() AS version').get()?.version);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 3 || (major === 3 && minor >= 51)) return;
  throw new Error(
    `The ledger needs SQLite 3.51; Node ${process.versions.node} brings ${version}. Update Node to the newest 24.`,
  );
}
