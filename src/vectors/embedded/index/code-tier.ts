import type { Arena } from './arena.ts';
import type { BitStage } from './bit-stage.ts';
import { trialSearches } from './bit-trial.ts';
import { type Bits, CodeBits } from './code-bits.ts';
import { createCodeRows } from './code-rows.ts';
import { scanRows } from './disk-index.ts';
import { refineRows, rescoredPerResult } from './refine-rows.ts';
import type { Tier } from './tier.ts';
import type { IndexOptions, Ranked } from './vector-index.ts';

/** Fewer components are told apart too badly by their bits; more than this are read too seldom to matter. */
const bitsSizes = { min: 512, max: 32_768 };

/**
 * One byte a component in memory; the nearest by it are scored exactly from the rows on disk, and so is everything whose
 * error could make it one of them. Large collections of Cosine are looked through by their bits first. Throws ArenaFull.
 */
export function createCodeTier(options: IndexOptions, arena: Arena): Tier {
  const { distance, size } = options;
  const codes = createCodeRows(options, arena);
  const bitsMayHelp = distance === 'Cosine' && size >= bitsSizes.min && size <= bitsSizes.max;
  const bits = bitsMayHelp ? new CodeBits(codes, size, arena) : null;

  function byCodes(query: Float32Array, k: number): Ranked {
    codes.aim(query);
    codes.multiply(null);
    return refineRows(codes, options, query, k, null);
  }

  function byBits(stage: BitStage, query: Float32Array, k: number, keep: number): Ranked {
    codes.aim(query);
    stage.look(codes.queryCodes);
    const near = stage.nearest(keep);
    codes.multiply(near);
    return refineRows(codes, options, query, k, near);
  }

  /** Answers without the bits, and sees what they would have left out. */
  function searchOnTrial({ stage, trial }: Bits, query: Float32Array, k: number): Ranked {
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
      return codes.bytes + (bits?.bytes ?? 0);
    },
    put(slot, vector) {
      const row = codes.put(slot, vector);
      bits?.put(row);
    },
    remove(slot) {
      const row = codes.remove(slot);
      if (row === -1) return false;
      bits?.remove(row);
      return true;
    },
    search(query, k, slots) {
      if (slots !== null) {
        const held = slots.filter((slot) => codes.row(slot) !== -1);
        if (held.length <= rescoredPerResult * k) return scanRows(options, query, k, held);
        const rows = held.map((slot) => codes.row(slot));
        codes.aim(query);
        codes.multiply(rows);
        return refineRows(codes, options, query, k, rows);
      }
      const made = bits?.made ?? null;
      if (made === null) return byCodes(query, k);
      const keep = made.trial.keep(k);
      if (keep === undefined) return searchOnTrial(made, query, k);
      if (keep !== null && keep * 2 < codes.count) return byBits(made.stage, query, k, keep);
      // Of no use here; they are tried again when they are made anew.
      if (keep === null) bits?.stop();
      return byCodes(query, k);
    },
    close() {
      bits?.stop();
      codes.close();
    },
  };
}
