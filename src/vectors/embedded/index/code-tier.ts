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
 * How many times the rows are kept of those that pass a filter: a trial asks of all, and the best of few lie further off.
 */
const filteredKeep = 3;
/** Fewer rows are looked through as fast by their codes. */
const bitsRowsMin = 2_000;

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

  type Look = { keep: number; among: Uint32Array | null };

  function byBits(stage: BitStage, query: Float32Array, k: number, { keep, among }: Look): Ranked {
    codes.aim(query);
    stage.look(codes.queryCodes);
    return byRows(query, k, stage.nearest(keep, among));
  }

  /** Rows of the slots that have one, in the order of these. */
  function heldRows(slots: Uint32Array): Uint32Array {
    const rows = new Uint32Array(slots.length);
    let held = 0;
    for (let i = 0; i < slots.length; i += 1) {
      const row = codes.row(slots[i]!);
      if (row === -1) continue;
      rows[held] = row;
      held += 1;
    }
    return rows.subarray(0, held);
  }

  function byRows(query: Float32Array, k: number, rows: Uint32Array): Ranked {
    codes.multiply(rows);
    return refineRows(codes, options, query, k, rows);
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
    const kept = new Map<number, Set<number>>();
    trial.record(found.slots.length, wide, (i, keep) => {
      if (!kept.has(keep)) kept.set(keep, new Set(stage.nearest(keep, null)));
      return kept.get(keep)!.has(codes.row(found.slots[i]!));
    });
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
      const rows = slots === null ? null : heldRows(slots);
      const total = rows?.length ?? codes.count;
      if (rows !== null && total <= rescoredPerResult * k) {
        const held = rows.map((row) => codes.slot(row));
        return scanRows(options, query, k, held);
      }
      const made = bits?.made ?? null;
      if (made !== null && total > bitsRowsMin) {
        const keep = made.trial.keep(k);
        const wide = (keep ?? 0) * (rows === null ? 1 : filteredKeep);
        if (keep === undefined) {
          const answer = searchOnTrial(made, query, k);
          if (rows === null) return answer;
        } else if (keep === null) {
          // Of no use here; they are tried again when they are made anew.
          bits?.stop();
        } else if (wide * 2 < total) {
          return byBits(made.stage, query, k, { keep: wide, among: rows });
        }
      }
      if (rows === null) return byCodes(query, k);
      codes.aim(query);
      return byRows(query, k, rows);
    },
    close() {
      bits?.stop();
      codes.close();
    },
  };
}
