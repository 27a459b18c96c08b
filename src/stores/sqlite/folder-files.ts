import { createReadStream, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isFileName } from '../../kernel/file-store.ts';
import { type FilePiece, RestoreRefused } from '../backup-row.ts';
import type { DataFolder } from './data-folder.ts';
import { naming } from './database.ts';
import type { Snapshots } from './snapshots.ts';

/** Bytes of one piece, and the most of any file that is in memory at a time. */
const pieceBytes = 256 * 1024;

/**
 * Part of a data folder that a backup holds file by file; with PostgreSQL, `pages`, `crawls`, `responses` and `batches`
 * are elsewhere.
 */
export type FolderPart = 'secret' | 'files' | 'crawls' | 'pages' | 'responses' | 'batches' | 'vectors';

type SnapshotCopies = Pick<Snapshots, 'of' | 'copy' | 'done'>;

/** Files of a part, as paths within the folder. */
function namesOf(folder: DataFolder, part: FolderPart): string[] {
  switch (part) {
    case 'secret':
      return ['secret', 'secret.earlier'];
    case 'crawls':
      return ['crawl.db'];
    case 'pages':
      return ['pages.db'];
    case 'responses':
      return ['responses.db'];
    case 'batches':
      return ['batches.db', 'vector-stores.db'];
    case 'vectors':
      return namesIn(folder, 'vectors').filter((name) => partOf(name) === 'vectors');
    case 'files':
      return namesIn(folder, 'files').filter((name) => partOf(name) === 'files');
  }
}

/**
 * The part that a path within the folder belongs to; null for a path that no backup holds, such as one that leads out.
 */
export function partOf(name: string): FolderPart | null {
  if (name === 'secret' || name === 'secret.earlier') return 'secret';
  if (name === 'crawl.db') return 'crawls';
  if (name === 'pages.db') return 'pages';
  if (name === 'responses.db') return 'responses';
  if (name === 'batches.db' || name === 'vector-stores.db') return 'batches';
  if (/^vectors\/shard-\d{1,3}\.db$/.test(name)) return 'vectors';
  return name.startsWith('files/') && isFileName(name.slice('files/'.length)) ? 'files' : null;
}

function namesIn(folder: DataFolder, name: string): string[] {
  const path = join(folder.path, name);
  return existsSync(path) ? readdirSync(path).map((file) => `${name}/${file}`) : [];
}

/**
 * These parts of the folder in pieces, while a server writes on. Each database is first copied to the file `scratch`: as
 * of its snapshot, or as it is then. `scratch` is gone when all is read or the reader stops.
 */
export async function* readFolderFiles(
  folder: DataFolder,
  parts: readonly FolderPart[],
  scratch: string,
  snapshots: SnapshotCopies | null = null,
): AsyncGenerator<FilePiece, void, undefined> {
  for (const file of parts.flatMap((part) => namesOf(folder, part))) {
    const path = join(folder.path, file);
    if (!existsSync(path)) continue;
    if (!file.endsWith('.db')) {
      yield* piecesOf(file, path);
      continue;
    }
    try {
      if (snapshots !== null && snapshots.of(path) !== null) await copySnapshot(path, scratch, snapshots);
      else copyDatabase(path, path, scratch);
      yield* piecesOf(file, scratch);
    } finally {
      rmSync(scratch, { force: true });
    }
  }
}

/** SQLite compacts and checks no file within a transaction, so the snapshot is copied first. */
async function copySnapshot(path: string, scratch: string, snapshots: SnapshotCopies): Promise<void> {
  const whole = `${scratch}.whole`;
  try {
    await snapshots.copy(path, whole);
    snapshots.done(path);
    copyDatabase(path, whole, scratch);
  } finally {
    for (const suffix of ['', '-wal', '-shm']) rmSync(whole + suffix, { force: true });
  }
}

/**
 * Copies `from`, which holds what `path` does. Throws what `whyUnusable` puts into words for a damaged file: half a copy
 * would be found out at the restore.
 */
function copyDatabase(path: string, from: string, scratch: string): void {
  rmSync(scratch, { force: true });
  const database = naming(path, () => new DatabaseSync(from, { readOnly: true, timeout: 2_000 }));
  try {
    naming(path, () => database.prepare('VACUUM INTO ?').run(scratch));
  } finally {
    database.close();
  }
}

async function* piecesOf(file: string, path: string): AsyncGenerator<FilePiece> {
  let at = 0;
  try {
    for await (const bytes of createReadStream(path, { highWaterMark: pieceBytes }) as AsyncIterable<Buffer>) {
      yield { file, at, bytes };
      at += bytes.length;
    }
  } catch (error) {
    // A picture whose hour is over.
    if (at === 0 && error instanceof Error && 'code' in error && error.code === 'ENOENT') return;
    throw error;
  }
  if (at === 0) yield { file, at, bytes: new Uint8Array(0) };
}

/** Makes files of their pieces, below `path` and for its owner's eyes. */
export function writeFolderFiles(path: string) {
  let name = '';
  let open: FileHandle | null = null;

  async function end(): Promise<void> {
    const ended = open;
    open = null;
    if (ended === null) return;
    try {
      await ended.sync();
    } finally {
      await ended.close();
    }
  }

  return {
    /** Throws `RestoreRefused` for a file that is none of ours. */
    async write({ file, bytes }: FilePiece): Promise<void> {
      if (partOf(file) === null) {
        const message = `The backup holds a file that this version does not know: ${JSON.stringify(file)}.`;
        throw new RestoreRefused(message);
      }
      if (open === null || name !== file) {
        await end();
        const target = join(path, file);
        mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
        open = await openFile(target, 'wx', 0o600);
        name = file;
      }
      await open.writeFile(bytes);
    },
    /** After the last piece, and after a failure: the written data is durable then. */
    end,
  };
}
