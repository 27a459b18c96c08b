import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { accountTables, type BackupTable, ledgerTables } from '../backup-tables.ts';
import type { SchemaState } from '../migration.ts';
import { culvertMigrations, openCulvertDatabase } from './culvert-schema.ts';
import type { DataFolder } from './data-folder.ts';
import { type Database, naming } from './database.ts';
import { ledgerMigrations, openLedgerDatabase } from './ledger-schema.ts';
import { migrationState } from './migrations.ts';

/** Facts of the embedded database, for `culvert doctor`. Makes and changes no file. */
export interface SqliteFacts {
  /** Such as `SQLite 3.53.0`. */
  version: string;
  /** Whether the folder holds no account, key, request or other row of ours. */
  empty: boolean;
}

const lookTimeoutMs = 250;

/** Throws what `whyUnusable` puts into words. */
export function sqliteFacts(folder: DataFolder): SqliteFacts {
  const memory = new DatabaseSync(':memory:');
  const version = String(memory.prepare('SELECT sqlite_version() AS version').get()?.version);
  memory.close();
  const empty = (['culvertDb', 'ledgerDb'] as const).every((file) => isEmpty(folder, file));
  return { version: `SQLite ${version}`, empty };
}

function isEmpty(folder: DataFolder, file: keyof typeof backupTables): boolean {
  const path = folder[file];
  if (!existsSync(path)) return true;
  const database = naming(path, () => new DatabaseSync(path, { readOnly: true, timeout: lookTimeoutMs }));
  try {
    return naming(path, () => {
      // An older version's file may lack some of them.
      const there = new Set(database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all().map(nameOf));
      const tables = backupTables[file].filter(({ name }) => there.has(name));
      return tables.every(({ name }) => database.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get() === undefined);
    });
  } finally {
    database.close();
  }
}

function nameOf(row: Readonly<Record<string, unknown>>): string {
  return String(row.name);
}

/** Makes and changes no file. */
export function pendingMigrations(folder: DataFolder): SchemaState[] {
  const files = [
    [folder.culvertDb, culvertMigrations],
    [folder.ledgerDb, ledgerMigrations],
  ] as const;
  return files.map(([path, migrations]) => {
    const name = basename(path);
    if (!existsSync(path)) return { database: name, current: 0, pending: migrations.map((step) => step.name) };
    const database = naming(path, () => new DatabaseSync(path, { readOnly: true, timeout: lookTimeoutMs }));
    try {
      const state = naming(path, () => migrationState(database, migrations));
      return { database: name, current: state.current, pending: state.pending.map((step) => step.name) };
    } finally {
      database.close();
    }
  });
}

/** Makes both files, or brings them up to date, as a start would. Throws what `whyUnusable` puts into words. */
export function migrateDataFolder(folder: DataFolder): void {
  openCulvertDatabase(folder.culvertDb, 'fsync').close();
  openLedgerDatabase(folder.ledgerDb).close();
}

/** By the file that they are in. A request's primary key here is a number made of its id (ledger-writer.ts). */
export const backupTables: Readonly<Record<keyof Pick<DataFolder, 'culvertDb' | 'ledgerDb'>, readonly BackupTable[]>> =
  {
    culvertDb: accountTables,
    ledgerDb: ledgerTables.map((table) => (table.order === 'request_id' ? { ...table, order: 'key' } : table)),
  };

export function holdsRows(database: Database, tables: readonly BackupTable[]): boolean {
  const any = tables.map(({ name }) => `EXISTS (SELECT 1 FROM ${name})`).join(' OR ');
  return database.prepare(`SELECT ${any} AS found`).get()?.found === 1;
}
