import type { Arena } from './arena.ts';
import type { BitStage } from './bit-stage.ts';
import { trialSearches } from './bit-trial.ts';
import { type Bits, CodeBits } from './code-bits.ts';
import type { CodeImage, SavedImage } from './code-image.ts';
import { CodeRows } from './code-rows.ts';
import { scanRows } from './disk-index.ts';
import { exactScore, ranked } from './exact-score.ts';
import { ReadVectors } from './read-vectors.ts';
import type { Steps } from './resumable-steps.ts';
import type { Tier } from './tier.ts';
import { createTopK } from './top-k.ts';
import type { EarlySearch, IndexOptions, Ranked } from './vector-index.ts';

/** Bits distinguish vectors of fewer components too badly; those of more are read too seldom to matter. */
const bitsSizes = { min: 512, max: 32_768 };
/**
 * How many times the rows are kept of those that pass a filter: a trial asks of all, and the best of few lie further off.
 */
const filteredKeep = 2;
/**
 * Results that a search by bits is judged by, though fewer may be wanted: a trial says nothing of queries and rows of another
 * kind than those it saw.
 */
const judgedMin = 10;
/** How many times the rows of a trial are kept, one after the other while in doubt, before all codes are looked through. */
const widenings = [1, 4, 16];
/** Fewer rows are looked through as fast by their codes. */
const bitsRowsMin = 2_000;
/** Most rows that a search reads from the disk while their codes are not there yet: about 20 ms. */
const earlyRowsMax = 2_000;

/**
 * One byte a component in memory; the nearest by it are scored exactly from the rows on disk, and so is everything whose
 * error could make it one of them. Large collections of Cosine are looked through by their bits first.
 */
export class CodeTier implements Tier {
  readonly kind = 'codes';
  readonly #options: IndexOptions;
  readonly #codes: CodeRows;
  readonly #bits: CodeBits | null;
  /** Null: every vector is read anew. */
  readonly #read: ReadVectors | null;
  /** How often rows were put or removed: an image is of one state. */
  #changes = 0;

  /** `expected`: rows that are about to be put, and followed by `settle`. Throws ArenaFull. */
  constructor(options: IndexOptions, arena: Arena, expected = 0) {
    const { distance, size, room, rows } = options;
    const read = room === undefined ? null : new ReadVectors(room, size, (slot) => rows.vector(slot));
    this.#read = read;
    this.#options = read === null ? options : { ...options, rows: { ...rows, vector: (slot) => read.vector(slot) } };
    this.#codes = new CodeRows(options, arena);
    const bitsMayHelp = distance === 'Cosine' && size >= bitsSizes.min && size <= bitsSizes.max;
    this.#bits = bitsMayHelp ? new CodeBits(this.#codes, size, arena, expected) : null;
  }

  get count(): number {
    return this.#codes.count;
  }

  get bytes(): number {
    return this.#codes.bytes + (this.#bits?.bytes ?? 0);
  }

  /**
   * Takes an image of all rows up, where there are none. Its bits come first: `early` is called when searches may use
   * them. Throws ArenaFull and ImageUnusable; it can only be closed then.
   */
  *restore(image: SavedImage, early: (search: EarlySearch) => void): Steps<void> {
    const bits = this.#bits;
    if (bits !== null && typeof image.keep === 'number') {
      image.begin('bits', image.count * bits.imageStride + bits.imageHeadBytes);
      const slots = new Uint32Array(image.count);
      image.read(new Uint8Array(slots.buffer));
      yield* bits.restore(image, image.keep);
      this.#codes.expect(slots);
      early((query, k, candidates) => this.#searchEarly(slots, query, k, candidates));
      yield;
    }
    yield* this.#codes.restore(image);
    if (bits !== null && bits.made === null) yield* bits.make(image.keep);
  }

  /** After the rows that were expected. */
  *settle(): Steps<void> {
    if (this.#bits !== null) yield* this.#bits.make();
  }

  image(): CodeImage {
    const codes = this.#codes;
    const at = this.#changes;
    const made = this.#bits?.made ?? null;
    const keep = made === null ? null : made.trial.result;
    const bits = typeof keep === 'number' ? this.#bits : null;
    const bitBytes = bits === null ? 0 : codes.count * bits.imageStride + bits.imageHeadBytes;
    return {
      count: codes.count,
      bytes: codes.count * codes.stride + bitBytes,
      keep,
      isCurrent: () => this.#changes === at,
      *parts() {
        if (bits !== null) yield { part: 'bits', runs: bits.runs() };
        yield { part: 'codes', runs: codes.runs() };
      },
    };
  }

  put(slot: number, vector: Float32Array): void {
    this.#changes += 1;
    this.#read?.forget(slot);
    const row = this.#codes.put(slot, vector);
    this.#bits?.put(row);
  }

  remove(slot: number): boolean {
    const row = this.#codes.remove(slot);
    if (row === -1) return false;
    this.#changes += 1;
    this.#read?.forget(slot);
    this.#bits?.remove(row);
    return true;
  }

  search(query: Float32Array, k: number, slots: Uint32Array | null): Ranked {
    const rows = slots === null ? null : this.#codes.held(slots);
    const total = rows?.length ?? this.#codes.count;
    if (rows !== null && total <= rescoredPerResult * k) {
      const held = rows.map((row) => this.#codes.slot(row));
      return scanRows(this.#options, query, k, held);
    }
    const made = this.#bits?.made ?? null;
    if (made !== null && total > bitsRowsMin) {
      const keep = made.trial.keep(k);
      const wide = (keep ?? 0) * (rows === null ? 1 : filteredKeep);
      if (keep === undefined) {
        const answer = this.#searchOnTrial(made, query, k);
        if (rows === null) return answer;
      } else if (keep === null) {
        // The bits are of no use here; they are tried again when they are made anew.
        this.#bits?.drop();
      } else {
        for (const times of widenings) {
          if (wide * times * 2 >= total) break;
          const answer = this.#byBits(made.stage, query, k, { keep: wide * times, candidates: rows });
          if (answer !== null) return answer;
        }
      }
    }
    return this.#byCodes(query, k, rows);
  }

  close(): void {
    this.#changes += 1;
    this.#read?.close();
    this.#bits?.close();
    this.#codes.close();
  }

  #byCodes(query: Float32Array, k: number, rows: Uint32Array | null): Ranked {
    this.#codes.aim(query);
    this.#codes.multiply(rows);
    return refineRows(this.#codes, this.#options, query, k, rows);
  }

  /** Null: it is in doubt whether this many rows are enough. `refine`: the best of the rows that the bits have chosen. */
  #byBits(
    stage: BitStage,
    query: Float32Array,
    k: number,
    { keep, candidates }: { keep: number; candidates: Uint32Array | null },
    refine = this.#rankByCodes,
  ): Ranked | null {
    const codes = this.#codes;
    codes.aim(query);
    stage.look(codes.queryCodes);
    const { slots, scores } = refine(query, Math.max(k, judgedMin), stage.nearest(keep, candidates));
    if (stage.mayMiss(slots.map((slot) => codes.row(slot)))) return null;
    return { slots: slots.slice(0, k), scores: scores.slice(0, k) };
  }

  readonly #rankByCodes = (query: Float32Array, k: number, rows: Uint32Array): Ranked => {
    this.#codes.multiply(rows);
    return refineRows(this.#codes, this.#options, query, k, rows);
  };

  /** `slotOf`: of each row. Null where so many rows may be meant that waiting for the codes takes less time. */
  #searchEarly(slotOf: Uint32Array, query: Float32Array, k: number, slots: Uint32Array | null): Ranked | null {
    const { stage, trial } = this.#bits!.made!;
    const candidates = slots === null ? null : this.#codes.held(slots);
    const scan = (query: Float32Array, k: number, rows: Uint32Array): Ranked =>
      scanRows(this.#options, query, k, rows.map((row) => slotOf[row]!).sort());
    if (candidates !== null && candidates.length <= earlyRowsMax) return scan(query, k, candidates);
    const wide = trial.keep(k)! * (candidates === null ? 1 : filteredKeep);
    for (const times of widenings) {
      if (wide * times > earlyRowsMax) break;
      const answer = this.#byBits(stage, query, k, { keep: wide * times, candidates }, scan);
      if (answer !== null) return answer;
    }
    return null;
  }

  /**
   * Answers without the bits, and sees what they would have left out; of a search for a stored vector besides: those of the
   * callers may all be of one kind, or the same again and again.
   */
  #searchOnTrial(bits: Bits, query: Float32Array, k: number): Ranked {
    const codes = this.#codes;
    const { trial } = bits;
    // More than the very best are looked at: a point that is looked for by its own vector is found by anything.
    const wide = Math.max(k, judgedMin);
    const answer = this.#byCodes(query, wide, null);
    if (trial.isNew(query)) this.#record(bits, answer, wide);
    if (trial.left > 0) {
      const row = Math.floor((trial.left / trialSearches) * (codes.count - 1));
      const stored = this.#options.rows.vector(codes.slot(row))!.slice();
      this.#record(bits, this.#byCodes(stored, wide, null), wide);
    }
    return { slots: answer.slots.slice(0, k), scores: answer.scores.slice(0, k) };
  }

  /** Records the last search. */
  #record({ stage, trial }: Bits, found: Ranked, wide: number): void {
    stage.look(this.#codes.queryCodes);
    const nearestRows = new Map<number, Set<number>>();
    trial.record(found.slots.length, wide, (i, keep) => {
      if (!nearestRows.has(keep)) nearestRows.set(keep, new Set(stage.nearest(keep, null)));
      return nearestRows.get(keep)!.has(this.#codes.row(found.slots[i]!));
    });
  }
}

/** Rows that are sorted by their codes for each one wanted; scored exactly are those of them that may be in. */
const rescoredPerResult = 4;

/**
 * Most rows scored beyond those that are wanted when many are too near to tell apart: with fewer, such collections
 * would give wrong results. Filtered rows have no such bound.
 */
const extraRescoredMax = 20_000;

/** The best `k` of `rows`, or of all, whose products with `query` have been made. */
function refineRows(
  codes: CodeRows,
  { distance, rows: source }: IndexOptions,
  query: Float32Array,
  k: number,
  rows: Uint32Array | null,
): Ranked {
  const { score, sign } = exactScore(distance);
  const total = rows === null ? codes.count : rows.length;
  const rough = createTopK(Math.min(total, Math.max(rescoredPerResult * k, 32)));
  const each = (visit: (key: number, row: number) => void): void => {
    if (rows === null) codes.each(visit);
    else for (const row of rows) visit(codes.key(row), row);
  };
  codes.offerTo(rough, rows);
  const near = rough.drain();
  const top = createTopK(Math.min(total, k));
  const rescore = (row: number): void => {
    const slot = codes.slot(row);
    top.offer(score(query, source.vector(slot)!) * sign, slot);
  };
  const marginMax = codes.margin(null);
  for (let i = 0; i < near.ids.length; i += 1) {
    const key = near.keys[i]!;
    const row = near.ids[i]!;
    // Neither this one nor any behind it can be better than the worst that is in.
    if (key + marginMax < neededKey()) return ranked(top, sign);
    if (!(key + codes.margin(row) < neededKey())) rescore(row);
  }
  const last = near.ids.length - 1;
  if (near.ids.length === total || near.keys[last]! + marginMax < neededKey()) return ranked(top, sign);

  const extra = createTopK(rows === null ? Math.min(total, extraRescoredMax) : rows.length);
  const [lastKey, lastRow, needed] = [near.keys[last]!, near.ids[last]!, neededKey()];
  const surely = needed - marginMax;
  each((key, row) => {
    if (key < surely || key > lastKey || (key === lastKey && row <= lastRow)) return;
    if (!(key + codes.margin(row) < needed)) extra.offer(key, row);
  });
  for (const row of extra.drain().ids) {
    if (!(codes.key(row) + codes.margin(row) < neededKey())) rescore(row);
  }
  return ranked(top, sign);

  /** The key of the worst that is in so far. */
  function neededKey(): number {
    return codes.keyOfScore(top.floor * sign);
  }
}
