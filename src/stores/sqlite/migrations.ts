import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { copyBeforeSchema, keepSchemaCopy } from '../../kernel/sqlite/schema-copy.ts';
import { type Migration, NewerSchema } from '../migration.ts';
import { type Database, type Durability, naming, openDatabase, undo } from './database.ts';

export interface MigrationState {
  current: number;
  pending: readonly Migration[];
}

/** Longest wait of a start for another that migrates. */
export const migrationBusyTimeoutMs = 10_000;

/** Opens or creates a database that `bring` brings up to date. */
export function openMigrated(
  file: string,
  durability: Durability,
  bring: (database: Database) => void,
  pageBytes?: 2_048 | 4_096,
): Database {
  const database = openDatabase(file, durability, migrationBusyTimeoutMs, pageBytes);
  try {
    bring(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The steps that `migrate` would take. */
export function migrationState(database: Pick<Database, 'prepare'>, migrations: readonly Migration[]): MigrationState {
  const current = userVersion(database);
  return { current, pending: migrations.filter((migration) => migration.version > current) };
}

/** The state of a file, which is not changed. */
export function stateOfFile(file: string, migrations: readonly Migration[]): MigrationState {
  const database = naming(file, () => new DatabaseSync(file, { readOnly: true, timeout: lookTimeoutMs }));
  try {
    return naming(file, () => migrationState(database, migrations));
  } finally {
    database.close();
  }
}

const lookTimeoutMs = 250;

/**
 * The same as `migrate`, for a file that cannot be made again: the file of an earlier version is copied first, so that
 * its program can be used again. Throws an error for `whyUnusable` when the disk has no room for the copy.
 */
export function migrateWithCopy(database: Database, migrations: readonly Migration[]): string[] {
  const { current, pending } = migrationState(database, migrations);
  if (current > 0 && pending.length > 0) {
    keepSchemaCopy(database.file, current, {
      copyTo: (path) => naming(path, () => database.prepare('VACUUM INTO ?').run(path)),
      versionNow: () => userVersion(database),
    });
  }
  return migrate(database, migrations);
}

/**
 * Brings the file up to date; returns the names of the steps taken. Safe when two processes start at once: the write
 * lock is taken before the version is read, so the second finds the work done. Refuses a file of a newer Culvert.
 */
export function migrate(database: Database, migrations: readonly Migration[]): string[] {
  // Without the lock first: every start but the first after an upgrade ends here.
  if (userVersion(database) === migrations.length) return [];
  naming(database.file, () => database.exec('BEGIN IMMEDIATE'));
  try {
    const { current, pending } = migrationState(database, migrations);
    if (current > migrations.length) throw newerSchema(database.file, current, migrations.length);
    for (const migration of pending) {
      database.exec(migration.sql);
      database.exec(`PRAGMA user_version = ${migration.version}`);
    }
    database.exec('COMMIT');
    return pending.map((migration) => migration.name);
  } catch (error) {
    undo(database);
    // `database or disk is full` alone would not say whose.
    return naming(database.file, () => {
      throw error;
    });
  }
}

/** The error for a file of a later version, which names the copy that this one can use where there is one. */
export function newerSchema(file: string, found: number, known: number): NewerSchema {
  const copy = copyBeforeSchema(file, known);
  return new NewerSchema(file, found, known, existsSync(copy) ? copy : null);
}

function userVersion(database: Pick<Database, 'prepare'>): number {
  const row = database.prepare('PRAGMA user_version').get();
  return Number(row?.user_version);
}
