import type { Arena } from './arena.ts';
import { type ArenaRows, createArenaRows } from './arena-rows.ts';
import { fillRuns, type SavedImage } from './code-image.ts';
import { dot } from './exact-score.ts';
import { gathered, QueryCodes } from './query-codes.ts';
import type { Steps } from './resumable-steps.ts';
import { createSlotMap } from './slot-map.ts';
import type { TopK } from './top-k.ts';
import type { IndexOptions } from './vector-index.ts';

const metaBytes = 16;

/**
 * A code is off by up to half a step, evenly spread: a product with a query of length 1 by step/√12 (one standard
 * deviation). Eight of them are never exceeded in practice (Hoeffding: 1 in 20,000 at worst; normal: 1 in 10^15).
 */
const errorSteps = 8 / Math.sqrt(12);

/** Kernels compute in f32: relative to their sums. */
const rounding = 1e-6;

/**
 * Vectors as one signed byte a component. A row: `width` codes, f32 scale, f32 error, f32 square of the length (Euclid
 * only), u32 slot.
 */
export class CodeRows {
  /** Components, padded with zeros to a multiple of 32. */
  readonly width: number;
  readonly #arena: Arena;
  readonly #isEuclid: boolean;
  readonly #rows: ArenaRows;
  readonly #slots = createSlotMap();
  readonly #query: QueryCodes;
  /** Error of the worst row so far. */
  #errorMax = 0;
  #scaleMax = 0;
  #squareMax = 0;

  /** Throws ArenaFull. */
  constructor({ distance, size }: IndexOptions, arena: Arena) {
    this.width = Math.ceil(size / 32) * 32;
    this.#arena = arena;
    this.#isEuclid = distance === 'Euclid';
    this.#rows = createArenaRows(arena, this.width + metaBytes);
    this.#query = new QueryCodes(arena, { size, width: this.width, stride: this.#rows.stride });
  }

  get count(): number {
    return this.#rows.count;
  }

  get bytes(): number {
    return this.#rows.bytes;
  }

  /** The query encoded as a row. */
  get queryCodes(): number {
    return this.#query.row;
  }

  /** The row that holds the vector now. Throws ArenaFull, nothing done. */
  put(slot: number, vector: Float32Array): number {
    let row = this.#slots.row(slot);
    if (row === -1) {
      this.#rows.push();
      row = this.#rows.count - 1;
      this.#slots.set(slot, row);
    }
    this.#arena.kernels.encodeI8(this.#query.stage(vector), this.width, this.address(row));
    const { f32, u32 } = this.#arena.views;
    const at = this.#meta(row);
    const scale = f32[at]!;
    const error = Math.min(errorSteps * scale, f32[at + 1]!) * (1 + rounding);
    const square = this.#isEuclid ? dot(vector, vector) : 0;
    f32[at + 1] = error;
    f32[at + 2] = square;
    u32[at + 3] = slot;
    this.#errorMax = Math.max(this.#errorMax, error);
    this.#scaleMax = Math.max(this.#scaleMax, scale);
    this.#squareMax = Math.max(this.#squareMax, square);
    return row;
  }

  /** The freed row, which now holds the former last one; −1 when the slot was empty. */
  remove(slot: number): number {
    const row = this.#slots.row(slot);
    if (row === -1) return -1;
    const last = this.#rows.count - 1;
    if (row !== last) {
      const from = this.address(last);
      this.#arena.views.u8.copyWithin(this.address(row), from, from + this.#rows.stride);
      this.#slots.set(this.slot(row), row);
    }
    this.#slots.delete(slot);
    this.#rows.pop();
    return row;
  }

  /** −1: none. */
  row(slot: number): number {
    return this.#slots.row(slot);
  }

  /** The rows of those slots that have one, in the order of these. */
  held(slots: Uint32Array): Uint32Array {
    return this.#slots.rows(slots);
  }

  slot(row: number): number {
    return this.#arena.views.u32[this.#meta(row) + 3]!;
  }

  address(row: number): number {
    return this.#rows.address(row);
  }

  /** Bytes of a row. */
  get stride(): number {
    return this.#rows.stride;
  }

  /** All rows as they lie in memory, in order; each view is good until the next change. */
  runs(): Iterable<Uint8Array> {
    return this.#rows.runs();
  }

  /** Says which slots the rows of an image are about to have, so that `row` and `held` know them. */
  expect(slots: Uint32Array): void {
    for (let row = 0; row < slots.length; row += 1) this.#slots.set(slots[row]!, row);
  }

  /** Takes the rows of an image up, where there are none. Throws ArenaFull and ImageUnusable; it can only be closed then. */
  *restore(image: SavedImage): Steps<void> {
    const rows = this.#rows;
    image.begin('codes', image.count * rows.stride);
    let row = 0;
    yield* fillRuns(image, rows.added(image.count), (run) => {
      for (const end = row + run.length / rows.stride; row < end; row += 1) this.#restored(row);
    });
    image.end();
  }

  #restored(row: number): void {
    const { f32, u32 } = this.#arena.views;
    const at = this.#meta(row);
    this.#slots.set(u32[at + 3]!, row);
    this.#errorMax = Math.max(this.#errorMax, f32[at + 1]!);
    this.#scaleMax = Math.max(this.#scaleMax, f32[at]!);
    this.#squareMax = Math.max(this.#squareMax, f32[at + 2]!);
  }

  /** The vector as its codes tell it, written over `into`. */
  decode(row: number, into: Float32Array): void {
    const { i8, f32 } = this.#arena.views;
    const at = this.address(row);
    const scale = f32[(at + this.width) >>> 2]!;
    for (let i = 0; i < into.length; i += 1) into[i] = i8[at + i]! * scale;
  }

  /** Encodes a query; what follows is about it. */
  aim(query: Float32Array): void {
    this.#query.aim(query);
  }

  /** Products of the query with these rows, or with all, for `each` and `key`. */
  multiply(selected: Uint32Array | null): void {
    const rows = this.#rows;
    const { address: query, step } = this.#query;
    const { stride } = rows;
    const { width } = this;
    const { passes } = this.#arena;
    if (selected === null) return passes.over(rows, { kernel: 'dotI8', query, step, width, stride });
    passes.at(selected, rows, { kernel: 'dotI8At', query, step, width, stride }, null, () => {
      const { dotI8At } = this.#arena.kernels;
      const { u32 } = this.#arena.views;
      const { list } = this.#query;
      const [addresses, outs] = [list >>> 2, (list >>> 2) + gathered];
      for (let from = 0; from < selected.length; from += gathered) {
        const part = selected.subarray(from, from + gathered);
        rows.addresses(part, u32, addresses);
        rows.resultAddresses(part, u32, outs);
        dotI8At(query, step, list, list + gathered * 4, part.length, width);
      }
    });
  }

  /** Offers those of `rows`, or of all, that it might take, with their keys: greater is nearer. */
  offerTo(top: TopK, rows: Uint32Array | null): void {
    if (rows === null) return this.#offerAll(top);
    const { f32, u32 } = this.#arena.views;
    const isEuclid = this.#isEuclid;
    const list = this.#query.list >>> 2;
    let floor = top.floor;
    for (let from = 0; from < rows.length; from += gathered) {
      const part = rows.subarray(from, from + gathered);
      this.#rows.resultAddresses(part, u32, list);
      for (let i = 0; i < part.length; i += 1) {
        const row = part[i]!;
        const key = isEuclid ? this.key(row) : f32[u32[list + i]! >>> 2]!;
        if (key < floor) continue;
        top.offer(key, row);
        floor = top.floor;
      }
    }
  }

  #offerAll(top: TopK): void {
    const { f32 } = this.#arena.views;
    const isEuclid = this.#isEuclid;
    const { stride } = this.#rows;
    const squareAt = this.width + 8;
    let row = 0;
    let floor = top.floor;
    this.#rows.blocks((address, results, count) => {
      const result = results >>> 2;
      for (let i = 0; i < count; i += 1, row += 1) {
        let key = f32[result + i]!;
        if (isEuclid) key = 2 * key - f32[(address + i * stride + squareAt) >>> 2]!;
        if (key < floor) continue;
        top.offer(key, row);
        floor = top.floor;
      }
    });
  }

  /** All rows in order. */
  each(visit: (key: number, row: number) => void): void {
    const { f32 } = this.#arena.views;
    const isEuclid = this.#isEuclid;
    const { stride } = this.#rows;
    const squareAt = this.width + 8;
    let row = 0;
    this.#rows.blocks((address, results, count) => {
      const result = results >>> 2;
      for (let i = 0; i < count; i += 1, row += 1) {
        const product = f32[result + i]!;
        visit(isEuclid ? 2 * product - f32[(address + i * stride + squareAt) >>> 2]! : product, row);
      }
    });
  }

  key(row: number): number {
    const { f32 } = this.#arena.views;
    const product = f32[this.#rows.resultAddress(row) >>> 2]!;
    return this.#isEuclid ? 2 * product - f32[this.#meta(row) + 2]! : product;
  }

  /** How far a row's key may be off; of the worst row when null. */
  margin(row: number | null): number {
    if (row === null) return this.#marginOf(this.#errorMax, this.#scaleMax, this.#squareMax);
    const { f32 } = this.#arena.views;
    const at = this.#meta(row);
    return this.#marginOf(f32[at + 1]!, f32[at]!, f32[at + 2]!);
  }

  /** The key that an exact score of this distance would have. */
  keyOfScore(score: number): number {
    return this.#isEuclid ? this.#query.square - score * score * (1 + rounding) : score - rounding * Math.abs(score);
  }

  close(): void {
    this.#rows.close();
  }

  /** Index of the row's scale among 32-bit numbers; error, square and slot follow. */
  #meta(row: number): number {
    return (this.#rows.address(row) + this.width) >>> 2;
  }

  #marginOf(error: number, scale: number, square: number): number {
    const query = this.#query;
    const off = error * query.length + scale * query.error;
    return this.#isEuclid
      ? 2 * off + rounding * (query.square + square)
      : off + rounding * query.length * scale * this.width;
  }
}
