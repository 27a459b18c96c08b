import { type Arena, ArenaFull } from './arena.ts';
import { CodeTier } from './code-tier.ts';
import { scanInSteps } from './disk-index.ts';
import { comparable } from './exact-score.ts';
import { createFloatTier, type FloatTier } from './float-tier.ts';
import type { Steps } from './resumable-steps.ts';
import type { Tier } from './tier.ts';
import type { EarlySearch, IndexOptions, VectorIndex } from './vector-index.ts';

/** Most rows of a tier before the next one takes over; it comes back below half of that. */
export const tierLimits = { disk: 256, floats: 2_048 } as const;

/** With fewer components, codes and the other data of a row take as much memory as floats. */
const codesSizeMin = 32;

/** Rows that are read and put in one step. */
const rowsPerStep = 500;

/**
 * An index that changes its tier as the collection grows and shrinks: rows on disk, f32 in memory, one byte a component
 * (with bits before it when large). Null: the arena has no room for it. `put` throws ArenaFull when it does not fit any
 * more; then only `close` may be called. Throws ImageUnusable. Each put on the smallest tier calls `rows.count()`,
 * which must be cheap. Made in steps; it has each row as it was when that was read.
 */
export function* makeVectorIndex(options: IndexOptions, arena: Arena): Steps<VectorIndex | null> {
  const { rows, distance, size } = options;
  const codesHelp = distance !== 'Manhattan' && size >= codesSizeMin;
  /** Null: the smallest tier, all is read from the rows. */
  let tier: Tier | null = null;

  const createTier = (count: number): Tier =>
    codesHelp && count > tierLimits.floats ? new CodeTier(options, arena) : createFloatTier(options, arena);

  /** A tier for `count` rows, filled by `each`. */
  function fill(count: number, each: (put: (slot: number, vector: Float32Array) => void) => void): Tier {
    const filled = createTier(count);
    try {
      each((slot, vector) => filled.put(slot, vector));
      return filled;
    } catch (error) {
      filled.close();
      throw error;
    }
  }

  function early(search: EarlySearch): void {
    options.early?.((query, k, slots) => search(comparable(distance, query), k, slots));
  }

  /** The tier of a large collection. */
  function* makeCodes(): Steps<Tier> {
    const codes = new CodeTier(options, arena, options.image === undefined ? rows.count() : 0);
    let made = false;
    try {
      if (options.image !== undefined) yield* codes.restore(options.image, early);
      else {
        for (let from: number | null = 0; from !== null; yield) {
          from = rows.each((slot, vector) => codes.put(slot, vector), { from, limit: rowsPerStep });
        }
        yield* codes.settle();
      }
      made = true;
      return codes;
    } finally {
      options.early?.(null);
      if (!made) codes.close();
    }
  }

  function growTo(next: Tier): void {
    tier?.close();
    tier = next;
  }

  /** Smaller tiers save memory, or time. Without room for a change, the tier stays. */
  function shrink(removed: number): void {
    if (tier === null) return;
    // Points without a vector count as rows: then it would come and go with each write.
    if (tier.count < tierLimits.disk / 2 && rows.count() <= tierLimits.disk) {
      tier.close();
      tier = null;
    } else if (tier.kind === 'codes' && tier.count < tierLimits.floats / 2) {
      try {
        growTo(fill(tier.count, rows.each));
        // The rows may still have the removed one.
        tier.remove(removed);
      } catch (error) {
        if (!(error instanceof ArenaFull)) throw error;
      }
    }
  }

  try {
    if (options.image !== undefined || (codesHelp && rows.count() > tierLimits.floats)) tier = yield* makeCodes();
    else if (rows.count() > tierLimits.disk) tier = fill(rows.count(), rows.each);
  } catch (error) {
    if (error instanceof ArenaFull) return null;
    throw error;
  }

  return {
    get count() {
      return tier?.count ?? rows.count();
    },
    get bytes() {
      return tier?.bytes ?? 0;
    },
    put(slot, vector) {
      if (tier === null) {
        if (rows.count() <= tierLimits.disk) return;
        growTo(fill(rows.count(), rows.each));
      }
      tier!.put(slot, vector);
      if (codesHelp && tier!.kind === 'floats' && tier!.count > tierLimits.floats) {
        growTo(fill(tier!.count, (tier as FloatTier).each));
      }
    },
    remove(slot) {
      if (tier?.remove(slot)) shrink(slot);
    },
    *search(query, k, { slots, exact }) {
      const comparableQuery = comparable(distance, query);
      if (k === 0) return { slots: new Uint32Array(), scores: new Float64Array() };
      if (tier === null || (exact && tier.kind === 'codes'))
        return yield* scanInSteps(options, comparableQuery, k, slots);
      return tier.search(comparableQuery, k, slots);
    },
    image: () => tier?.image?.() ?? null,
    close() {
      tier?.close();
      tier = null;
    },
  };
}
