import type { Database } from './database.ts';
import type { Housekeeper } from './housekeeper.ts';

/** Moves a write-ahead log into its database in another thread, so that no commit on the loop ever does. */
export interface LateCheckpoint {
  /** After each commit. */
  wrote(): void;
}

/** A row may be a megabyte: the log is moved before it grows far beyond this. */
const walCheckpointBytes = 16 * 1024 * 1024;

/** Of a connection opened with `checkpoint`; `onFailed` hears of a checkpoint that failed. */
export function createLateCheckpoint(
  database: Database,
  housekeeper: Housekeeper,
  onFailed: (error: unknown) => void,
): LateCheckpoint {
  database.exec('PRAGMA wal_autocheckpoint = 0');
  const measure = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  const frameBytes = Number(database.prepare('PRAGMA page_size').get()?.page_size) + 24;
  return {
    wrote() {
      const row = measure.get();
      if ((Number(row?.log) - Number(row?.checkpointed)) * frameBytes < walCheckpointBytes) return;
      housekeeper.checkpoint().catch(onFailed);
    },
  };
}
