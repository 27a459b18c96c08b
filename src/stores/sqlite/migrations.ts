import { type Database, naming } from './database.ts';
import { undo } from './transaction.ts';

/** One step forward; never edited once released. `sql` may hold several statements. */
export interface Migration {
  /** 1, 2, 3 … without gaps. */
  version: number;
  name: string;
  sql: string;
}

export interface MigrationState {
  current: number;
  pending: readonly Migration[];
}

/** Its message is a sentence for the operator. */
export class NewerSchema extends Error {}

/** What `migrate` would do. */
export function migrationState(database: Pick<Database, 'prepare'>, migrations: readonly Migration[]): MigrationState {
  const current = userVersion(database);
  return { current, pending: migrations.filter((migration) => migration.version > current) };
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
      throw new NewerSchema(
        `${database.file} was written by a newer Culvert (schema ${current}, this one knows ${migrations.length}); run that version or restore a backup`,
      );
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
