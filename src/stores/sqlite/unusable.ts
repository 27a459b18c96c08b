import { NewerSchema } from '../migration.ts';
import { SecretCutShort } from './data-folder.ts';
import { sqliteCode } from './database.ts';

/**
 * Why the data folder cannot be used, as a sentence that names the file, when that is what `error` says: an error of
 * the file system or of SQLite. Null for every other error, which is a defect of ours and deserves its stack.
 */
export function whyUnusable(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof NewerSchema || error instanceof SecretCutShort) return `${error.message}.`;
  const file = 'path' in error && typeof error.path === 'string' ? error.path : null;
  const hint = 'Repair it, or name another data folder (storage.data_dir).';
  const code = sqliteCode(error);
  if (code !== null && ofTheFile.includes(code)) return `The data folder cannot be used: ${error.message}. ${hint}`;
  if (file === null || !('code' in error)) return null;
  return `The data folder cannot be used: ${file}: ${wordsOf[String(error.code)] ?? String(error.code)}. ${hint}`;
}

/** PERM, BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB. SQL that does not fit its table is our mistake. */
const ofTheFile: readonly number[] = [3, 5, 8, 10, 11, 13, 14, 26];

const wordsOf: Readonly<Record<string, string>> = {
  EACCES: 'this user has no right to it',
  EPERM: 'this user has no right to it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is reached',
  EEXIST: 'a file has the name of a needed folder',
  ENOTDIR: 'a file has the name of a needed folder',
  ENOENT: 'it does not exist, and cannot be made there',
  EISDIR: 'a folder has the name of a needed file',
};
