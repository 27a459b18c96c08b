import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Database, naming } from './database.ts';

const mark = '.before-schema-';
/** No copying takes as long. */
const forgottenMs = 86_400_000;

/** Path of the copy of the file at that version of its schema. */
export function copyBeforeSchema(file: string, version: number): string {
  return `${file}${mark}${version}`;
}

/**
 * Copies the database, which is at `version`, beside itself, whole and durable; of earlier copies none stays. `versionNow`
 * reads its version: another process may take the steps meanwhile, and has then made the copy.
 */
export function keepCopy(database: Database, version: number, versionNow: () => number): void {
  const copy = copyBeforeSchema(database.file, version);
  if (existsSync(copy)) return;
  const fresh = `${copy}.new-${process.pid}`;
  try {
    // It holds secrets of keys: SQLite would make it for everybody's eyes.
    const descriptor = openSync(fresh, 'w', 0o600);
    try {
      naming(fresh, () => database.prepare('VACUUM INTO ?').run(fresh));
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (versionNow() !== version) return;
    removeEarlier(database.file);
    renameSync(fresh, copy);
  } finally {
    rmSync(fresh, { force: true });
  }
}

/** Copies of earlier upgrades, and files of a killed one. */
function removeEarlier(file: string): void {
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(`${basename(file)}${mark}`)) continue;
    const path = join(dirname(file), name);
    const changedMs = name.includes('.new-') ? (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) : 0;
    if (changedMs < Date.now() - forgottenMs) rmSync(path, { force: true });
  }
}
