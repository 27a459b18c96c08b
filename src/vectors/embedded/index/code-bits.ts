import { type Arena, ArenaFull } from './arena.ts';
import { type BitStage, createBitStage } from './bit-stage.ts';
import { type BitTrial, createBitTrial } from './bit-trial.ts';
import type { CodeRows } from './code-rows.ts';

/** From how many rows on bits are made, and below how many they are given up. */
const bitsFrom = 5_000;
const bitsBelow = 2_500;

/** Rows that the mean is made from. */
const meanSample = 4_000;

/** Bits of rows of codes, and the trial that says how many rows they must keep. */
export interface Bits {
  stage: BitStage;
  trial: BitTrial;
}

/** Bits of a collection, made when it is large enough, kept in step, and made anew when it has doubled. */
export class CodeBits {
  readonly #codes: CodeRows;
  readonly #arena: Arena;
  /** Components of the vectors, without the padding. */
  readonly #size: number;
  #bits: Bits | null = null;
  /** Vectors put before bits are made anew: as many as there were the last time. */
  #putsLeft = bitsFrom;

  constructor(codes: CodeRows, size: number, arena: Arena) {
    this.#codes = codes;
    this.#size = size;
    this.#arena = arena;
  }

  /** Null: there are none, or they were of no use. */
  get made(): Bits | null {
    return this.#bits;
  }

  get bytes(): number {
    return this.#bits?.stage.bytes ?? 0;
  }

  /** After rows were taken up from an image. `keep`: what a trial has shown of these very rows. */
  restore(keep: number | null | undefined): void {
    if (this.#codes.count <= bitsFrom) return;
    if (keep === null) this.#putsLeft = this.#codes.count;
    else this.#start(keep);
  }

  /** Row `row` has been put. */
  put(row: number): void {
    this.#putsLeft -= 1;
    if (this.#codes.count > bitsFrom && this.#putsLeft <= 0) return this.#start();
    try {
      this.#bits?.stage.put(row, this.#codes.address(row));
    } catch (error) {
      this.stop();
      if (!(error instanceof ArenaFull)) throw error;
    }
  }

  /** Row `row` fell free; the last one has taken its place. */
  remove(row: number): void {
    this.#bits?.stage.remove(row);
    if (this.#codes.count < bitsBelow) this.stop();
  }

  stop(): void {
    this.#bits?.stage.close();
    this.#bits = null;
  }

  /** Bits only make it faster: without room for them it works as well. */
  #start(keep?: number): void {
    this.stop();
    const codes = this.#codes;
    this.#putsLeft = codes.count;
    let stage: BitStage | null = null;
    try {
      stage = createBitStage(this.#arena, codes.width, this.#mean());
      for (let row = 0; row < codes.count; row += 1) stage.put(row, codes.address(row));
      this.#bits = { stage, trial: createBitTrial(keep) };
    } catch (error) {
      stage?.close();
      if (!(error instanceof ArenaFull)) throw error;
    }
  }

  #mean(): Float32Array {
    const codes = this.#codes;
    const sums = new Float64Array(codes.width);
    const vector = new Float32Array(codes.width);
    const sample = Math.min(meanSample, codes.count);
    for (let i = 0; i < sample; i += 1) {
      codes.decode(Math.floor((i * codes.count) / sample), vector);
      for (let at = 0; at < this.#size; at += 1) sums[at]! += vector[at]!;
    }
    return Float32Array.from(sums, (sum) => sum / sample);
  }
}
