import { statfsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { Failure } from '../kernel/failure.ts';

const lookIntervalMs = 1_000;
/** What the reserve is where none is configured: enough for the books of some hours, and no more than this share. */
const reserveDefaultBytes = 512 * 1024 * 1024;
const reserveShare = 0.05;
/** A write goes into a log first, and from there into its database. */
const writtenTwice = 2;

export interface DiskRoom {
  /** Why nothing large may be written now; null while more than the reserve is free. */
  refusal(): Failure | null;
  /** As of the last look. */
  known(): { freeBytes: number; sizeBytes: number };
  /** Bytes written since, which the next look sees by itself. */
  taken(bytes: number): void;
  stop(): void;
}

/**
 * Free space of the file system that `path` is on, looked at every second. Below the reserve whatever is large is
 * refused, so that the ledger can always write. `reserve`: as configured, in bytes; null for the default.
 */
export function createDiskRoom(path: string, reserve: () => number | null): DiskRoom {
  let known = readingOf(statfsSync(path));
  let takenBytes = 0;
  let looking = false;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    try {
      const before = takenBytes;
      known = readingOf(await statfs(path));
      takenBytes -= before;
    } catch {
      // A folder that is gone is somebody else's trouble.
    } finally {
      looking = false;
    }
  }

  const timer = setInterval(() => void look(), lookIntervalMs);
  timer.unref();

  return {
    refusal() {
      const reserveBytes = reserve() ?? Math.min(reserveDefaultBytes, known.sizeBytes * reserveShare);
      const freeBytes = Math.max(0, known.freeBytes - takenBytes * writtenTwice);
      if (freeBytes > reserveBytes) return null;
      const message = `The disk of this server has ${Math.round(freeBytes / 1_000_000)} MB free, which are kept for its books (storage.reserve), so nothing was kept of this request. Reads go on. Retry when there is room.`;
      return { kind: 'overloaded', message };
    },
    known: () => known,
    taken(bytes) {
      takenBytes += Math.max(0, bytes);
    },
    stop: () => clearInterval(timer),
  };
}

function readingOf({ bavail, blocks, bsize }: { bavail: number; blocks: number; bsize: number }) {
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
