import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Where one server keeps everything that must survive it. Paths are absolute. */
export interface DataFolder {
  readonly path: string;
  readonly culvertDb: string;
  readonly ledgerDb: string;
}

/** Makes the folder if need be, for its owner's eyes only; an existing one keeps its mode. */
export function openDataFolder(dir: string): DataFolder {
  const path = resolve(dir);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return { path, culvertDb: join(path, 'culvert.db'), ledgerDb: join(path, 'ledger.db') };
}

/**
 * The generated admin key: made by `mint` at the first start, kept in `admin.key` which only its owner reads, since
 * the CLI must present it to the running server.
 */
export function ensureAdminKey(folder: DataFolder, mint: () => string): { key: string; created: boolean } {
  const file = join(folder.path, 'admin.key');
  const kept = readIfThere(file)?.trim();
  if (kept !== undefined && kept !== '') return { key: kept, created: false };
  const key = mint();
  // Written aside and renamed: a crash in between must not leave half a key that opens the admin API.
  writeFileSync(`${file}.new`, `${key}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return { key, created: true };
}

/** A file's text, or undefined when there is no such file. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
