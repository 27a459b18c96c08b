import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { SchemaState } from '../migration.ts';
import { culvertMigrations, openCulvertDatabase } from './culvert-schema.ts';
import type { DataFolder } from './data-folder.ts';
import { naming } from './database.ts';
import { openLedgerDatabase } from './ledger-database.ts';
import { ledgerMigrations } from './ledger-schema.ts';
import { migrationState } from './migrations.ts';

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

const lookTimeoutMs = 250;

/** Makes both files, or brings them up to date, as a start would. Throws what `whyUnusable` puts into words. */
export function migrateDataFolder(folder: DataFolder): void {
  openCulvertDatabase(folder.culvertDb, 'fsync').close();
  openLedgerDatabase(folder.ledgerDb).close();
}
