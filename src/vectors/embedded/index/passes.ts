import type { LinearMemory } from '../kernels/linear-memory.ts';
import type { Kernels } from '../kernels/scalar-kernels.ts';
import type { PassThreads } from './pass-threads.ts';
import {
  firstShare,
  passBlock,
  passWords,
  type RowPass,
  roundAfter,
  type SharedPass,
  sharesMax,
  sharesOf,
  takeShares,
} from './row-pass.ts';

/** Rows that lie apart take about so many times as long. */
const apart = 4;
/** Shares of each thread: with more the last one is waited for less long, and with fewer the threads meet less often. */
const sharesPerThread = 32;

/** Where a pass counts how many rows have each distance (i32): an address, and the number of distances. */
export interface PassCounts {
  address: number;
  length: number;
}

/** Rows of an arena, in blocks. */
export interface PassedRows {
  readonly count: number;
  readonly stride: number;
  /** Addresses of the blocks, each with so many rows and, from `resultsOffset` on, their results. */
  readonly layout: {
    readonly blocks: readonly number[];
    readonly rowsPerBlock: number;
    readonly resultsOffset: number;
  };
  /** All rows in order, block by block. */
  blocks(visit: (address: number, resultAddress: number, count: number) => void): void;
  /** Writes the address of each of these rows into `into`, from `at` on. */
  addresses(rows: Uint32Array, into: Uint32Array, at: number): void;
  /** The same of their results. */
  resultAddresses(rows: Uint32Array, into: Uint32Array, at: number): void;
}

/** The part of an arena that passes need. */
export interface PassArena {
  readonly kernels: Kernels;
  readonly views: { u32: Uint32Array };
  /** Address of room for lists, at least `bytes`, which the next call overwrites; null: there is none. */
  listRoom(bytes: number): number | null;
}

/** Blocks of a pass. */
interface ListedRows {
  count: number;
  /** Bytes of rows that would take as long if they followed each other. */
  bytes: number;
  rowsPerBlock: number;
  /** Words that `list` writes. */
  words: number;
  /** Writes `address` and `results` of each block to `at` on, and behind them what these point to. */
  list(u32: Uint32Array, at: number): void;
}

/** Passes of kernels over rows: large ones together with threads that have nothing to do. */
export class Passes {
  readonly #arena: PassArena;
  readonly #memory: LinearMemory;
  readonly #threads: PassThreads | null;
  #round = 0;

  constructor(arena: PassArena, memory: LinearMemory, threads: PassThreads | null) {
    this.#arena = arena;
    this.#memory = memory;
    this.#threads = threads;
  }

  /** Leaves the result of each row behind its block. */
  over(rows: PassedRows, pass: RowPass, counts: PassCounts = { address: 0, length: 0 }): void {
    const { blocks, rowsPerBlock, resultsOffset } = rows.layout;
    const { kernels } = this.#arena;
    const listed: ListedRows = {
      count: rows.count,
      bytes: rows.count * rows.stride,
      rowsPerBlock,
      words: blocks.length * 2,
      list(u32, at) {
        for (const [i, address] of blocks.entries()) {
          u32[at + i * 2] = address;
          u32[at + i * 2 + 1] = address + resultsOffset;
        }
      },
    };
    this.#run(pass, counts, listed, () => {
      rows.blocks((address, results, count) => passBlock(kernels, pass, { address, results, count }, counts.address));
    });
  }

  /**
   * The same of some rows, with a kernel `…At`; `alone` does it without help. Leaves the result of each row where `over` does;
   * where distances are counted, those of all in their order where `over` leaves those of the first rows.
   */
  at(selected: Uint32Array, rows: PassedRows, pass: RowPass, counts: PassCounts | null, alone: () => void): void {
    const { blocks, rowsPerBlock, resultsOffset } = rows.layout;
    const count = selected.length;
    const blockCount = Math.ceil(count / rowsPerBlock);
    const listed: ListedRows = {
      count,
      bytes: count * pass.width * apart,
      rowsPerBlock,
      words: blockCount * 2 + count * (counts === null ? 2 : 1),
      list(u32, at) {
        const addresses = at + blockCount * 2;
        const results = addresses + count;
        rows.addresses(selected, u32, addresses);
        if (counts === null) rows.resultAddresses(selected, u32, results);
        for (const [i, address] of blocks.slice(0, blockCount).entries()) {
          u32[at + i * 2] = (addresses + i * rowsPerBlock) * 4;
          u32[at + i * 2 + 1] = counts === null ? (results + i * rowsPerBlock) * 4 : address + resultsOffset;
        }
      },
    };
    this.#run(pass, counts ?? { address: 0, length: 0 }, listed, alone);
  }

  #run(pass: RowPass, counts: PassCounts, rows: ListedRows, alone: () => void): void {
    const threads = this.#threads;
    if (threads === null || rows.bytes < threads.bounds.fromBytes) return alone();
    const startedMs = performance.now();
    threads.start(this.#memory);
    const helping = threads.pace.isTogether(pass.kernel) ? threads.take() : [];
    try {
      // Blocks and what they point to, and behind them the counts of those who help.
      const list =
        helping.length === 0 ? null : this.#arena.listRoom((rows.words + helping.length * counts.length) * 4);
      if (list !== null) this.#together(threads, helping, { list, pass, counts, rows });
      else alone();
      const ms = performance.now() - startedMs;
      threads.pace.took(pass.kernel, list === null ? 'alone' : 'together', { bytes: rows.bytes, ms });
    } finally {
      threads.rest();
    }
  }

  #together(
    threads: PassThreads,
    helping: readonly number[],
    { list, pass, counts, rows }: { list: number; pass: RowPass; counts: PassCounts; rows: ListedRows },
  ): void {
    const { words } = threads;
    const { u32 } = this.#arena.views;
    rows.list(u32, list >>> 2);
    const countsAt = (list >>> 2) + rows.words;
    u32.fill(0, countsAt, countsAt + helping.length * counts.length);
    const blocks = Math.ceil(rows.count / rows.rowsPerBlock);
    const sharesAtMost = Math.min(sharesMax, sharesPerThread * (helping.length + 1));
    this.#round = roundAfter(this.#round);
    const shared: SharedPass = {
      pass,
      round: this.#round,
      list,
      blocks,
      rowsPerBlock: rows.rowsPerBlock,
      rows: rows.count,
      blocksPerShare: Math.ceil(blocks / sharesAtMost),
      counts: counts.address,
    };
    Atomics.store(words, passWords.done, 0);
    Atomics.store(words, passWords.next, firstShare(this.#round));
    for (const [i, thread] of helping.entries())
      threads.post(thread, { ...shared, counts: (countsAt + i * counts.length) * 4 });
    takeShares(this.#arena.kernels, this.#memory, words, shared);
    waitFor(sharesOf(shared), threads);
    const into = counts.address >>> 2;
    for (const [i, count] of u32.subarray(countsAt, countsAt + helping.length * counts.length).entries())
      Atomics.add(u32, into + (i % counts.length), count);
  }
}

/** Waits until all shares are done. */
function waitFor(shares: number, { words, bounds, onLost }: PassThreads): void {
  for (let done = -1; done !== shares; ) {
    done = Atomics.load(words, passWords.done);
    if (done !== shares && Atomics.wait(words, passWords.done, done, bounds.shareMaxMs) === 'timed-out') onLost();
  }
}
