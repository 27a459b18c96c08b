import { randomUUID } from 'node:crypto';
import { appendFileSync, linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeFolder } from '../../kernel/make-folder.ts';
import { secretBytesMin } from '../../kernel/seal.ts';
import { NewerSchema } from '../migration.ts';
import { sqliteCode, sqliteExtendedCode, sqliteFull } from './database.ts';

/** The folder where one server keeps everything that must survive it. Paths are absolute. */
export interface DataFolder {
  readonly path: string;
  readonly culvertDb: string;
  readonly ledgerDb: string;
  /** The providers' lists of models, as last heard. */
  readonly modelsFile: string;
  /** The price list that was taken over last. */
  readonly pricesFile: string;
  /** The holder of the folder, for people and the CLI; see data-folder-lock.ts. */
  readonly lockFile: string;
}

/** Its paths; nothing is made, so that a mere look leaves no folder behind. */
export function dataFolderAt(dir: string): DataFolder {
  const path = resolve(dir);
  return {
    path,
    culvertDb: join(path, 'culvert.db'),
    ledgerDb: join(path, 'ledger.db'),
    modelsFile: join(path, 'models.json'),
    pricesFile: join(path, 'prices.json'),
    lockFile: join(path, 'lock'),
  };
}

/** Makes the folder if need be, for its owner's eyes only; an existing one keeps its mode. */
export function openDataFolder(dir: string): DataFolder {
  const folder = dataFolderAt(dir);
  makeFolder(folder.path);
  return folder;
}

/** Folder of the secrets that a first start makes, readable by their owner only. */
export function keyFiles(folder: Pick<DataFolder, 'path'>): { admin: string; first: string } {
  return { admin: join(folder.path, 'admin.key'), first: join(folder.path, 'api.key') };
}

/**
 * The generated admin key: made by `mint` at the first start, kept in `admin.key` which only its owner reads, since
 * the CLI must present it to the running server.
 */
export function ensureAdminKey(folder: DataFolder, mint: () => string): { key: string; created: boolean } {
  const file = keyFiles(folder).admin;
  const stored = readIfThere(file)?.trim();
  return stored ? { key: stored, created: false } : madeOnce(file, stored, mint());
}

/** Writes a secret where there is none, or returns the one that another process has just written: workers start at once. */
function madeOnce(file: string, stored: string | undefined, key: string): { key: string; created: boolean } {
  const temporary = `${file}.${process.pid}`;
  replaceFile(temporary, `${key}\n`);
  try {
    // The first one counts.
    if (stored === undefined) linkSync(temporary, file);
    else renameSync(temporary, file);
  } catch {
    const others = readIfThere(file)?.trim();
    if (others !== undefined && others !== '') return { key: others, created: false };
    // A file system without links.
    renameSync(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
  return { key, created: true };
}

/**
 * The secret that encrypts stored data and signs links when `storage.secret` is not configured. `mint` makes it at the
 * first start, and the file `secret`, which only its owner reads, keeps it. Without it nothing sealed can be opened
 * again, so a backup needs it, too. Throws `SecretCutShort` for a file of less than 32 bytes: replacing it would lose
 * what it opens.
 */
export function ensureSecret(folder: DataFolder, mint: () => string): string {
  const file = secretFile(folder);
  const stored = readIfThere(file)?.trim();
  if (!stored) return madeOnce(file, stored, mint()).key;
  if (Buffer.byteLength(stored) < secretBytesMin) {
    throw new SecretCutShort(
      `${file} holds fewer than ${secretBytesMin} bytes. Put the earlier file back, or remove this one to begin again`,
    );
  }
  return stored;
}

/**
 * Writes a file for its owner's eyes, whole or not at all: a crash or a power cut must not leave half of one, nor the
 * name of one whose bytes never reached the disk.
 */
export function replaceFile(file: string, text: string): void {
  // Another process may replace it at the same time.
  const temporary = `${file}.${process.pid}.new`;
  writeFileSync(temporary, text, { mode: 0o600, flush: true });
  renameSync(temporary, file);
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

/** The message says what to do. */
class SecretCutShort extends Error {}

/** The secret of this folder, made by `mint` at the first call, and after it those that it had before. */
export function secretsOf(folder: DataFolder, mint: () => string): readonly string[] {
  return withEarlier(folder, ensureSecret(folder, mint));
}

/** The same while the server runs; null: the file is gone or cut short, which is no reason for another secret. */
export function presentSecrets(folder: Pick<DataFolder, 'path'>): readonly string[] | null {
  const secret = readIfThere(secretFile(folder))?.trim() ?? '';
  return Buffer.byteLength(secret) < secretBytesMin ? null : withEarlier(folder, secret);
}

/** Changes with each change of the secrets; '': there is none. Costs some 2 µs. */
export function secretMark(folder: DataFolder): string {
  const facts = statSync(secretFile(folder), { throwIfNoEntry: false });
  return facts === undefined ? '' : `${facts.ino} ${facts.ctimeMs}`;
}

/** Makes a new secret. Each earlier one still opens what it sealed, until `forgetEarlierSecrets`: vector stores last for ever. */
export function renewSecret(folder: DataFolder, mint: () => string): void {
  const secret = mint();
  // First, so that a crash between the two loses nothing. Several processes may renew at once: each adds to what is
  // there, also the new one, which another new one may replace after it has sealed.
  appendFileSync(earlierFile(folder), `\n${ensureSecret(folder, mint)}\n${secret}\n`, { mode: 0o600, flush: true });
  replaceFile(secretFile(folder), `${secret}\n`);
}

/** The secret's file is written anew: by its mark other processes know. */
export function forgetEarlierSecrets(folder: DataFolder): void {
  const [secret] = presentSecrets(folder) ?? [];
  rmSync(earlierFile(folder), { force: true });
  if (secret !== undefined) replaceFile(secretFile(folder), `${secret}\n`);
}

function secretFile(folder: Pick<DataFolder, 'path'>): string {
  return join(folder.path, 'secret');
}

/** The newest first, and each once, although the file may name the current one and some twice. */
function withEarlier(folder: Pick<DataFolder, 'path'>, secret: string): string[] {
  const earlier = (readIfThere(earlierFile(folder)) ?? '').split('\n').reverse();
  // A line that a power cut left short has sealed nothing.
  return [...new Set([secret, ...earlier.filter((line) => Buffer.byteLength(line) >= secretBytesMin)])];
}

function earlierFile(folder: Pick<DataFolder, 'path'>): string {
  return join(folder.path, 'secret.earlier');
}

/**
 * Why the data folder cannot be used, as a sentence that names the file, when that is what `error` says: an error of
 * the file system or of SQLite. Null for every other error, which is a defect of ours and deserves its stack.
 */
export function whyUnusable(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof NewerSchema || error instanceof SecretCutShort) return `${error.message}.`;
  const file = 'path' in error && typeof error.path === 'string' ? error.path : null;
  const code = sqliteCode(error);
  const isFull =
    code === sqliteFull ||
    sqliteExtendedCode(error) === logIndexSize ||
    ('code' in error && ['ENOSPC', 'EDQUOT'].includes(String(error.code)));
  const hint = `${isFull ? 'Free some space' : 'Repair it'}, or name another data folder (storage.data_dir).`;
  if (code !== null && ofTheFile.includes(code)) return `The data folder cannot be used: ${error.message}. ${hint}`;
  if (file === null || !('code' in error)) return null;
  return `The data folder cannot be used: ${file}: ${messageOfCode[String(error.code)] ?? String(error.code)}. ${hint}`;
}

/** PERM, BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB. SQL that does not fit its table is our mistake. */
const ofTheFile: readonly number[] = [3, 5, 8, 10, 11, 13, 14, 26];

/** IOERR_SHMSIZE: the disk has no room for the index of a log. */
const logIndexSize = 4_874;

const messageOfCode: Readonly<Record<string, string>> = {
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

/** Names a data folder for good: a server that finds its own name on the lease knows that the holder was itself. */
export function folderIdOf(folder: DataFolder): string {
  const file = join(folder.path, 'folder.id');
  const stored = readIfThere(file)?.trim();
  if (stored !== undefined && stored !== '') return stored;
  const made = randomUUID();
  replaceFile(file, `${made}\n`);
  return made;
}
