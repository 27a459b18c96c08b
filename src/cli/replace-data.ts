import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type DataFolder, dataFolderAt } from '../stores/sqlite/data-folder.ts';

/** Parts of a data folder that a restore replaces, each whole: databases, folders, and the files that hold secrets. */
export const databaseNames: readonly string[] = ['culvert.db', 'ledger.db'];
export const pageNames: readonly string[] =
  'pages.db crawl.db responses.db batches.db bodies.db vector-stores.db'.split(' ');
const secretNames: readonly string[] = ['secret', 'secret.earlier'];
export const localNames: readonly string[] = ['vectors', 'files', ...secretNames];

/** Parts that hold something that nothing makes again. */
export function dataIn(folder: DataFolder, names: readonly string[]): string[] {
  const paths = names
    .filter((name) => name !== 'files' && !secretNames.includes(name))
    .map((name) => join(folder.path, name));
  return paths.filter((path) => existsSync(path) && (!path.endsWith('vectors') || readdirSync(path).length > 0));
}

/**
 * Makes these files in a neighbouring folder, and puts them in place only when they are whole. Earlier files stay as
 * `*.before-restore-<time>`, whose paths it resolves to. A failure leaves everything as it was. The caller holds the
 * folder's lock.
 */
export async function replaceData(
  folder: DataFolder,
  names: readonly string[],
  now: Date,
  make: (side: string) => Promise<void>,
): Promise<readonly string[]> {
  const stamp = now.toISOString().replace(/[:.]/g, '-');
  // Inside, since a rename does not cross file systems.
  const side = dataFolderAt(join(folder.path, `restore-${stamp}`));
  const moved: [from: string, to: string][] = [];
  const move = (from: string, to: string) => {
    // Committed rows may be in the log only, which belongs to its database by name.
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
    const made = names.filter((name) => existsSync(join(side.path, name)));
    // A backup of a server whose secret is configured holds none: then those that are here may be needed.
    const replaced = names.filter((name) => !secretNames.includes(name) || made.includes('secret'));
    const setAside = replaced
      .map((name) => join(folder.path, name))
      .filter((path) => existsSync(path))
      .map((path) => [path, `${path}.before-restore-${stamp}`] as const);
    for (const [path, aside] of setAside) move(path, aside);
    for (const name of made) move(join(side.path, name), join(folder.path, name));
    return setAside.map(([, aside]) => aside);
  } catch (error) {
    for (const [from, to] of moved.reverse()) renameSync(to, from);
    throw error;
  } finally {
    rmSync(side.path, { recursive: true, force: true });
  }
}
