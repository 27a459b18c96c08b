import { type Arena, ArenaFull } from './arena.ts';
import { BitStage, bitStride } from './bit-stage.ts';
import { type BitTrial, createBitTrial } from './bit-trial.ts';
import type { SavedImage } from './code-image.ts';
import type { CodeRows } from './code-rows.ts';
import { finish, type Steps } from './resumable-steps.ts';

/** Number of rows from which bits are made, and below which they are given up. */
const bitsFrom = 5_000;
const bitsBelow = 2_500;

/** Rows that the mean is made from. */
const meanSample = 4_000;
const meanPerStep = 500;

/** Rows that get bits in one step, and with each row that is put while they are made: no write waits for all of them. */
const rowsPerStep = 2_000;
const rowsPerPut = 4;

/** Bits of rows of codes, and the trial that says how many rows they must keep. */
export interface Bits {
  stage: BitStage;
  trial: BitTrial;
}

/**
 * Bits of a collection, made when it is large enough, kept in step, and made anew when it has doubled: meanwhile those from
 * before serve.
 */
export class CodeBits {
  readonly #codes: CodeRows;
  readonly #arena: Arena;
  /** Components of the vectors, without the padding. */
  readonly #size: number;
  #bits: Bits | null = null;
  /** Bits of the first `rows` rows. */
  #making: (Bits & { rows: number }) | null = null;
  /** Vectors put before bits are made anew: as many as there were the last time. */
  #putsLeft: number;

  /** `expected`: rows that are about to be put; there are no bits before them. */
  constructor(codes: CodeRows, size: number, arena: Arena, expected: number) {
    this.#codes = codes;
    this.#size = size;
    this.#arena = arena;
    this.#putsLeft = Math.max(bitsFrom, expected);
  }

  /** Null: there are none, or they were of no use. */
  get made(): Bits | null {
    return this.#bits;
  }

  get bytes(): number {
    return (this.#bits?.stage.bytes ?? 0) + (this.#making?.stage.bytes ?? 0);
  }

  /** After many rows were put, or taken up from an image. `keep`: what a trial has shown of these very rows. */
  *make(keep?: number | null): Steps<void> {
    if (this.#codes.count <= bitsFrom) return;
    if (keep === null) {
      this.#putsLeft = this.#codes.count;
      return;
    }
    this.#begin(yield* this.#mean(), keep);
    while (this.#making !== null) {
      this.#goOn(rowsPerStep);
      yield;
    }
  }

  /** Bytes of a row in the image of the bits, its slot included, and those that come once. */
  get imageStride(): number {
    return Uint32Array.BYTES_PER_ELEMENT + bitStride(this.#codes.width);
  }

  get imageHeadBytes(): number {
    return this.#codes.width * Float32Array.BYTES_PER_ELEMENT;
  }

  /** Content of an image: the slots of all rows, the mean, and the rows' bits. */
  *runs(): Iterable<Uint8Array> {
    const { stage } = this.#bits!;
    const codes = this.#codes;
    yield new Uint8Array(Uint32Array.from({ length: codes.count }, (_, row) => codes.slot(row)).buffer);
    yield new Uint8Array(stage.mean.buffer);
    yield* stage.runs();
  }

  /** Takes those of an image up after the slots were read, where there are none. Throws ArenaFull and ImageUnusable. */
  *restore(image: SavedImage, keep: number): Steps<void> {
    const mean = new Float32Array(this.#codes.width);
    image.read(new Uint8Array(mean.buffer));
    const stage = new BitStage(this.#arena, this.#codes.width, mean);
    let isDone = false;
    try {
      yield* stage.restore(image);
      image.end();
      isDone = true;
    } finally {
      if (!isDone) stage.close();
    }
    this.#bits = { stage, trial: createBitTrial(keep) };
    this.#putsLeft = image.count;
  }

  /** Row `row` has been put. */
  put(row: number): void {
    const making = this.#making;
    this.#putsLeft -= 1;
    try {
      this.#bits?.stage.put(row, this.#codes.address(row));
    } catch (error) {
      this.drop();
      if (!(error instanceof ArenaFull)) throw error;
    }
    if (making !== null && row < making.rows) making.stage.put(row, this.#codes.address(row));
    if (making === null && this.#codes.count > bitsFrom && this.#putsLeft <= 0) this.#begin(finish(this.#mean()));
    this.#goOn(rowsPerPut);
  }

  /** Row `row` fell free; the last one has taken its place. */
  remove(row: number): void {
    this.#bits?.stage.remove(row);
    // The last row had none: they would be made otherwise.
    if (this.#making !== null && row < this.#making.rows) this.#making.stage.put(row, this.#codes.address(row));
    this.#goOn(rowsPerPut);
    if (this.#codes.count < bitsBelow) this.close();
  }

  /** They are of no use. */
  drop(): void {
    this.#bits?.stage.close();
    this.#bits = null;
  }

  close(): void {
    this.drop();
    this.#making?.stage.close();
    this.#making = null;
  }

  #begin(mean: Float32Array, keep?: number): void {
    this.#putsLeft = this.#codes.count;
    this.#making?.stage.close();
    this.#making = null;
    this.#withRoom(() => {
      const stage = new BitStage(this.#arena, this.#codes.width, mean);
      this.#making = { stage, trial: createBitTrial(keep), rows: 0 };
    });
  }

  #goOn(rows: number): void {
    const making = this.#making;
    if (making === null) return;
    const codes = this.#codes;
    this.#withRoom(() => {
      for (const end = Math.min(codes.count, making.rows + rows); making.rows < end; making.rows += 1) {
        making.stage.put(making.rows, codes.address(making.rows));
      }
    });
    if (this.#making === null || making.rows < codes.count) return;
    this.drop();
    this.#bits = { stage: making.stage, trial: making.trial };
    this.#making = null;
  }

  /** Bits only make it faster: without room for them it works as well. */
  #withRoom(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#making?.stage.close();
      this.#making = null;
      if (!(error instanceof ArenaFull)) throw error;
    }
  }

  *#mean(): Steps<Float32Array> {
    const codes = this.#codes;
    const sums = new Float64Array(codes.width);
    const vector = new Float32Array(codes.width);
    const sample = Math.min(meanSample, codes.count);
    for (let i = 0; i < sample; i += 1) {
      codes.decode(Math.floor((i * codes.count) / sample), vector);
      for (let at = 0; at < this.#size; at += 1) sums[at]! += vector[at]!;
      if (i % meanPerStep === 0) yield;
    }
    return Float32Array.from(sums, (sum) => sum / sample);
  }
}
