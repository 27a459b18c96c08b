import type { Arena } from './arena.ts';
import { createArenaRows } from './arena-rows.ts';

/**
 * One bit a component for each row of codes: 1 where it is above the mean. How many bits differ from the query's tells
 * roughly how near a row is, at an eighth of the bytes: good enough to leave most rows unread.
 */
export interface BitStage {
  readonly bytes: number;
  /** Row `row` (at most one above the last) is what stands at `codes`. Throws ArenaFull. */
  put(row: number, codes: number): void;
  /** The last row takes the place of `row`. */
  remove(row: number): void;
  /** Counts the bits that differ in every row; the others tell of the last look. `codes`: the query, encoded as a row. */
  look(codes: number): void;
  /** The `keep` rows with the fewest differing bits, by row. */
  nearest(keep: number): Uint32Array;
  /** Whether `row` is surely among `nearest(keep)`. */
  within(row: number, keep: number): boolean;
  close(): void;
}

/** `mean`: as many components as a row of codes has (`width`). Throws ArenaFull. */
export function createBitStage(arena: Arena, width: number, mean: Float32Array): BitStage {
  const bytesOfBits = width / 8;
  const stride = Math.ceil(bytesOfBits / 16) * 16;
  const rows = createArenaRows(arena, stride);
  const distances = stride * 8 + 1;
  const fixedBytes = mean.byteLength + stride + distances * 4;
  const meanAt = arena.alloc(fixedBytes);
  const queryAt = meanAt + mean.byteLength;
  const countsAt = queryAt + stride;
  arena.views.f32.set(mean, meanAt >>> 2);

  function encode(codes: number, bits: number): void {
    arena.kernels.encodeBits(codes, width, meanAt, bits);
    arena.views.u8.fill(0, bits + bytesOfBits, bits + stride);
  }

  /** The distance at which `keep` rows are reached, and how many stand below it. */
  function edge(keep: number): { distance: number; below: number; at: number } {
    const { u32 } = arena.views;
    let below = 0;
    for (let distance = 0; distance < distances; distance += 1) {
      const at = u32[(countsAt >>> 2) + distance]!;
      if (below + at >= keep) return { distance, below, at };
      below += at;
    }
    return { distance: distances, below, at: 0 };
  }

  return {
    get bytes() {
      return rows.bytes + fixedBytes;
    },
    put(row, codes) {
      if (row === rows.count) rows.push();
      encode(codes, rows.address(row));
    },
    remove(row) {
      const last = rows.count - 1;
      if (row !== last) {
        const from = rows.address(last);
        arena.views.u8.copyWithin(rows.address(row), from, from + stride);
      }
      rows.pop();
    },
    look(codes) {
      encode(codes, queryAt);
      arena.views.u32.fill(0, countsAt >>> 2, (countsAt >>> 2) + distances);
      rows.blocks((address, results, count) => {
        arena.kernels.differingBits(queryAt, address, count, stride, results, countsAt);
      });
    },
    nearest(keep) {
      const { distance, below } = edge(keep);
      const { u32 } = arena.views;
      const near = new Uint32Array(Math.min(keep, rows.count));
      let found = 0;
      let atEdge = near.length - below;
      let first = 0;
      rows.blocks((_address, results, count) => {
        const result = results >>> 2;
        for (let i = 0; i < count; i += 1) {
          const differing = u32[result + i]!;
          if (differing > distance) continue;
          if (differing === distance) {
            if (atEdge === 0) continue;
            atEdge -= 1;
          }
          near[found] = first + i;
          found += 1;
        }
        first += count;
      });
      return near.subarray(0, found);
    },
    within(row, keep) {
      const { distance, below, at } = edge(keep);
      const differing = arena.views.u32[rows.resultAddress(row) >>> 2]!;
      return differing < distance || (differing === distance && below + at === keep);
    },
    close() {
      rows.close();
      arena.free(meanAt, fixedBytes);
    },
  };
}
