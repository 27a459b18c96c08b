import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { FailureError } from '../kernel/failure.ts';
import { bytesPassed } from './passing-bytes.ts';

/** Where uploads wait on disk while their requests run: nothing of them is ever whole in memory. */
export interface Spool {
  /** A place for one file, which nothing is written to yet. Throws a `FailureError` (503) when the spool is full. */
  place(extension?: string): Promise<SpooledFile>;
  /** Of all files that have not been removed. */
  readonly bytes: number;
}

/** One file of one request; whoever asked for its place removes it. Its name is chance, and only the owner reads it. */
export interface SpooledFile {
  readonly path: string;
  /** Written so far. */
  readonly bytes: number;
  /**
   * Writes all of `source`, no faster than the disk takes it. Rejects when `source` breaks off, and with a `FailureError`
   * (503) when there is no more room.
   */
  fill(source: Readable): Promise<void>;
  /** The file from its beginning, as often as it is wanted, in pieces of a bounded size. */
  read(): AsyncIterable<Buffer>;
  /** Its first bytes, fewer when there are not as many. */
  head(bytes: number): Promise<Buffer>;
  /** Idempotent, never rejects; whoever still reads comes to the end. */
  remove(): Promise<void>;
}

/** Of all requests of this process at once. At it uploads are answered 503 until others have ended. */
const spoolBytesMax = 8 * 1024 ** 3;
/** Of one piece that is read. */
const pieceBytes = 64 * 1024;

/**
 * The spool in `folder`, which is this process's alone: what is in it was left by one that crashed, and is removed. The
 * folder is made with the first file.
 */
export async function openSpool(folder: string, bytesMax = spoolBytesMax): Promise<Spool> {
  await rm(folder, { recursive: true, force: true });
  let bytes = 0;

  return {
    get bytes() {
      return bytes;
    },
    async place(extension = '') {
      if (bytes >= bytesMax) throw full();
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, randomBytes(16).toString('hex') + extension);
      let own = 0;
      let state: 'there' | 'removed' = 'there';
      return {
        path,
        get bytes() {
          return own;
        },
        async fill(source) {
          try {
            const file = await open(path, 'wx', 0o600);
            try {
              await file.writeFile(counted(source));
            } finally {
              await file.close();
            }
          } catch (error) {
            throw isNoRoom(error) ? full() : error;
          }
        },
        async *read() {
          for await (const piece of createReadStream(path, { highWaterMark: pieceBytes })) {
            yield piece;
            bytesPassed(piece.length);
          }
        },
        async head(wanted) {
          const file = await open(path, 'r');
          try {
            const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted), 0, wanted, 0);
            return buffer.subarray(0, bytesRead);
          } finally {
            await file.close();
          }
        },
        async remove() {
          if (state === 'removed') return;
          state = 'removed';
          bytes -= own;
          // What cannot be removed now is removed at the next start.
          await rm(path, { force: true }).catch(() => undefined);
        },
      };

      async function* counted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
        for await (const chunk of chunks) {
          if (bytes + chunk.length > bytesMax) throw full();
          own += chunk.length;
          if (state === 'there') bytes += chunk.length;
          yield chunk;
          bytesPassed(chunk.length);
        }
      }
    },
  };
}

function full(): FailureError {
  return new FailureError({
    kind: 'overloaded',
    message: 'There is no room on this server for another upload right now. Retry shortly.',
  });
}

function isNoRoom(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}
