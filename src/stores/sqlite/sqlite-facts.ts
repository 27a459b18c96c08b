import { existsSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { accountTables, type BackupTable, ledgerTables } from '../backup-tables.ts';
import type { Migration, SchemaState } from '../migration.ts';
import { culvertMigrations, laterMigrations, openCulvertDatabase } from './culvert-schema.ts';
import type { DataFolder } from './data-folder.ts';
import { type Database, naming } from './database.ts';
import { ledgerMigrations, openLedgerDatabase } from './ledger-schema.ts';
import { migrate, migrateWithCopy, openMigrated, stateOfFile } from './migrations.ts';
import { pageMigrations } from './page-store.ts';

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

/** Databases that stores of other rooms make, by their path within the folder. */
type OtherDatabases = readonly (readonly [name: string, migrations: readonly Migration[]])[];

/** Makes and changes no file. Of databases that requests open, `others` too, it names those that are there. */
export function pendingMigrations(folder: DataFolder, others: OtherDatabases): SchemaState[] {
  const state = (path: string, migrations: readonly Migration[]): SchemaState => {
    const database = relative(folder.path, path);
    if (!existsSync(path)) return { database, current: 0, pending: migrations.map(({ name }) => name) };
    const { current, pending } = stateOfFile(path, migrations);
    return { database, current, pending: pending.map(({ name }) => name) };
  };
  return [
    state(folder.culvertDb, culvertMigrations),
    state(folder.ledgerDb, ledgerMigrations),
    ...laterIn(folder, others).map(([path, migrations]) => ({ ...state(path, migrations), later: true as const })),
  ];
}

function laterIn(folder: DataFolder, others: OtherDatabases): [path: string, migrations: readonly Migration[]][] {
  return [...Object.entries({ ...laterMigrations, [pagesFile]: pageMigrations }), ...others]
    .map(([name, migrations]): [string, readonly Migration[]] => [join(folder.path, name), migrations])
    .filter(([path]) => existsSync(path));
}

const pagesFile = 'pages.db';

/**
 * Makes both files, or brings them up to date, as a start would, and those that are there of the databases that requests
 * open. Throws what `whyUnusable` puts into words.
 */
export function migrateDataFolder(folder: DataFolder, others: OtherDatabases): void {
  openCulvertDatabase(folder.culvertDb, 'fsync').close();
  openLedgerDatabase(folder.ledgerDb).close();
  for (const [path, migrations] of laterIn(folder, others)) {
    // Pages can be read again.
    const bring = basename(path) === pagesFile ? migrate : migrateWithCopy;
    openMigrated(path, 'fsync', (database) => bring(database, migrations)).close();
  }
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
