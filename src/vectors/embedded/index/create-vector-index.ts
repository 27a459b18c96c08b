import { type Arena, ArenaFull } from './arena.ts';
import { createArenaRows } from './arena-rows.ts';
import { CodeTier } from './code-tier.ts';
import { scanInSteps } from './disk-index.ts';
import { comparable, exactScore, ranked } from './exact-score.ts';
import type { Steps } from './resumable-steps.ts';
import { createSlotMap } from './slot-map.ts';
import type { Tier } from './tier.ts';
import { createTopK } from './top-k.ts';
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

/**
 * The kernels add in f32, the answered scores in f64. So this many more than requested are scored again, because the
 * two may order neighbours differently.
 */
const surplus = 16;

interface FloatTier extends Tier {
  each(visit: (slot: number, vector: Float32Array) => void): void;
}

/** Vectors as f32. A row: the vector, padded with zeros to 16 bytes, then its slot. Throws ArenaFull. */
function createFloatTier({ distance, size }: IndexOptions, arena: Arena): FloatTier {
  const width = Math.ceil(size / 4) * 16;
  const rows = createArenaRows(arena, width + 16);
  const slotMap = createSlotMap();
  const { score, sign } = exactScore(distance);
  const kernel = distance === 'Euclid' ? 'squaresF32' : distance === 'Manhattan' ? 'absoluteF32' : 'dotF32';
  arena.scratch(width);

  const vectorAt = (row: number): Float32Array => {
    const at = rows.address(row) >>> 2;
    return arena.views.f32.subarray(at, at + size);
  };
  const slotAt = (row: number): number => arena.views.u32[(rows.address(row) + width) >>> 2]!;

  return {
    kind: 'floats',
    get count() {
      return rows.count;
    },
    get bytes() {
      return rows.bytes;
    },
    put(slot, vector) {
      let row = slotMap.row(slot);
      if (row === -1) {
        rows.push();
        row = rows.count - 1;
        slotMap.set(slot, row);
      }
      const at = rows.address(row) >>> 2;
      const { f32, u32 } = arena.views;
      f32.set(vector, at);
      f32.fill(0, at + size, at + width / 4);
      u32[at + width / 4] = slot;
    },
    remove(slot) {
      const row = slotMap.row(slot);
      if (row === -1) return false;
      const last = rows.count - 1;
      if (row !== last) {
        const from = rows.address(last);
        slotMap.set(slotAt(last), row);
        arena.views.u8.copyWithin(rows.address(row), from, from + rows.stride);
      }
      slotMap.delete(slot);
      rows.pop();
      return true;
    },
    search(query, k, slots) {
      const at = arena.scratch(width);
      arena.views.f32.set(query, at >>> 2);
      arena.views.f32.fill(0, (at >>> 2) + size, (at + width) >>> 2);
      const rough = createTopK(Math.min(k + surplus, slots?.length ?? rows.count));
      if (slots === null) {
        arena.passes.over(rows, { kernel, query: at, width, stride: rows.stride });
        const { f32, u32 } = arena.views;
        rows.blocks((address, results, count) => {
          const result = results >>> 2;
          for (let i = 0; i < count; i += 1) {
            const key = f32[result + i]! * sign;
            // Not `>=`: NaN must be offered, too.
            if (!(key < rough.floor)) rough.offer(key, u32[(address + i * rows.stride + width) >>> 2]!);
          }
        });
      } else {
        const { f32 } = arena.views;
        const compare = arena.kernels[kernel];
        for (const slot of slots) {
          const row = slotMap.row(slot);
          if (row === -1) continue;
          const result = rows.resultAddress(row);
          compare(at, rows.address(row), rows.stride, 1, width, result);
          rough.offer(f32[result >>> 2]! * sign, slot);
        }
      }
      const found = rough.drain().ids;
      const top = createTopK(Math.min(k, found.length));
      for (const slot of found) top.offer(score(query, vectorAt(slotMap.row(slot))) * sign, slot);
      return ranked(top, sign);
    },
    each(visit) {
      // A copy: views end when the arena grows, which the visitor may cause.
      const vector = new Float32Array(size);
      for (let row = 0; row < rows.count; row += 1) {
        vector.set(vectorAt(row));
        visit(slotAt(row), vector);
      }
    },
    close: rows.close,
  };
}
