import type { Readable } from 'node:stream';
import { FailureError } from './failure.ts';

/**
 * Keeps files that callers may fetch for a while. Names are made here, never by a caller; a driver accepts those of
 * `isFileName` only. Drivers: stores/files.
 */
export interface FileStore {
  /** Keeps it; `atMs` is wall-clock time. Rejects when it cannot be kept. */
  put(name: string, bytes: Uint8Array, atMs: number): Promise<void>;
  /** Null when there is no such file. The caller reads it to its end or destroys it. */
  open(name: string): Promise<OpenedFile | null>;
  /** Removes files that were put before `beforeMs`. Resolves to their number. */
  sweep(beforeMs: number): Promise<number>;
  /** Why nothing could be kept or read the last time, in words for the operator; null when it could. */
  trouble(): string | null;
}

/** Keeps files that are removed one by one, too. */
export interface RemovableFiles extends FileStore {
  /** Nothing happens when there is none. */
  remove(name: string): Promise<void>;
}

export interface OpenedFile {
  bytes: number;
  content: Readable;
}

/** `kind` is the ending, without the dot. */
export function fileName(id: string, kind: string): string {
  const name = `${id}.${kind}`;
  if (!isFileName(name)) throw new Error(`not a name for a file: ${name}`);
  return name;
}

/** Letters, digits and one ending: nothing that a path could be made of. */
export function isFileName(name: string): boolean {
  return /^[A-Za-z0-9]{16,64}\.[a-z0-9]{2,5}$/.test(name);
}

/**
 * Throws a `FailureError` (503) with `message` where the disk takes nothing: it is full, it failed or is read-only (for
 * which mkdir says ENOENT), the folder is gone, or this user may not write it. Throws any other error as it is.
 */
export function refuseWithoutRoom(error: unknown, message: string): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  throw /^(ENOSPC|EDQUOT|EROFS|EIO|ENOENT|EACCES|EPERM)$/.test(code)
    ? new FailureError({ kind: 'overloaded', message })
    : error;
}
