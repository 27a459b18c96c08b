import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const mark = '.before-schema-';
/** No copying takes as long. */
const forgottenMs = 86_400_000;

/** Path of the copy of the file at that version of its schema. */
export function copyBeforeSchema(file: string, version: number): string {
  return `${file}${mark}${version}`;
}

/**
 * Copies the database, which is at `version`, into its folder, whole and durable; of earlier copies none stays.
 * `versionNow` reads its version: another process may take the steps meanwhile, and has then made the copy.
 */
export function keepSchemaCopy(
  file: string,
  version: number,
  { copyTo, versionNow }: { copyTo(path: string): unknown; versionNow(): number },
): void {
  const copy = copyBeforeSchema(file, version);
  if (existsSync(copy)) return;
  const fresh = `${copy}.new-${process.pid}`;
  try {
    // It holds secrets of keys: SQLite would make it for everybody's eyes.
    const descriptor = openSync(fresh, 'w', 0o600);
    try {
      copyTo(fresh);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (versionNow() !== version) return;
    removeEarlier(file);
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
