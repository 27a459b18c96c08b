import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeFolder } from '../../kernel/make-folder.ts';
import { secretBytesMin } from '../../kernel/seal.ts';

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
  const kept = readIfThere(file)?.trim();
  if (kept !== undefined && kept !== '') return { key: kept, created: false };
  const key = mint();
  replaceFile(file, `${key}\n`);
  return { key, created: true };
}

/**
 * The secret that encrypts stored data and signs links when `storage.secret` is not configured. `mint` makes it at the
 * first start, and the file `secret`, which only its owner reads, keeps it. Without it nothing sealed can be opened
 * again, so a backup needs it, too. Throws `SecretCutShort` for a file of less than 32 bytes: replacing it would lose
 * what it opens.
 */
export function ensureSecret(folder: DataFolder, mint: () => string): string {
  const file = join(folder.path, 'secret');
  const kept = readIfThere(file)?.trim();
  if (kept === undefined || kept === '') {
    const secret = mint();
    replaceFile(file, `${secret}\n`);
    return secret;
  }
  if (Buffer.byteLength(kept) < secretBytesMin) {
    throw new SecretCutShort(
      `${file} holds fewer than ${secretBytesMin} bytes. Put the earlier file back, or remove this one to begin again`,
    );
  }
  return kept;
}

/**
 * Writes a file for its owner's eyes, whole or not at all: a crash or a power cut must not leave half of one, nor the
 * name of one whose bytes never reached the disk.
 */
export function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
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
export class SecretCutShort extends Error {}
