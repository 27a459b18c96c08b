import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type DataFolder, ensureSecret, readIfThere, replaceFile } from './data-folder.ts';

/** Earlier secrets that are remembered: who rotates more often has sealed anew what must last. */
const earlierMax = 10;

/** The secret of this folder, made by `mint` at the first call, and after it those that it had before. */
export function secretsOf(folder: DataFolder, mint: () => string): readonly string[] {
  return [ensureSecret(folder, mint), ...earlierOf(folder)];
}

/** Makes a new secret. The old one still opens what it sealed, until `forgetEarlierSecrets`. */
export function renewSecret(folder: DataFolder, mint: () => string): void {
  const before = secretsOf(folder, mint);
  // First, so that a crash between the two loses nothing.
  replaceFile(earlierFile(folder), `${before.slice(0, earlierMax).join('\n')}\n`);
  replaceFile(join(folder.path, 'secret'), `${mint()}\n`);
}

export function forgetEarlierSecrets(folder: DataFolder): void {
  rmSync(earlierFile(folder), { force: true });
}

function earlierOf(folder: DataFolder): string[] {
  return (readIfThere(earlierFile(folder)) ?? '').split('\n').filter((line) => line !== '');
}

function earlierFile(folder: DataFolder): string {
  return join(folder.path, 'secret.earlier');
}
