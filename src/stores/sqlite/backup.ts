import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type BackupRow, portable, RestoreRefused, textAsBytes } from '../backup-row.ts';
import type { BackupTable } from '../backup-tables.ts';
import { laterMigrations, openCulvertDatabase } from './culvert-schema.ts';
import type { DataFolder } from './data-folder.ts';
import { type Database, naming, type SqlValue } from './database.ts';
import { openLedgerDatabase } from './ledger-schema.ts';
import { ledgerKey, ledgerKeySpan } from './ledger-writer.ts';
import { migrateWithCopy, openMigrated } from './migrations.ts';
import type { Snapshots } from './snapshots.ts';
import { backupTables, holdsRows } from './sqlite-facts.ts';

const commitRows = 5_000;
type FileName = keyof typeof backupTables;
const fileNames: readonly FileName[] = ['culvertDb', 'ledgerDb'];

/** Every row that a restore needs, as of the instant of these snapshots. */
export async function* readBackup(
  folder: DataFolder,
  snapshots: Snapshots,
): AsyncGenerator<BackupRow, void, undefined> {
  for (const file of fileNames) {
    const database = snapshots.of(folder[file]);
    if (database === null) continue;
    try {
      for (const table of backupTables[file]) {
        const { name, order } = table;
        for (const found of database.prepare(`SELECT * FROM ${name} ORDER BY ${order}`).iterate()) {
          // The rowid is made of the request id, here alone.
          const { key, ...row } = found;
          yield { table: name, row: portable(order === 'key' ? row : found) };
        }
      }
    } catch (error) {
      naming(folder[file], () => {
        throw error;
      });
    } finally {
      snapshots.done(folder[file]);
    }
  }
}

/** Rows of the databases that requests open later, which PostgreSQL has as tables. The files are brought up to date. */
export function* readLaterDatabases(folder: string): Generator<BackupRow, void, undefined> {
  for (const [name, migrations] of Object.entries(laterMigrations)) {
    const file = join(folder, name);
    if (!existsSync(file)) continue;
    const database = openMigrated(file, 'checkpoint', (opened) => migrateWithCopy(opened, migrations));
    try {
      const tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
      for (const { name: table } of database.prepare(tables).all()) {
        for (const row of database.prepare(`SELECT * FROM ${table}`).iterate()) {
          if (table === 'crawl_page') Object.assign(row, { key_hash: hashOf(row.key), shape_hash: hashOf(row.shape) });
          yield { table: String(table), row: portable(row) };
        }
      }
    } finally {
      database.close();
    }
  }
}

/** PostgreSQL finds pages of crawls by digests. */
function hashOf(place: unknown): Buffer | null {
  return typeof place === 'string' ? createHash('sha256').update(place).digest() : null;
}

/**
 * Makes the files of a folder, or fills empty ones, with the rows of a backup of any driver; complete and closed once
 * it resolves. Columns that are another driver's own are left out. When anything fails, the files are removed; throws
 * `RestoreRefused` for rows that are there already, which stay, and for rows that cannot be.
 */
export async function writeBackup(folder: DataFolder, rows: AsyncIterable<BackupRow>): Promise<void> {
  const databases = new Map<FileName, Database>();
  let filling = false;
  try {
    for (const file of fileNames) {
      const database =
        file === 'culvertDb' ? openCulvertDatabase(folder.culvertDb, 'fsync') : openLedgerDatabase(folder.ledgerDb);
      databases.set(file, database);
      if (holdsRows(database, backupTables[file])) {
        throw new RestoreRefused(`${database.file} is not empty. Restore into a new data folder (storage.data_dir).`);
      }
    }
    filling = true;
    const tables = tablesOf(databases);
    for (const database of databases.values()) database.exec('BEGIN IMMEDIATE');
    let waiting = 0;
    for await (const { table, row } of rows) {
      const insert = tables.get(table);
      if (insert === undefined) {
        throw new RestoreRefused(`The backup holds a table that this version does not know: ${JSON.stringify(table)}.`);
      }
      insert(row);
      waiting += 1;
      if (waiting % commitRows !== 0) continue;
      for (const database of databases.values()) database.exec('COMMIT; BEGIN IMMEDIATE');
    }
    databases.get('culvertDb')?.exec('UPDATE store_version SET version = version + 1');
    for (const database of databases.values()) database.exec('COMMIT');
    for (const database of databases.values()) database.close();
  } catch (error) {
    for (const database of databases.values()) database.close();
    if (filling) for (const file of fileNames) removeFile(folder[file]);
    throw error;
  }
}

type Insert = (row: BackupRow['row']) => void;

function tablesOf(databases: ReadonlyMap<FileName, Database>): Map<string, Insert> {
  const tables = new Map<string, Insert>();
  for (const [file, database] of databases) {
    for (const table of backupTables[file]) tables.set(table.name, insertInto(database, table));
  }
  return tables;
}

/** A column that a row lacks gets its default; what a row may not lack, SQLite refuses. */
function insertInto(database: Database, { name, order }: BackupTable): Insert {
  const known = new Map(
    database
      .prepare(`PRAGMA table_info(${name})`)
      .all()
      .map((column) => [String(column.name), String(column.type)]),
  );
  const hasKey = order === 'key';
  const statements = new Map<string, ReturnType<Database['prepare']>>();

  function statementFor(columns: readonly string[]) {
    const list = columns.map((column) => `"${column}"`).join(', ');
    let statement = statements.get(list);
    if (statement === undefined) {
      // A taken key is passed over: two requests may share it.
      const taken = hasKey ? 'ON CONFLICT (key) DO NOTHING' : '';
      const marks = columns.map(() => '?').join(', ');
      statement = database.prepare(`INSERT INTO ${name} (${list}) VALUES (${marks}) ${taken}`);
      statements.set(list, statement);
    }
    return statement;
  }

  return (row) => {
    const columns = Object.keys(row).filter((column) => known.has(column) && !(hasKey && column === 'key'));
    const values = columns.map((column) => sqlValue(name, column, row[column], known.get(column)));
    naming(database.file, () => {
      if (!hasKey) {
        statementFor(columns).run(...values);
        return;
      }
      const first = typeof row.request_id === 'string' ? ledgerKey(row.request_id) : null;
      if (first === null)
        throw new RestoreRefused(`The backup holds a request with an id that Culvert does not give, in ${name}.`);
      const statement = statementFor([...columns, 'key']);
      for (let key = first; key <= first + ledgerKeySpan; key += 1) {
        if (statement.run(...values, key).changes === 1) return;
      }
      throw new RestoreRefused(`The backup holds too many requests of the same millisecond, in ${name}.`);
    });
  };
}

function sqlValue(table: string, column: string, value: unknown, type: string | undefined): SqlValue {
  if (type === 'BLOB' && typeof value === 'string') return textAsBytes(value);
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new RestoreRefused(`The backup holds a value that ${table}.${column} cannot hold.`);
}

function removeFile(file: string): void {
  for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true });
}
