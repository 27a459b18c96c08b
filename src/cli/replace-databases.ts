import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type DataFolder, dataFolderAt } from '../stores/sqlite/data-folder.ts';

/** The databases of a data folder that exist. */
export function databasesIn(folder: DataFolder): string[] {
  return [folder.culvertDb, folder.ledgerDb].filter((file) => existsSync(file));
}

/**
 * Has databases made in a folder beside, and only when they are whole puts them in place; those that were there are
 * kept as `*.before-restore-<time>`, whose paths it resolves to. A failure leaves everything as it was. Whoever calls
 * holds the folder's lock.
 */
export async function putDatabases(
  folder: DataFolder,
  now: Date,
  make: (side: string) => Promise<void>,
): Promise<readonly string[]> {
  const stamp = now.toISOString().replace(/[:.]/g, '-');
  // Inside, since a rename does not cross file systems.
  const side = dataFolderAt(join(folder.path, `restore-${stamp}`));
  const moved: [from: string, to: string][] = [];
  const move = (from: string, to: string) => {
    // What is committed may stand in the log alone; it goes by its database's name.
    for (const suffix of ['', '-wal']) {
      if (!existsSync(from + suffix)) continue;
      renameSync(from + suffix, to + suffix);
      moved.push([from + suffix, to + suffix]);
    }
    rmSync(`${from}-shm`, { force: true });
  };
  try {
    mkdirSync(side.path, { mode: 0o700 });
    await make(side.path);
    const kept = databasesIn(folder).map((file) => [file, `${file}.before-restore-${stamp}`] as const);
    for (const [file, aside] of kept) move(file, aside);
    for (const file of databasesIn(side)) move(file, join(folder.path, basename(file)));
    return kept.map(([, aside]) => aside);
  } catch (error) {
    for (const [from, to] of moved.reverse()) renameSync(to, from);
    throw error;
  } finally {
    rmSync(side.path, { recursive: true, force: true });
  }
}
