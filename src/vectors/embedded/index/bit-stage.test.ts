import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vectorMaker } from '../../../../test/memory-rows.ts';
import { unwatched } from '../row-watch.ts';
import { createArena } from './arena.ts';
import { BitStage } from './bit-stage.ts';
import { CodeRows } from './code-rows.ts';

const size = 544;

/** Codes of random vectors, their bits beside them, and which component is above the mean of each row. */
function stageOf(count: number) {
  const arena = createArena({ bytesMax: 64 * 2 ** 20 });
  // Memory that was another's is not zero.
  const dirty = arena.alloc(4 * 2 ** 20);
  for (let i = 0; i < 4 * 2 ** 20; i += 1) arena.views.u8[dirty + i] = (i * 31) % 251;
  arena.free(dirty, 4 * 2 ** 20);
  const make = vectorMaker(size, { seed: 8, clusters: 3 });
  const vectors = Array.from({ length: count }, make);
  const mean = Float32Array.from({ length: size }, (_, i) => vectors.reduce((sum, v) => sum + v[i]!, 0) / count);
  const rows = { count: () => 0, vector: () => mean, each: () => null, watch: unwatched };
  const codes = new CodeRows({ distance: 'Cosine', size, rows }, arena);
  const stage = new BitStage(arena, codes.width, mean);
  const decoded = new Float32Array(size);
  const aboveMean = (row: number) => {
    codes.decode(row, decoded);
    return Array.from(decoded, (component, i) => component > mean[i]!);
  };
  for (const [slot, vector] of vectors.entries()) stage.put(codes.put(slot, vector), codes.address(slot));
  return { arena, codes, stage, vectors, aboveMean };
}

test('the rows with the fewest differing bits are kept, as many as wanted', () => {
  const { codes, stage, vectors, aboveMean } = stageOf(700);
  const signs = vectors.map((_, row) => aboveMean(row));
  for (const at of [0, 350, 699]) {
    codes.aim(vectors[at]!);
    stage.look(codes.queryCodes);
    const distances = signs.map((sign) => sign.filter((above, i) => above !== signs[at]![i]).length);
    for (const keep of [1, 10, 100, 699, 700, 5_000]) {
      const near = [...stage.nearest(keep, null)];
      assert.equal(near.length, Math.min(keep, 700));
      assert.deepEqual(
        near,
        [...new Set(near)].sort((a, b) => a - b),
      );
      const furthest = Math.max(...near.map((row) => distances[row]!));
      assert.ok(distances.every((distance, row) => distance >= furthest || near.includes(row)));
    }
  }
});

test('a removed row makes room for the last one', () => {
  const { codes, stage, vectors } = stageOf(50);
  codes.remove(7);
  stage.remove(7);
  codes.aim(vectors[49]!);
  stage.look(codes.queryCodes);
  assert.deepEqual([...stage.nearest(1, null)], [7]);
});

test('all memory is given back', () => {
  const { arena, codes, stage } = stageOf(300);
  const scratchBytes = 65_536;
  assert.ok(arena.bytesUsed >= stage.bytes + codes.bytes);
  stage.close();
  codes.close();
  assert.equal(arena.bytesUsed, scratchBytes);
});
