import type { LinearMemory } from '../kernels/linear-memory.ts';
import type { Kernels } from '../kernels/scalar-kernels.ts';

/** One kernel over rows. `query`: its address; `width`: bytes of a row that it compares; `stride`: bytes from row to row. */
export type RowPass =
  | { kernel: 'dotF32' | 'squaresF32' | 'absoluteF32'; query: number; width: number; stride: number }
  | { kernel: 'dotI8' | 'dotI8At'; query: number; step: number; width: number; stride: number }
  | { kernel: 'differingBits' | 'differingBitsAt'; query: number; width: number };

/**
 * Rows that follow each other, or of kernels `…At` the list of their addresses; and where their results go, or of `dotI8At`
 * the list of where.
 */
export interface PassBlock {
  address: number;
  results: number;
  count: number;
}

/**
 * A pass that threads do together: each takes the next share until none is left. It is a message to those that join in, so
 * nothing of it changes while one of them may still read it.
 */
export interface SharedPass {
  pass: RowPass;
  /** Tells this pass from the others of its arena. */
  round: number;
  /** Address of what each block is: `address` and `results` (u32). */
  list: number;
  blocks: number;
  rows: number;
  /** Rows of each block; the last one has the rest. */
  rowsPerBlock: number;
  /** Blocks of a share; the last one may have fewer. */
  blocksPerShare: number;
  /** Where the thread counts how many rows have each distance, of kernels that do. */
  counts: number;
}

/**
 * The words (i32) by which the threads of an arena talk: the next share and its round, how many shares of it are done, and
 * one for each thread that helps: 0 while it waits for a pass.
 */
export const passWords = { next: 0, done: 1, busy: 2 } as const;

/** `next` has the share in these bits, and its round above. */
const shareBits = 12;
export const sharesMax = 2 ** shareBits - 1;
const roundsMax = 2 ** (31 - shareBits);

export const roundAfter = (round: number): number => (round + 1) % roundsMax;
/** `next` at the begin of a round. */
export const firstShare = (round: number): number => round << shareBits;
export const sharesOf = ({ blocks, blocksPerShare }: SharedPass): number => Math.ceil(blocks / blocksPerShare);

export function passBlock(kernels: Kernels, pass: RowPass, block: PassBlock, counts: number): void {
  const { query, width } = pass;
  const { address, results, count } = block;
  switch (pass.kernel) {
    case 'differingBits':
    case 'differingBitsAt':
      return kernels[pass.kernel](query, address, count, width, results, counts);
    case 'dotI8':
      return kernels.dotI8(query, pass.step, address, pass.stride, count, width, results);
    case 'dotI8At':
      return kernels.dotI8At(query, pass.step, address, results, count, width);
    default:
      return kernels[pass.kernel](query, address, pass.stride, count, width, results);
  }
}

/** Takes shares of a pass and does them, until there is none that no thread has taken. */
export function takeShares(kernels: Kernels, memory: LinearMemory, words: Int32Array, shared: SharedPass): void {
  const { pass, round, list, blocks, rowsPerBlock, rows, blocksPerShare, counts } = shared;
  const listed = new DataView(memory.buffer, list, blocks * 8);
  const shares = sharesOf(shared);
  for (;;) {
    const next = Atomics.load(words, passWords.next);
    const share = next & sharesMax;
    // A thread that was late finds another round here, and takes nothing of it.
    if (next >>> shareBits !== round || share >= shares) return;
    if (Atomics.compareExchange(words, passWords.next, next, next + 1) !== next) continue;
    const end = Math.min(blocks, (share + 1) * blocksPerShare);
    for (let at = share * blocksPerShare; at < end; at += 1) {
      const count = Math.min(rowsPerBlock, rows - at * rowsPerBlock);
      passBlock(
        kernels,
        pass,
        { address: listed.getUint32(at * 8, true), results: listed.getUint32(at * 8 + 4, true), count },
        counts,
      );
    }
    Atomics.add(words, passWords.done, 1);
    Atomics.notify(words, passWords.done);
  }
}
