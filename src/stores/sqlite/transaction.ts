import { setTimeout as pause } from 'node:timers/promises';
import { FailureError } from '../../kernel/failure.ts';
import { type Database, isPassing, sqliteBusy, sqliteCode, sqliteLocked } from './database.ts';

/** Longest wait for another process' write, as for the ledger (design §11). */
const busyWaitMaxMs = 250;
const busyRetryMs = 5;

export interface TransactionOptions {
  /** `DEFERRED`: it only reads, and waits for no writer. `ITSELF`: it is one statement, which SQLite makes one. */
  begin?: 'IMMEDIATE' | 'DEFERRED' | 'ITSELF';
  /** How long it is tried while another process, or a checkpoint, has the database. */
  waitMaxMs?: number;
}

/**
 * One transaction, begun and ended within one turn of the loop: `work` must not wait for anything. While another
 * process writes, the loop goes on and this is tried again; then, or when the disk refuses, a FailureError
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
      if (!busy || performance.now() - sinceMs >= waitMaxMs) throw unavailable(error);
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

/** The caller's error for a database that cannot be used just now. */
export function unavailable(error: unknown): FailureError {
  const reason = error instanceof Error ? error.message : String(error);
  return new FailureError({
    kind: 'quota-unavailable',
    message: `The database cannot be used now (${reason}); nothing was changed. Retry it.`,
  });
}
