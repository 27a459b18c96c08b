import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

/** The seam over the embedded engine: every other call of SQLite goes through these. */
export interface Database {
  readonly file: string;
  exec(sql: string): void;
  prepare(sql: string): StatementSync;
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
 * connection writes; 0 where the caller retries by itself. `pageBytes` is for a file that is made here.
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
