import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FailureError } from '../kernel/failure.ts';
import { refuseWithoutRoom } from '../kernel/file-store.ts';
import type { Elsewhere } from '../kernel/sharing/elsewhere.ts';
import { createRoom, type RoomHold } from '../kernel/sharing/room.ts';

/** Uploads wait here on disk while their requests run: none of them is ever whole in memory. */
export type Spool = Awaited<ReturnType<typeof openSpool>>;

/** One file of one request, whose caller removes it. Its name is random, and only the owner reads it. */
export interface SpooledFile {
  readonly path: string;
  /** Written so far. */
  readonly bytes: number;
  /**
   * Writes all of `source`, no faster than the disk takes it. Rejects when `source` breaks off, and with a `FailureError`
   * (503) when there is no more room: on the disk, in the spool, or in the account's share of it.
   */
  fill(source: Readable): Promise<void>;
  /** The file from its beginning, as often as wanted, in pieces of a bounded size. */
  read(): AsyncIterable<Buffer>;
  /** Its first bytes, fewer when there are not as many. */
  head(bytes: number): Promise<Buffer>;
  /** A place for a file that is made of this one, and counts for the same account. */
  beside(): Promise<SpooledFile>;
  /** Idempotent, never rejects; open readers come to the end. */
  remove(): Promise<void>;
}

/** For all requests of the server at once; one account may have half. Beyond it, uploads get 503 until others have ended. */
const spoolBytesMax = 8 * 1024 ** 3;
/** Size of one piece that is read. */
const pieceBytes = 64 * 1024;

/**
 * The spool in `folder`, which belongs to this process alone: files in it were left by a crashed one, and are removed.
 * The folder is made with the first file.
 */
export async function openSpool(
  folder: string,
  { bytesMax = spoolBytesMax, elsewhere = null }: { bytesMax?: number; elsewhere?: Elsewhere | null } = {},
) {
  await rm(folder, { recursive: true, force: true });
  const room = createRoom('uploads on its disk', () => ({ bytesMax, accountBytesMax: bytesMax / 2 }), elsewhere);

  return {
    /** Bytes of all files that have not been removed. */
    get bytes(): number {
      return room.bytes;
    },
    /** Bytes of one account's files, in all processes of the server. */
    bytesOf: room.bytesOf,
    /** A place for one file of `account`, which nothing is written to yet. */
    place,
  };

  async function place(account: string): Promise<SpooledFile> {
    // A recursive one calls a read-only disk ENOENT.
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error) => refuseWithoutRoom(error, noRoom));
    return fileAt(join(folder, randomBytes(16).toString('hex')), room.hold(account), () => place(account));
  }
}

function fileAt(path: string, held: RoomHold, beside: SpooledFile['beside']): SpooledFile {
  let fileBytes = 0;
  let state: 'there' | 'removed' = 'there';
  return {
    path,
    get bytes() {
      return fileBytes;
    },
    beside,
    async fill(source) {
      try {
        const file = await open(path, 'wx', 0o600);
        try {
          await file.writeFile(counted(source));
        } finally {
          await file.close();
        }
      } catch (error) {
        refuseWithoutRoom(error, noRoom);
      }
    },
    async *read() {
      for await (const piece of createReadStream(path, { highWaterMark: pieceBytes })) {
        yield piece;
        bytesPassed(piece.length);
      }
    },
    async head(bytesMax) {
      const file = await open(path, 'r');
      try {
        const { bytesRead, buffer } = await file.read(Buffer.alloc(bytesMax), 0, bytesMax, 0);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    },
    async remove() {
      if (state === 'removed') return;
      state = 'removed';
      held.giveBack();
      // A file that cannot be removed now is removed at the next start.
      await rm(path, { force: true }).catch(() => undefined);
    },
  };

  async function* counted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      const full = held.take(chunk.length);
      if (full !== null) throw new FailureError(full);
      fileBytes += chunk.length;
      yield chunk;
      bytesPassed(chunk.length);
    }
  }
}

const noRoom = 'This server cannot keep another upload on its disk right now. Retry shortly.';

/** Buffers of files that may lie about as garbage, over all files of this process. */
const garbageBytesMax = 8 * 1024 * 1024;

let passedBytes = 0;
let collect: (() => void) | null = null;

/**
 * Call this for every piece of a file that goes through memory. V8 hardly counts buffers, because their bytes lie
 * outside its heap, and lets some 60 MB of dead ones gather before it collects. Here they are collected every 8 MB, in
 * 1 ms.
 */
function bytesPassed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < garbageBytesMax) return;
  passedBytes = 0;
  collect ??= youngCollector();
  collect();
}

/** V8 has it behind a flag that is read when a context is made, so it does not matter how this process was started. */
function youngCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof gc === 'function' ? () => gc({ type: 'minor' }) : () => {};
}
