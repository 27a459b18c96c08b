import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { DataFolder } from './data-folder.ts';

/** A database whose pages are not what SQLite wrote. */
export interface Damage {
  /** Its absolute path. */
  file: string;
  /** SQLite's words for the first fault. */
  what: string;
}

const lookTimeoutMs = 250;

/** Every database of a data folder that there is, absolute. */
export function databasesIn({ path }: DataFolder): string[] {
  const names = ['culvert.db', 'ledger.db', 'crawl.db', 'pages.db', 'responses.db', 'batches.db', ...shardNames(path)];
  return names.map((name) => join(path, name)).filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
}

export function shardNames(path: string): string[] {
  try {
    const names = readdirSync(join(path, 'vectors')).filter((name) => /^shard-\d+\.db$/.test(name));
    return names.map((name) => join('vectors', name));
  } catch {
    return [];
  }
}

/**
 * Reads all of a database and changes nothing: minutes for many GB. `whole` also checks rows against their indexes.
 * Null when it is sound, and when it cannot be read now, which is not damage.
 */
export function damageOf(file: string, depth: 'quick' | 'whole'): Damage | null {
  try {
    const database = new DatabaseSync(file, { readOnly: true, timeout: lookTimeoutMs });
    try {
      const found = database.prepare(depth === 'whole' ? 'PRAGMA integrity_check(1)' : 'PRAGMA quick_check(1)').get();
      const what = String(Object.values(found ?? {})[0]);
      return what === 'ok' ? null : { file, what: what.replaceAll(/\s+/g, ' ') };
    } finally {
      database.close();
    }
  } catch (error) {
    const code = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 0;
    if (!damageCodes.includes(code & 0xff)) return null;
    return { file, what: (error as Error).message };
  }
}

/** ERROR (a schema that cannot be read), CORRUPT, NOTADB. */
const damageCodes: readonly number[] = [1, 11, 26];
