import type { Arena } from './arena.ts';
import { createArenaRows } from './arena-rows.ts';
import { dot } from './exact-score.ts';
import { createSlotMap } from './slot-map.ts';
import type { TopK } from './top-k.ts';
import type { IndexOptions } from './vector-index.ts';

/**
 * Vectors as one signed byte a component. A row: `width` codes, f32 scale, f32 error, f32 square of the length (Euclid
 * only), u32 slot.
 */
export interface CodeRows {
  readonly count: number;
  readonly bytes: number;
  /** Components, padded with zeros to a multiple of 32. */
  readonly width: number;
  /** The row that the vector stands in now. Throws ArenaFull, nothing done. */
  put(slot: number, vector: Float32Array): number;
  /** The row that fell free and holds now what was the last; −1 when the slot was empty. */
  remove(slot: number): number;
  /** −1: none. */
  row(slot: number): number;
  slot(row: number): number;
  address(row: number): number;
  /** The vector as its codes tell it, written over `into`. */
  decode(row: number, into: Float32Array): void;
  /** Encodes a query; what follows is about it. */
  aim(query: Float32Array): void;
  /** The query encoded as a row. */
  readonly queryCodes: number;
  /** Products of the query with these rows, or with all, for `each` and `key`. */
  multiply(rows: Uint32Array | null): void;
  /** Offers all rows that it might take, with their keys: greater is nearer. */
  offerTo(top: TopK): void;
  /** All rows in order. */
  each(visit: (key: number, row: number) => void): void;
  key(row: number): number;
  /** How far a row's key may be off; of the worst row when null. */
  margin(row: number | null): number;
  /** The key that an exact score of this distance would have. */
  keyOfScore(score: number): number;
  close(): void;
}

const metaBytes = 16;

/**
 * A code is off by up to half a step, evenly spread: a product with a query of length 1 by step/√12 (one standard
 * deviation). Eight of them are never exceeded in practice (Hoeffding: 1 in 20,000 at worst; normal: 1 in 10^15).
 */
const errorSteps = 8 / Math.sqrt(12);

/** Kernels compute in f32: relative to what they add up. */
const rounding = 1e-6;

/** Throws ArenaFull. */
export function createCodeRows({ distance, size }: IndexOptions, arena: Arena): CodeRows {
  const width = Math.ceil(size / 32) * 32;
  const rows = createArenaRows(arena, width + metaBytes);
  const slotMap = createSlotMap();
  const isEuclid = distance === 'Euclid';
  // Lanes add width/8 products each in 32 bits.
  const queryStepsMax = Math.min(32_767, Math.floor((2 ** 31 - 1) / (127 * (width / 8))));
  const scratchBytes = width * 6 + rows.stride;
  arena.scratch(scratchBytes);
  let errorMax = 0;
  let scaleMax = 0;
  let squareMax = 0;
  let step = 0;
  let squareOfQuery = 0;
  let lengthOfQuery = 0;
  let errorOfQuery = 0;

  const meta = (row: number): number => (rows.address(row) + width) >>> 2;

  /** Address of the vector in the scratch, padded. */
  function stage(vector: Float32Array): number {
    const at = arena.scratch(scratchBytes);
    const { f32 } = arena.views;
    f32.set(vector, at >>> 2);
    f32.fill(0, (at >>> 2) + size, (at >>> 2) + width);
    return at;
  }

  function marginOf(error: number, scale: number, square: number): number {
    const off = error * lengthOfQuery + scale * errorOfQuery;
    return isEuclid ? 2 * off + rounding * (squareOfQuery + square) : off + rounding * lengthOfQuery * scale * width;
  }

  return {
    get count() {
      return rows.count;
    },
    get bytes() {
      return rows.bytes;
    },
    width,
    put(slot, vector) {
      let row = slotMap.row(slot);
      if (row === -1) {
        rows.push();
        row = rows.count - 1;
        slotMap.set(slot, row);
      }
      arena.kernels.encodeI8(stage(vector), width, rows.address(row));
      const { f32, u32 } = arena.views;
      const at = meta(row);
      const scale = f32[at]!;
      const error = Math.min(errorSteps * scale, f32[at + 1]!) * (1 + rounding);
      const square = isEuclid ? dot(vector, vector) : 0;
      f32[at + 1] = error;
      f32[at + 2] = square;
      u32[at + 3] = slot;
      errorMax = Math.max(errorMax, error);
      scaleMax = Math.max(scaleMax, scale);
      squareMax = Math.max(squareMax, square);
      return row;
    },
    remove(slot) {
      const row = slotMap.row(slot);
      if (row === -1) return -1;
      const last = rows.count - 1;
      if (row !== last) {
        const from = rows.address(last);
        arena.views.u8.copyWithin(rows.address(row), from, from + rows.stride);
        slotMap.set(arena.views.u32[meta(row) + 3]!, row);
      }
      slotMap.delete(slot);
      rows.pop();
      return row;
    },
    row: slotMap.row,
    slot: (row) => arena.views.u32[meta(row) + 3]!,
    address: rows.address,
    decode(row, into) {
      const { i8, f32 } = arena.views;
      const at = rows.address(row);
      const scale = f32[(at + width) >>> 2]!;
      for (let i = 0; i < into.length; i += 1) into[i] = i8[at + i]! * scale;
    },
    aim(query) {
      const at = stage(query);
      let top = 0;
      for (const component of query) top = Math.max(top, Math.abs(component));
      step = top / queryStepsMax;
      const codes = (at + width * 4) >>> 1;
      const { i16 } = arena.views;
      for (let i = 0; i < size; i += 1) i16[codes + i] = step === 0 ? 0 : Math.round(query[i]! / step);
      i16.fill(0, codes + size, codes + width);
      arena.kernels.encodeI8(at, width, at + width * 6);
      squareOfQuery = dot(query, query);
      lengthOfQuery = Math.sqrt(squareOfQuery);
      // Times the length of a row's codes, of which each is at most 127 steps.
      errorOfQuery = (step / Math.sqrt(12)) * 8 * 127 * Math.sqrt(size);
    },
    get queryCodes() {
      return arena.scratch(scratchBytes) + width * 6;
    },
    multiply(wanted) {
      const query = arena.scratch(scratchBytes) + width * 4;
      const { dotI8 } = arena.kernels;
      if (wanted === null) {
        rows.blocks((address, results, count) => dotI8(query, step, address, rows.stride, count, width, results));
      } else {
        for (const row of wanted) {
          dotI8(query, step, rows.address(row), rows.stride, 1, width, rows.resultAddress(row));
        }
      }
    },
    offerTo(top) {
      const { f32 } = arena.views;
      let row = 0;
      let floor = top.floor;
      rows.blocks((address, results, count) => {
        const result = results >>> 2;
        for (let i = 0; i < count; i += 1, row += 1) {
          let key = f32[result + i]!;
          if (isEuclid) key = 2 * key - f32[(address + i * rows.stride + width + 8) >>> 2]!;
          if (key < floor) continue;
          top.offer(key, row);
          floor = top.floor;
        }
      });
    },
    each(visit) {
      const { f32 } = arena.views;
      let row = 0;
      rows.blocks((address, results, count) => {
        const result = results >>> 2;
        for (let i = 0; i < count; i += 1, row += 1) {
          const product = f32[result + i]!;
          visit(isEuclid ? 2 * product - f32[(address + i * rows.stride + width + 8) >>> 2]! : product, row);
        }
      });
    },
    key(row) {
      const { f32 } = arena.views;
      const product = f32[rows.resultAddress(row) >>> 2]!;
      return isEuclid ? 2 * product - f32[meta(row) + 2]! : product;
    },
    margin(row) {
      if (row === null) return marginOf(errorMax, scaleMax, squareMax);
      const { f32 } = arena.views;
      const at = meta(row);
      return marginOf(f32[at + 1]!, f32[at]!, f32[at + 2]!);
    },
    keyOfScore: (score) =>
      isEuclid ? squareOfQuery - score * score * (1 + rounding) : score - rounding * Math.abs(score),
    close: rows.close,
  };
}
