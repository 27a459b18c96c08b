import { type Database, openDatabase } from './database.ts';
import { ledgerMigrations } from './ledger-schema.ts';
import { migrateKept } from './migrations.ts';

/** Longest wait of a start for another that migrates. */
const migrationBusyTimeoutMs = 10_000;
/**
 * A commit writes whole pages, mostly two or three, so small ones are cheaper (bench/ledger/row-cost.ts: at one open a
 * commit 20 µs a request where 4,096 bytes cost 22.5, at four 11.7 and 12.4); with 1,024 long rows spill.
 */
const pageBytes = 2_048;

/** Opens or creates `ledger.db`, brought up to date; every commit is durable. */
export function openLedgerDatabase(file: string): Database {
  const database = openDatabase(file, 'fsync', migrationBusyTimeoutMs, pageBytes);
  try {
    migrateKept(database, ledgerMigrations);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
