import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { DataFolder } from './data-folder.ts';
import { naming } from './database.ts';
import { keptTables } from './kept-tables.ts';

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

function isEmpty(folder: DataFolder, file: keyof typeof keptTables): boolean {
  const path = folder[file];
  if (!existsSync(path)) return true;
  const database = naming(path, () => new DatabaseSync(path, { readOnly: true, timeout: lookTimeoutMs }));
  try {
    return naming(path, () => {
      // An older version's file may lack some of them.
      const there = new Set(database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all().map(nameOf));
      const tables = keptTables[file].filter(({ name }) => there.has(name));
      return tables.every(({ name }) => database.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get() === undefined);
    });
  } finally {
    database.close();
  }
}

function nameOf(row: Readonly<Record<string, unknown>>): string {
  return String(row.name);
}
