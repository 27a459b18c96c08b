import type { Arena } from './arena.ts';
import { dot } from './exact-score.ts';

/** Rows that one call of a kernel gathers. */
export const gathered = 4_096;

/** Codes of a row, each at most 127 steps. */
const codeMax = 127;

/**
 * A query in the arena's scratch as rows of codes are compared with it: as 16-bit codes, and as a row. Other users of
 * the scratch write over it.
 */
export class QueryCodes {
  readonly #arena: Arena;
  readonly #size: number;
  readonly #width: number;
  readonly #stride: number;
  readonly #scratchBytes: number;
  readonly #stepsMax: number;
  /** Value of one step of the 16-bit codes. */
  step = 0;
  /** Error relative to the query's length, and the length. */
  square = 0;
  length = 0;
  /** How far the 16-bit codes may be off, in products with a row whose scale is 1. */
  error = 0;

  /** `stride`: bytes of a row of codes; `width`: its components. */
  constructor(arena: Arena, { size, width, stride }: { size: number; width: number; stride: number }) {
    this.#arena = arena;
    this.#size = size;
    this.#width = width;
    this.#stride = stride;
    this.#scratchBytes = width * 6 + stride + gathered * 8;
    // Lanes add width/8 products each in 32 bits.
    this.#stepsMax = Math.min(32_767, Math.floor((2 ** 31 - 1) / (codeMax * (width / 8))));
    arena.scratch(this.#scratchBytes);
  }

  /** Address of the 16-bit codes. */
  get address(): number {
    return this.#arena.scratch(this.#scratchBytes) + this.#width * 4;
  }

  /** Address of the query as a row. */
  get row(): number {
    return this.#arena.scratch(this.#scratchBytes) + this.#width * 6;
  }

  /** Room for `gathered` addresses of rows and as many of their results. */
  get list(): number {
    return this.row + this.#stride;
  }

  /** Address of the vector in the scratch, padded. */
  stage(vector: Float32Array): number {
    const at = this.#arena.scratch(this.#scratchBytes);
    const { f32 } = this.#arena.views;
    f32.set(vector, at >>> 2);
    f32.fill(0, (at >>> 2) + this.#size, (at >>> 2) + this.#width);
    return at;
  }

  aim(query: Float32Array): void {
    const [size, width] = [this.#size, this.#width];
    const at = this.stage(query);
    const { encodeI8, encodeI16 } = this.#arena.kernels;
    this.step = encodeI16(at, width, this.#stepsMax, at + width * 4);
    encodeI8(at, width, at + width * 6);
    this.square = dot(query, query);
    this.length = Math.sqrt(this.square);
    this.error = (this.step / Math.sqrt(12)) * 8 * codeMax * Math.sqrt(size);
  }
}
