import { loadKernels } from '../kernels/kernels.ts';
import { createLinearMemory, type LinearMemory, pageBytes, pagesMax } from '../kernels/linear-memory.ts';
import type { PassThreads } from './pass-threads.ts';
import { type PassArena, Passes } from './passes.ts';

/**
 * The memory of all indexes of one thread. `alloc` gives whole pages of 64 KiB, so that memory of one collection fits
 * another of any size. Nothing is zeroed. Addresses stay when the memory grows, but the views do not: take them after
 * the last `alloc` of a turn.
 */
export type Arena = ReturnType<typeof createArena>;

export type ArenaViews = ReturnType<typeof viewsOf>;

/** The memory that vectors may take is used up. */
export class ArenaFull extends Error {
  constructor(bytesMax: number) {
    super(`the vectors' memory of ${bytesMax} bytes is full`);
    this.name = 'ArenaFull';
  }
}

/**
 * Least growth, in bytes and as a share of the present size: V8 collects garbage at each growth. The system gives
 * memory as it is written.
 */
const growPages = 16;
const growShare = 1 / 4;

/** `threads` help with large passes; `load`: for tests, which kernels there are. */
export function createArena(options: { bytesMax: number; threads?: PassThreads | null; load?: typeof loadKernels }) {
  const maxPages = Math.max(1, Math.min(pagesMax, Math.floor(options.bytesMax / pageBytes)));
  const memory = createLinearMemory(maxPages, true);
  const { kernels, warning } = (options.load ?? loadKernels)(memory);
  const bytesMax = maxPages * pageBytes;
  let views = viewsOf(memory);
  let pages = 1;
  let pagesUsed = 0;
  /** Free runs of pages, by first page, never touching each other. */
  const free: { first: number; count: number }[] = [{ first: 0, count: 1 }];

  /** Sorted in and joined with its neighbours. */
  function release(first: number, count: number): void {
    let at = 0;
    for (let end = free.length; at < end; ) {
      const middle = (at + end) >> 1;
      if (free[middle]!.first < first) at = middle + 1;
      else end = middle;
    }
    const before = free[at - 1];
    const after = free[at];
    const joinsBefore = before !== undefined && before.first + before.count === first;
    const joinsAfter = after !== undefined && first + count === after.first;
    if (joinsBefore) {
      before.count += count + (joinsAfter ? after.count : 0);
      if (joinsAfter) free.splice(at, 1);
    } else if (joinsAfter) {
      after.first = first;
      after.count += count;
    } else {
      free.splice(at, 0, { first, count });
    }
  }

  function grow(count: number): boolean {
    const last = free.at(-1);
    const atEnd = last !== undefined && last.first + last.count === pages ? last.count : 0;
    const needed = count - atEnd;
    if (pages + needed > maxPages) return false;
    const added = Math.min(maxPages - pages, Math.max(needed, growPages, Math.ceil(pages * growShare)));
    try {
      memory.grow(added);
    } catch {
      // The system has less than it promised.
      return false;
    }
    views = viewsOf(memory);
    release(pages, added);
    pages += added;
    return true;
  }

  function alloc(bytes: number): number {
    const count = Math.max(1, Math.ceil(bytes / pageBytes));
    let at = free.findIndex((run) => run.count >= count);
    if (at === -1) {
      if (!grow(count)) throw new ArenaFull(bytesMax);
      at = free.length - 1;
    }
    const run = free[at]!;
    const address = run.first * pageBytes;
    run.first += count;
    run.count -= count;
    if (run.count === 0) free.splice(at, 1);
    pagesUsed += count;
    return address;
  }

  function giveBack(address: number, bytes: number): void {
    const count = Math.max(1, Math.ceil(bytes / pageBytes));
    release(address / pageBytes, count);
    pagesUsed -= count;
  }

  /** Gives room of at least `bytes`, larger when it is not. Throws ArenaFull, the room as before. */
  function growingRoom(): (bytes: number) => number {
    let room = { address: 0, bytes: 0 };
    return (bytes) => {
      if (bytes > room.bytes) {
        const address = alloc(bytes);
        if (room.bytes > 0) giveBack(room.address, room.bytes);
        room = { address, bytes: Math.ceil(bytes / pageBytes) * pageBytes };
      }
      return room.address;
    };
  }

  const lists = growingRoom();
  const passArena: PassArena = {
    kernels,
    get views() {
      return views;
    },
    listRoom(bytes) {
      try {
        return lists(bytes);
      } catch (error) {
        if (error instanceof ArenaFull) return null;
        throw error;
      }
    },
  };

  return {
    bytesMax,
    get bytesUsed(): number {
      return pagesUsed * pageBytes;
    },
    /** Why searches are slow on this machine; null when they are not. */
    warning,
    kernels,
    passes: new Passes(passArena, memory, options.threads ?? null),
    get views(): ArenaViews {
      return views;
    },
    /** Address of `bytes`, rounded up to pages. Throws ArenaFull. */
    alloc,
    free: giveBack,
    /** Room that all indexes share, at least `bytes`; the next call overwrites it. Throws ArenaFull. */
    scratch: growingRoom(),
  };
}

function viewsOf({ buffer }: LinearMemory) {
  return {
    i8: new Int8Array(buffer),
    u8: new Uint8Array(buffer),
    u32: new Uint32Array(buffer),
    f32: new Float32Array(buffer),
  };
}
