import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSame, filled } from '../../../../test/filled-index.ts';
import { normalised } from '../../../../test/memory-rows.ts';
import { createArena } from './arena.ts';
import { ReadVectors, ReadVectorsRoom } from './read-vectors.ts';
import { finish } from './resumable-steps.ts';

const all = { slots: null, exact: false };
const megabyte = 2 ** 20;

test('a search that is repeated reads no row again, until one that it found has changed', () => {
  const { rows, index, next } = filled('Cosine', 64, 3_000, 20);
  const query = next();
  const found = () => {
    rows.reads = 0;
    const result = finish(index.search(query, 10, all));
    const { reads } = rows;
    assertSame(result, rows.bruteForce('Cosine', query, 10));
    return { slots: [...result.slots], reads };
  };
  const first = found();
  assert.ok(first.reads >= 10);
  assert.deepEqual(found(), { slots: first.slots, reads: 0 });

  const [best, second] = first.slots as [number, number];
  // Still among the best, so its vector is looked at again.
  const last = rows.vector(first.slots[5]!);
  const moved = normalised(rows.vector(best).map((component, i) => component + last[i]!));
  rows.set(best, moved);
  index.put(best, moved);
  assert.ok(found().slots.includes(best));

  rows.delete(second);
  index.remove(second);
  assert.ok(!found().slots.includes(second));
  rows.set(second, query);
  index.put(second, query);
  assert.equal(found().slots[0], second);
  index.close();
});

test('many vectors share little room, and the index that was used last has it', () => {
  const arena = createArena({ bytesMax: 64 * megabyte });
  const room = new ReadVectorsRoom(arena);
  const size = 1_024;
  let reads = 0;
  const vectorOf = (slot: number) => {
    reads += 1;
    return slot === 7 ? null : new Float32Array(size).fill(slot);
  };
  const [one, other] = [new ReadVectors(room, size, vectorOf), new ReadVectors(room, size, vectorOf)];
  for (let slot = 0; slot < 5_000; slot += 1) {
    const vector = one.vector(slot);
    if (slot === 7) assert.equal(vector, null);
    else assert.deepEqual([vector![0], vector![size - 1]], [slot, slot]);
  }
  const bytesMax = 2.2 * megabyte;
  assert.ok(one.bytes > megabyte && one.bytes <= bytesMax, `${one.bytes}`);

  reads = 0;
  for (let slot = 0; slot < 300; slot += 1) assert.equal(other.vector(slot)?.[1], slot === 7 ? undefined : slot);
  assert.equal(reads, 300);
  assert.equal(one.bytes, 0);
  for (let slot = 8; slot < 300; slot += 1) assert.equal(other.vector(slot)![1], slot);
  assert.equal(reads, 300);

  other.close();
  one.close();
  // A page of scratch and what a closed index leaves.
  assert.ok(arena.bytesUsed <= megabyte / 4, `${arena.bytesUsed}`);
});

test('an arena that indexes fill has no room for vectors of the disk', () => {
  const arena = createArena({ bytesMax: 8 * megabyte });
  arena.alloc(7.5 * megabyte);
  const read = new ReadVectors(new ReadVectorsRoom(arena), 16, (slot) => new Float32Array(16).fill(slot));
  assert.deepEqual([read.vector(3)![0], read.vector(4)![0], read.bytes], [3, 4, 0]);
});
