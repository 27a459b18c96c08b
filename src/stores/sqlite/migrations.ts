import { existsSync } from 'node:fs';
import { type Migration, NewerSchema } from '../migration.ts';
import { copyBeforeSchema, keepCopy } from './copy-before-schema.ts';
import { type Database, naming } from './database.ts';
import { undo } from './transaction.ts';

export interface MigrationState {
  current: number;
  pending: readonly Migration[];
}

/** The steps that `migrate` would take. */
export function migrationState(database: Pick<Database, 'prepare'>, migrations: readonly Migration[]): MigrationState {
  const current = userVersion(database);
  return { current, pending: migrations.filter((migration) => migration.version > current) };
}

/**
 * As `migrate`, for a file that cannot be made again: the file of an earlier version is copied first, so that its
 * program can be used again. Throws an error for `whyUnusable` when the disk has no room for the copy.
 */
export function migrateKept(database: Database, migrations: readonly Migration[]): string[] {
  const { current, pending } = migrationState(database, migrations);
  if (current > 0 && pending.length > 0) keepCopy(database, current, () => userVersion(database));
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
    if (current > migrations.length) {
      const copy = copyBeforeSchema(database.file, migrations.length);
      throw new NewerSchema(database.file, current, migrations.length, existsSync(copy) ? copy : null);
    }
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

function userVersion(database: Pick<Database, 'prepare'>): number {
  const row = database.prepare('PRAGMA user_version').get();
  return Number(row?.user_version);
}
