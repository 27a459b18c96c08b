// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertSame, filled } from '../../../../test/filled-index.ts';
import { createMemoryRows, type MemoryRows, normalised, vectorMaker } from '../../../../test/memory-rows.ts';
import { distances } from '../../collection.ts';
import { type Arena, ArenaFull, createArena } from './arena.ts';
import { makeVectorIndex, tierLimits } from './create-vector-index.ts';
import { createDiskIndex } from './disk-index.ts';
import { finish } from './resumable-steps.ts';

const all = { slots: null, exact: false };

for (const distance of distances) {
  test(`${distance}: every tier up to 20,000 points finds exactly what looking at each point finds`, () => {
    for (const [size, count] of [
      [3, 200],
      [4, 300],
      [65, 2_048],
      [31, 2_500],
      [64, 2_100],
      [100, 6_000],
    ] as const) {
      const { rows, index, next } = filled(distance, size, count, count % 500 === 0 ? 0 : 20);
      assert.equal(index.count, count);
      for (const k of [1, 10, 100]) {
        const query = next().map((component) => component * 3);
        assertSame(finish(index.search(query, k, all)), rows.bruteForce(distance, query, k));
        rows.reads = 0;
        assertSame(finish(index.search(query, k, { slots: null, exact: true })), rows.bruteForce(distance, query, k));
        assert.equal(rows.reads, 0, 'all rows are gone through, none picked');
        for (const step of [1, 2, 7, 97]) {
          const slots = Uint32Array.from(rows.slots().filter((slot) => slot % step === 0));
          assertSame(
            finish(index.search(query, k, { slots, exact: false })),
            rows.bruteForce(distance, query, k, slots),
          );
        }
      }
      index.close();
    }
  });

  test(`${distance}: vectors that are hardly or not at all apart are told apart, equal ones by slot`, () => {
    const size = 48;
    const rows = createMemoryRows();
    const { next } = filled(distance, size, 1, 1);
    const base = next();
    const nudge = vectorMaker(size, { seed: 3, clusters: 0 });
    for (let slot = 0; slot < 2_600; slot += 1) {
      const other = nudge();
      const near = base.map((component, i) => (slot % 3 === 0 ? component : component + other[i]! * 1e-3));
      rows.set(slot, distance === 'Cosine' ? normalised(near) : near);
    }
    const index = createVectorIndex({ distance, size, rows }, createArena({ bytesMax: 2 ** 26 }))!;
    const found = finish(index.search(base, 20, all));
    const expected = rows.bruteForce(distance, base, 20);
    if (distance === 'Dot') return assertSame(found, expected);
    // 867 equal ones: by slot.
    assert.deepEqual(
      [...found.slots],
      Array.from({ length: 20 }, (_, i) => i * 3),
    );
  });
}

const createVectorIndex = (...of: Parameters<typeof makeVectorIndex>) => finish(makeVectorIndex(...of));

test('points come, change and go, and the index always finds what looking at each point finds', () => {
  const size = 33;
  const step = fc.record({
    kind: fc.constantFrom('put', 'put', 'remove'),
    from: fc.nat(2_600),
    many: fc.integer({ min: 1, max: 2_700 }),
  });
  fc.assert(
    fc.property(fc.constantFrom(...distances), fc.array(step, { minLength: 3, maxLength: 14 }), (distance, steps) => {
      const { rows, arena, index, next } = filled(distance, size, 0, 5);
      for (const { kind, from, many } of steps) {
        for (let slot = from % 400; slot < Math.min(from + many, 2_700); slot += 1) {
          if (kind === 'put') {
            rows.set(slot, next());
            index.put(slot, rows.vector(slot));
          } else {
            // The index may hear of it first.
            if (slot % 2 === 0) rows.delete(slot);
            index.remove(slot);
            rows.delete(slot);
          }
        }
        assert.equal(index.count, rows.count());
        const query = next();
        assertSame(finish(index.search(query, 5, all)), rows.bruteForce(distance, query, 5));
      }
      index.close();
      assert.ok(arena.bytesUsed <= 65_536, 'only the shared room is left');
    }),
    { numRuns: 20, seed: 6 },
  );
});

test('rows that are written as a group before the index hears of the first of them are counted once', () => {
  const { rows, index, next } = filled('Cosine', 40, 250, 3);
  for (let slot = 250; slot < 2_300; slot += 1) rows.set(slot, next());
  for (let slot = 250; slot < 2_300; slot += 1) index.put(slot, rows.vector(slot));
  assert.equal(index.count, 2_300);
  const query = next();
  assertSame(finish(index.search(query, 10, all)), rows.bruteForce('Cosine', query, 10));
});

test('small collections take no memory, larger ones a byte a component', () => {
  const size = 1_024;
  const { rows, index, next } = filled('Cosine', size, tierLimits.disk, 3);
  assert.equal(index.bytes, 0);
  rows.set(tierLimits.disk, next());
  index.put(tierLimits.disk, rows.vector(tierLimits.disk));
  assert.ok(index.bytes / index.count >= size * 4);
  for (let slot = tierLimits.disk + 1; slot <= tierLimits.floats; slot += 1) {
    rows.set(slot, next());
    index.put(slot, rows.vector(slot));
  }
  assert.ok(index.bytes / index.count < size * 1.1);
  for (let slot: number = tierLimits.floats; slot >= 100; slot -= 1) {
    rows.delete(slot);
    index.remove(slot);
    if (slot === 1_000) assert.ok(index.bytes / index.count >= size * 4, 'floats again');
  }
  assert.equal(index.bytes, 0);
  assert.equal(finish(index.search(next(), 1_000, all)).slots.length, 100);
});

test('rows that their codes tell apart surely are not read: hardly more than are answered', () => {
  const { rows, index, next } = filled('Cosine', 512, 3_000, 100);
  const slots = Uint32Array.from(rows.slots().filter((slot) => slot % 10 === 0));
  let reads = 0;
  for (let i = 0; i < 10; i += 1) {
    const query = next();
    for (const which of [null, slots]) {
      rows.reads = 0;
      const found = finish(index.search(query, 10, { slots: which, exact: false }));
      reads += rows.reads;
      assertSame(found, rows.bruteForce('Cosine', query, 10, which ?? undefined));
    }
  }
  assert.ok(reads / 20 < 20, `${reads / 20} rows a search`);
});

test('memory that was of another collection leaves no trace', () => {
  for (const distance of distances) {
    const { arena, index } = filled(distance, 1_000, 300, 2);
    assert.ok(index.bytes > 0);
    index.close();
    arena.views.i8.fill(77);
    for (const [size, count] of [
      [5, 2_500],
      [37, 400],
      [37, 2_500],
    ] as const) {
      const make = vectorMaker(size, { seed: 2, clusters: 4 });
      const rows = createMemoryRows();
      for (let slot = 0; slot < count; slot += 1) rows.set(slot, distance === 'Cosine' ? normalised(make()) : make());
      const next = createVectorIndex({ distance, size, rows: rows }, arena)!;
      const query = make();
      assertSame(finish(next.search(query, 10, all)), rows.bruteForce(distance, query, 10));
      next.close();
    }
  }
});

function rowsOf(count: number, size: number): MemoryRows {
  const make = vectorMaker(size, { seed: 1, clusters: 2 });
  const rows = createMemoryRows();
  for (let slot = 0; slot < count; slot += 1) rows.set(slot, normalised(make()));
  return rows;
}

test('without room there is no index, and nothing is kept of the attempt', () => {
  const arena = createArena({ bytesMax: 4 * 65_536 });
  const rows = rowsOf(1_000, 256);
  assert.equal(createVectorIndex({ distance: 'Cosine', size: 256, rows }, arena), null);
  assert.ok(arena.bytesUsed <= 65_536, 'only the shared room is left');
  const query = rows.vector(5);
  const onDisk = createDiskIndex({ distance: 'Cosine', size: 256, rows });
  assertSame(finish(onDisk.search(query, 10, all)), rows.bruteForce('Cosine', query, 10));
});

test('a put that does not fit any more throws ArenaFull, and closing gives everything back', () => {
  const arena: Arena = createArena({ bytesMax: 8 * 65_536 });
  const rows = rowsOf(3_000, 64);
  const index = createVectorIndex({ distance: 'Cosine', size: 64, rows }, arena)!;
  assert.throws(() => {
    for (let slot = 3_000; slot < 20_000; slot += 1) index.put(slot, rows.vector(slot % 3_000));
  }, ArenaFull);
  index.close();
  assert.ok(arena.bytesUsed <= 65_536, 'only the shared room is left');
});

test('nothing is found for no results, in an empty collection, and more is not given than there is', () => {
  const { index, next } = filled('Dot', 40, 300, 2);
  for (const { index } of [filled('Dot', 40, 300, 2), filled('Dot', 40, 2_100, 2)]) {
    assert.equal(finish(index.search(next(), 0, all)).slots.length, 0);
  }
  assert.equal(finish(index.search(next(), 5_000, all)).slots.length, 300);
  assert.equal(finish(index.search(next(), 10, { slots: new Uint32Array(), exact: false })).slots.length, 0);
  const empty = filled('Dot', 40, 0, 2);
  assert.equal(finish(empty.index.search(next(), 10, all)).slots.length, 0);
});

test('a query of zeros and vectors at the end of what f32 can hold are ranked without NaN', () => {
  for (const distance of distances) {
    for (const count of [300, 2_100]) {
      const { rows, arena } = filled(distance, 48, count, 2);
      if (distance !== 'Cosine') rows.set(7, new Float32Array(48).fill(3e38));
      rows.set(8, new Float32Array(48));
      const index = createVectorIndex({ distance, size: 48, rows }, arena)!;
      for (const query of [new Float32Array(48), new Float32Array(48).fill(1)]) {
        const { scores, slots } = finish(index.search(query, 10, all));
        assert.equal(slots.length, 10);
        assert.ok(scores.every((score) => !Number.isNaN(score)));
      }
    }
  }
});
