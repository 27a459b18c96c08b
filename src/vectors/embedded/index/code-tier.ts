import { type Arena, ArenaFull } from './arena.ts';
import { type BitStage, createBitStage } from './bit-stage.ts';
import { type BitTrial, createBitTrial, trialSearches } from './bit-trial.ts';
import { createCodeRows } from './code-rows.ts';
import { scanRows } from './disk-index.ts';
import { exactScore, ranked } from './exact-score.ts';
import type { Tier } from './tier.ts';
import { createTopK } from './top-k.ts';
import type { IndexOptions, Ranked } from './vector-index.ts';

/** From how many rows on bits are made, and below how many they are given up. */
const bitsFrom = 20_000;
const bitsBelow = 10_000;

/** Fewer components are told apart too badly by their bits; more than this are read too seldom to matter. */
const bitsSizes = { min: 512, max: 32_768 };

/** Rows that the mean is made from. */
const meanSample = 4_000;

/** Rows that are sorted by their codes for each one wanted; scored exactly are those of them that may be in. */
const rescoredPerResult = 4;

/**
 * Most rows scored beyond those when so many are too near to tell apart: with less, such collections would not be found
 * right. Where the rows are filtered there is no such end.
 */
const extraRescoredMax = 20_000;

/**
 * One byte a component in memory; the nearest by it are scored exactly from the rows on disk, and so is everything whose
 * error could make it one of them. Large collections of Cosine are looked through by their bits first. Throws ArenaFull.
 */
export function createCodeTier(options: IndexOptions, arena: Arena): Tier {
  const { distance, size } = options;
  const codes = createCodeRows(options, arena);
  const { score, sign } = exactScore(distance);
  const bitsMayHelp = distance === 'Cosine' && size >= bitsSizes.min && size <= bitsSizes.max;
  let bits: { stage: BitStage; trial: BitTrial } | null = null;
  /** Vectors put before bits are made anew: as many as there were the last time. */
  let putsLeft = bitsFrom;

  function stopBits(): void {
    bits?.stage.close();
    bits = null;
  }

  /** Bits only make it faster: without room for them it works as well. */
  function startBits(): void {
    stopBits();
    putsLeft = codes.count;
    let stage: BitStage | null = null;
    try {
      stage = createBitStage(arena, codes.width, meanVector());
      for (let row = 0; row < codes.count; row += 1) stage.put(row, codes.address(row));
      bits = { stage, trial: createBitTrial() };
    } catch (error) {
      stage?.close();
      if (!(error instanceof ArenaFull)) throw error;
    }
  }

  function meanVector(): Float32Array {
    const sums = new Float64Array(codes.width);
    const vector = new Float32Array(codes.width);
    const sample = Math.min(meanSample, codes.count);
    for (let i = 0; i < sample; i += 1) {
      codes.decode(Math.floor((i * codes.count) / sample), vector);
      for (let at = 0; at < size; at += 1) sums[at]! += vector[at]!;
    }
    return Float32Array.from(sums, (sum) => sum / sample);
  }

  /** The best `k` of `rows`, or of all, whose products with `query` have been made. */
  function refine(query: Float32Array, k: number, rows: Uint32Array | null): Ranked {
    const total = rows === null ? codes.count : rows.length;
    const rough = createTopK(Math.min(total, Math.max(rescoredPerResult * k, 32)));
    const each = (visit: (key: number, row: number) => void): void => {
      if (rows === null) codes.each(visit);
      else for (const row of rows) visit(codes.key(row), row);
    };
    if (rows === null) codes.offerTo(rough);
    else for (const row of rows) rough.offer(codes.key(row), row);
    const near = rough.drain();
    const top = createTopK(Math.min(total, k));
    const rescore = (row: number): void => {
      const slot = codes.slot(row);
      top.offer(score(query, options.rows.vector(slot)!) * sign, slot);
    };
    const marginMax = codes.margin(null);
    for (const [i, row] of near.ids.entries()) {
      const key = near.keys[i]!;
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

  function byCodes(query: Float32Array, k: number): Ranked {
    codes.aim(query);
    codes.multiply(null);
    return refine(query, k, null);
  }

  function byBits(stage: BitStage, query: Float32Array, k: number, keep: number): Ranked {
    codes.aim(query);
    stage.look(codes.queryCodes);
    const near = stage.nearest(keep);
    codes.multiply(near);
    return refine(query, k, near);
  }

  /** Answers without the bits, and sees what they would have left out. */
  function searchOnTrial(
    { stage, trial }: { stage: BitStage; trial: BitTrial },
    query: Float32Array,
    k: number,
  ): Ranked {
    // More than the very best are looked at: a point that is looked for by its own vector is found by anything.
    const wide = Math.max(k, 10);
    const answer = byCodes(query, wide);
    let found = answer;
    if (!trial.isNew(query)) {
      // The same search again and again would prove nothing: a stored vector is looked for besides.
      const row = Math.floor((trial.left / trialSearches) * (codes.count - 1));
      found = byCodes(options.rows.vector(codes.slot(row))!.slice(), wide);
    }
    stage.look(codes.queryCodes);
    trial.record(found.slots.length, wide, (i, keep) => stage.within(codes.row(found.slots[i]!), keep));
    return { slots: answer.slots.slice(0, k), scores: answer.scores.slice(0, k) };
  }

  return {
    kind: 'codes',
    get count() {
      return codes.count;
    },
    get bytes() {
      return codes.bytes + (bits?.stage.bytes ?? 0);
    },
    put(slot, vector) {
      const row = codes.put(slot, vector);
      if (!bitsMayHelp) return;
      putsLeft -= 1;
      if (codes.count > bitsFrom && putsLeft <= 0) return startBits();
      try {
        bits?.stage.put(row, codes.address(row));
      } catch (error) {
        stopBits();
        if (!(error instanceof ArenaFull)) throw error;
      }
    },
    remove(slot) {
      const row = codes.remove(slot);
      if (row === -1) return false;
      bits?.stage.remove(row);
      if (codes.count < bitsBelow) stopBits();
      return true;
    },
    search(query, k, slots) {
      if (slots !== null) {
        const held = slots.filter((slot) => codes.row(slot) !== -1);
        if (held.length <= rescoredPerResult * k) return scanRows(options, query, k, held);
        const rows = held.map((slot) => codes.row(slot));
        codes.aim(query);
        codes.multiply(rows);
        return refine(query, k, rows);
      }
      if (bits === null) return byCodes(query, k);
      const keep = bits.trial.keep(k);
      if (keep === undefined) return searchOnTrial(bits, query, k);
      if (keep !== null && keep * 2 < codes.count) return byBits(bits.stage, query, k, keep);
      // Of no use here; they are tried again when they are made anew.
      if (keep === null) stopBits();
      return byCodes(query, k);
    },
    close() {
      stopBits();
      codes.close();
    },
  };
}
