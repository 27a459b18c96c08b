import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataFolder } from '../src/stores/sqlite/data-folder.ts';
import { migrateDataFolder } from '../src/stores/sqlite/sqlite-facts.ts';

let fresh: ReadonlyMap<string, Buffer> | null = null;

/**
 * Lays the empty databases of a first start into a data folder that has none. All migrations of a new file take half of a
 * gateway's start, so a process of tests runs them once; `src/stores/sqlite/upgrade.test.ts` and programs that tests start
 * run them.
 */
export function layFreshStorage(dataDir: string): void {
  fresh ??= migratedFiles();
  for (const [name, bytes] of fresh) {
    const path = join(dataDir, name);
    if (!existsSync(path)) writeFileSync(path, bytes, { mode: 0o600 });
  }
}

function migratedFiles(): ReadonlyMap<string, Buffer> {
  const path = mkdtempSync(join(tmpdir(), 'culvert-fresh-'));
  try {
    migrateDataFolder(openDataFolder(path), []);
    return new Map(['culvert.db', 'ledger.db'].map((name) => [name, readFileSync(join(path, name))]));
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}
