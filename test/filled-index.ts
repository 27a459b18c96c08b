import assert from 'node:assert/strict';
import type { Distance } from '../src/vectors/collection.ts';
import { createArena } from '../src/vectors/embedded/index/arena.ts';
import { makeVectorIndex } from '../src/vectors/embedded/index/create-vector-index.ts';
import { ReadVectorsRoom } from '../src/vectors/embedded/index/read-vectors.ts';
import { finish } from '../src/vectors/embedded/index/resumable-steps.ts';
import type { Ranked } from '../src/vectors/embedded/index/vector-index.ts';
import { createMemoryRows, normalised, vectorMaker } from './memory-rows.ts';

/** The same points in the same order, and scores as far apart as f32 sums may be. */
export function assertSame(found: Ranked, expected: Ranked): void {
  assert.deepEqual([...found.slots], [...expected.slots]);
  for (const [i, score] of expected.scores.entries()) {
    assert.ok(Math.abs(found.scores[i]! - score) <= 2e-6 * Math.max(1, Math.abs(score)), `score ${i}`);
  }
}

/** An index over `count` made vectors, its rows, and what makes more of the kind. */
export function filled(distance: Distance, size: number, count: number, clusters: number) {
  const make = vectorMaker(size, { seed: count + size, clusters });
  const next = () => (distance === 'Cosine' ? normalised(make()) : make());
  const rows = createMemoryRows();
  for (let slot = 0; slot < count; slot += 1) rows.set(slot, next());
  const arena = createArena({ bytesMax: 256 * 2 ** 20 });
  const room = new ReadVectorsRoom(arena);
  return { rows, arena, next, index: finish(makeVectorIndex({ distance, size, rows, room }, arena))! };
}
