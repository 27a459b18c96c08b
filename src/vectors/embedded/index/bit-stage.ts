import type { Arena } from './arena.ts';
import { type ArenaRows, createArenaRows } from './arena-rows.ts';
import { fillRuns, type SavedImage } from './code-image.ts';
import type { Steps } from './resumable-steps.ts';
import type { RowPass } from './row-pass.ts';

const headBytes = 32;

/** Rows that the heads leave for each wanted one, and as a share of all: fewer would lose wanted rows. */
const headKeep = { perRow: 10, share: 1 / 40 };

/** Standard deviations that numbers lie off their mean, 1 in 700 excepted. */
const deviations = 3;

/** Rows that one call of a kernel gathers. */
const gathered = 4_096;

/** Bytes of a row of bits as `runs` gives them. `width`: components of a row of codes. */
export function bitStride(width: number): number {
  return headBytes + wholeStride(width);
}

function wholeStride(width: number): number {
  return Math.ceil(width / 8 / 16) * 16;
}

/**
 * One bit a component for each row of codes: 1 where it is above the mean. How many bits differ from the query's tells
 * roughly how near a row is, at an eighth of the bytes: good enough to leave most rows unread. Of many rows the first 256
 * bits are looked at before, which leave most of these unread.
 */
export class BitStage {
  readonly mean: Float32Array;
  readonly #arena: Arena;
  /** Components of a row of codes. */
  readonly #width: number;
  /** Whole rows of bits, and their first `headBytes` once more, close together. */
  readonly #rows: ArenaRows;
  readonly #heads: ArenaRows;
  readonly #fixedBytes: number;
  readonly #mean: number;
  readonly #query: number;
  /** How many rows have each distance. */
  readonly #counts: number;
  readonly #distances: number;
  /** Addresses of the rows that are gathered, and their results. */
  readonly #list: number;
  /** For each look of the last `nearest` that left rows out: their fewest differing bits. */
  #cuts: { rows: ArenaRows; distance: number }[] = [];

  /** `mean`: as many components as a row of codes has (`width`). Throws ArenaFull. */
  constructor(arena: Arena, width: number, mean: Float32Array) {
    const stride = wholeStride(width);
    this.mean = mean;
    this.#arena = arena;
    this.#width = width;
    this.#rows = createArenaRows(arena, stride);
    this.#heads = createArenaRows(arena, headBytes);
    this.#distances = stride * 8 + 1;
    this.#fixedBytes = mean.byteLength + stride + this.#distances * 4 + gathered * 8;
    this.#mean = arena.alloc(this.#fixedBytes);
    this.#query = this.#mean + mean.byteLength;
    this.#counts = this.#query + stride;
    this.#list = this.#counts + this.#distances * 4;
    arena.views.f32.set(mean, this.#mean >>> 2);
  }

  get bytes(): number {
    return this.#rows.bytes + this.#heads.bytes + this.#fixedBytes;
  }

  /** All rows as they lie in memory; each view is good until the next change. */
  *runs(): Iterable<Uint8Array> {
    yield* this.#heads.runs();
    yield* this.#rows.runs();
  }

  /** Takes the rows of an image up, where there are none. Throws ArenaFull and ImageUnusable. */
  *restore(image: SavedImage): Steps<void> {
    yield* fillRuns(image, this.#heads.added(image.count));
    yield* fillRuns(image, this.#rows.added(image.count));
  }

  /** Row `row` (at most one above the last) becomes the row at `codes`. Throws ArenaFull. */
  put(row: number, codes: number): void {
    if (row === this.#rows.count) {
      this.#rows.push();
      try {
        this.#heads.push();
      } catch (error) {
        this.#rows.pop();
        throw error;
      }
    }
    const address = this.#rows.address(row);
    this.#encode(codes, address);
    this.#arena.views.u8.copyWithin(this.#heads.address(row), address, address + headBytes);
  }

  /** The last row takes the place of `row`. */
  remove(row: number): void {
    for (const rows of [this.#rows, this.#heads]) {
      const last = rows.count - 1;
      if (row !== last) {
        const from = rows.address(last);
        this.#arena.views.u8.copyWithin(rows.address(row), from, from + rows.stride);
      }
      rows.pop();
    }
  }

  /** Sets the query of the next calls. `codes`: the query, encoded as a row. */
  look(codes: number): void {
    this.#encode(codes, this.#query);
  }

  /** About the `keep` rows with the fewest differing bits, of `candidates` or of all; in the order of these. */
  nearest(keep: number, candidates: Uint32Array | null): Uint32Array {
    this.#cuts = [];
    const total = candidates?.length ?? this.#rows.count;
    const wide = Math.max(keep * headKeep.perRow, Math.ceil(total * headKeep.share));
    if (wide * 2 >= total) return this.#closest(this.#rows, keep, candidates);
    return this.#closest(this.#rows, keep, this.#closest(this.#heads, wide, candidates));
  }

  /**
   * Whether the last `nearest` may have left out rows that belong to `rows`, the best of its result: the number of
   * differing bits, plus three standard deviations, reaches as far as the rows that it left out.
   */
  mayMiss(rows: Uint32Array): boolean {
    const judged = rows.subarray(0, gathered);
    return this.#cuts.some((cut) => reachOf(this.#differing(cut.rows, judged)) >= cut.distance);
  }

  close(): void {
    this.#rows.close();
    this.#heads.close();
    this.#arena.free(this.#mean, this.#fixedBytes);
  }

  #encode(codes: number, bits: number): void {
    const { stride } = this.#rows;
    const bytesOfBits = this.#width / 8;
    this.#arena.kernels.encodeBits(codes, this.#width, this.#mean, bits);
    this.#arena.views.u8.fill(0, bits + bytesOfBits, bits + stride);
  }

  /** The `keep` of `candidates`, or of all, with the fewest differing bits in `rows`; of those at the edge, the first. */
  #closest(rows: ArenaRows, keep: number, candidates: Uint32Array | null): Uint32Array {
    const { pickNearest } = this.#arena.kernels;
    const total = candidates?.length ?? rows.count;
    this.#arena.views.u32.fill(0, this.#counts >>> 2, (this.#counts >>> 2) + this.#distances);
    if (candidates === null) {
      const pass: RowPass = { kernel: 'differingBits', query: this.#query, width: rows.stride };
      this.#arena.passes.over(rows, pass, { address: this.#counts, length: this.#distances });
    } else this.#gatherAll(rows, candidates);
    const { u32 } = this.#arena.views;
    const near = new Uint32Array(Math.min(keep, total));
    const { distance, left } = this.#edge(near.length);
    if (near.length < total) this.#cuts.push({ rows, distance });
    const room = this.#counts + distance * 4;
    u32[room >>> 2] = left;
    let found = 0;
    let first = 0;
    rows.blocks((_address, results, held) => {
      const count = Math.min(held, total - first);
      const picked = pickNearest(results, count, first, distance, room);
      near.set(u32.subarray(results >>> 2, (results >>> 2) + picked), found);
      found += picked;
      first += count;
    });
    if (candidates !== null) for (let i = 0; i < near.length; i += 1) near[i] = candidates[near[i]!]!;
    return near;
  }

  /** Differing bits of these rows, in their order, to where the first rows have their results. */
  #gatherAll(rows: ArenaRows, candidates: Uint32Array): void {
    const pass: RowPass = { kernel: 'differingBitsAt', query: this.#query, width: rows.stride };
    this.#arena.passes.at(candidates, rows, pass, { address: this.#counts, length: this.#distances }, () => {
      let first = 0;
      rows.blocks((_address, results, held) => {
        const count = Math.min(held, candidates.length - first);
        this.#gather(rows, candidates.subarray(first, first + count), results);
        first += count;
      });
    });
  }

  /** At most `gathered` rows, which it counts, too. A view, good until the next call. */
  #differing(rows: ArenaRows, candidates: Uint32Array): Uint32Array {
    const results = this.#list + gathered * 4;
    this.#gather(rows, candidates, results);
    return this.#arena.views.u32.subarray(results >>> 2, (results >>> 2) + candidates.length);
  }

  /** Differing bits of these rows, to `results` on; at most `gathered`, and no block has more rows. */
  #gather(rows: ArenaRows, candidates: Uint32Array, results: number): void {
    const { kernels, views } = this.#arena;
    rows.addresses(candidates, views.u32, this.#list >>> 2);
    kernels.differingBitsAt(this.#query, this.#list, candidates.length, rows.stride, results, this.#counts);
  }

  /** The distance at which `keep` rows are reached, and how many are kept of those that have it. */
  #edge(keep: number): { distance: number; left: number } {
    const { u32 } = this.#arena.views;
    const counts = this.#counts >>> 2;
    let left = keep;
    for (let distance = 0; distance < this.#distances; distance += 1) {
      if (u32[counts + distance]! >= left) return { distance, left };
      left -= u32[counts + distance]!;
    }
    return { distance: this.#distances - 1, left };
  }
}

/** Mean and `deviations` standard deviations; of none 0. */
function reachOf(numbers: Uint32Array): number {
  let sum = 0;
  let squares = 0;
  for (const one of numbers) {
    sum += one;
    squares += one * one;
  }
  const mean = sum / Math.max(1, numbers.length);
  return mean + deviations * Math.sqrt(Math.max(0, squares / Math.max(1, numbers.length) - mean * mean));
}
