import { setTimeout as pause } from 'node:timers/promises';
import { type Database, sqliteBusy, sqliteCode } from './database.ts';
import { undo } from './transaction.ts';

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
