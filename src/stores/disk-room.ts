import { statfsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { every } from '../kernel/every.ts';
import type { Failure } from '../kernel/failure.ts';

const lookIntervalMs = 1_000;
/** Default of the reserve: enough for the books of some hours, and no more than this share. */
const reserveDefaultBytes = 512 * 1024 * 1024;
const reserveShare = 0.05;
/**
 * A disk counts as filling when less than this share of it is free on top of the reserve, or less than this many bytes
 * if that is smaller.
 */
const fillingShare = 0.1;
const fillingMaxBytes = 10_000_000_000;
/** A write goes into a log first, and from there into its database. */
const writtenTwice = 2;

export interface DiskReading {
  freeBytes: number;
  sizeBytes: number;
}

export type DiskRoom = ReturnType<typeof createDiskRoom>;

/**
 * Free space of the file system that `path` is on, looked at every second. Below the reserve whatever is large is
 * refused, so that the ledger can always write. `reserve`: as configured, in bytes; null for the default.
 */
export function createDiskRoom(path: string, reserve: () => number | null) {
  let known = diskReading(path);
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
      // A folder that is gone is not this watch's trouble.
    } finally {
      looking = false;
    }
  }

  const stop = every(lookIntervalMs, () => void look());

  return {
    /** Why nothing large may be written now; null while more than the reserve is free. */
    refusal(): Failure | null {
      const reserveBytes = reserveOf(known, reserve());
      const freeBytes = Math.max(0, known.freeBytes - takenBytes * writtenTwice);
      if (freeBytes > reserveBytes) return null;
      const message = `The disk of this server has ${Math.round(freeBytes / 1_000_000)} MB free, which are reserved for the ledger (storage.reserve), so nothing of this request was kept. Reads still work. Retry when there is room.`;
      return { kind: 'overloaded', message };
    },
    /** Free bytes at the last look. */
    freeBytes: (): number => known.freeBytes,
    /** Counts bytes written since the last look; the next one finds them anyway. */
    taken(bytes: number): void {
      takenBytes += Math.max(0, bytes);
    },
    stop,
  };
}

/** Reads the file system that holds `path`, which must exist. */
export function diskReading(path: string): DiskReading {
  return readingOf(statfsSync(path));
}

/**
 * How full a disk is: `full` refuses whatever is large, `filling` is near it. `reserve`: as configured, in bytes; null
 * for the default.
 */
export function diskStanding(
  reading: DiskReading,
  reserve: number | null,
): { standing: 'roomy' | 'filling' | 'full'; reserveBytes: number } {
  const { freeBytes, sizeBytes } = reading;
  const reserveBytes = reserveOf(reading, reserve);
  if (freeBytes <= reserveBytes) return { standing: 'full', reserveBytes };
  const filling = freeBytes - reserveBytes < Math.min(fillingMaxBytes, sizeBytes * fillingShare);
  return { standing: filling ? 'filling' : 'roomy', reserveBytes };
}

function reserveOf({ sizeBytes }: DiskReading, reserve: number | null): number {
  return reserve ?? Math.min(reserveDefaultBytes, sizeBytes * reserveShare);
}

function readingOf({ bavail, blocks, bsize }: { bavail: number; blocks: number; bsize: number }): DiskReading {
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
