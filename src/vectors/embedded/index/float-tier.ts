import type { Arena } from './arena.ts';
import { createArenaRows } from './arena-rows.ts';
import { exactScore, ranked } from './exact-score.ts';
import { createSlotMap } from './slot-map.ts';
import type { Tier } from './tier.ts';
import { createTopK } from './top-k.ts';
import type { IndexOptions } from './vector-index.ts';

/**
 * The kernels add in f32, the answered scores in f64. So this many more than requested are scored again, because the
 * two may order neighbours differently.
 */
const surplus = 16;

export interface FloatTier extends Tier {
  each(visit: (slot: number, vector: Float32Array) => void): void;
}

/** Vectors as f32. A row: the vector, padded with zeros to 16 bytes, then its slot. Throws ArenaFull. */
export function createFloatTier({ distance, size }: IndexOptions, arena: Arena): FloatTier {
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
