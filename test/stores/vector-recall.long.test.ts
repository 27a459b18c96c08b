import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trialSearches } from '../../src/vectors/embedded/index/bit-trial.ts';
import { finish } from '../../src/vectors/embedded/index/resumable-steps.ts';
import type { VectorIndex } from '../../src/vectors/embedded/index/vector-index.ts';
import { assertSame, filled } from '../filled-index.ts';
import { type MemoryRows, normalised, vectorMaker } from '../memory-rows.ts';

const all = { slots: null, exact: false };

/** Searches after the trial of the bits; `recall` is the share of found points. */
function recall(index: VectorIndex, rows: MemoryRows, next: () => Float32Array): number {
  let found = 0;
  for (let i = 0; i < 15; i += 1) {
    const query = next();
    const expected = new Set(rows.bruteForce('Cosine', query, 10).slots);
    found += finish(index.search(query, 10, all)).slots.filter((slot) => expected.has(slot)).length;
  }
  return found / 150;
}

test('above 5,000 points at least 99 of 100 are found, after many were replaced, and after many are gone', () => {
  const { rows, index, next } = filled('Cosine', 512, 21_000, 100);
  assert.ok(index.bytes / index.count > 512 * 1.125, 'bits are there');
  for (let i = 0; i < trialSearches; i += 1) finish(index.search(next(), 10, all));
  assert.ok(recall(index, rows, next) >= 0.99);
  const query = next();
  rows.reads = 0;
  finish(index.search(query, 10, all));
  assert.ok(rows.reads <= 1_040, `${rows.reads} rows were read`);
  const slots = Uint32Array.from(rows.slots().filter((slot) => slot % 3 > 0));
  assertSame(finish(index.search(query, 10, { slots, exact: false })), rows.bruteForce('Cosine', query, 10, slots));

  const change = (slot: number) => {
    rows.set(slot, normalised(next()));
    index.put(slot, rows.vector(slot));
  };
  for (let slot = 0; slot < 100; slot += 1) {
    rows.delete(slot);
    index.remove(slot);
  }
  for (let slot = 0; slot < 50; slot += 1) change(slot);
  for (let slot = 200; slot < 300; slot += 1) change(slot);
  for (let i = 0; i < 100; i += 5) {
    for (const slot of [20_900 + i, 200 + i])
      assert.equal(finish(index.search(rows.vector(slot), 1, all)).slots[0], slot);
  }
  assert.ok(index.bytes / index.count > 512 * 1.125, 'bits were of use');

  const other = vectorMaker(512, { seed: 99, clusters: 10 });
  for (let slot = 50; slot < 21_050; slot += 1) {
    rows.set(slot, normalised(other()));
    index.put(slot, rows.vector(slot));
  }
  for (let i = 0; i < trialSearches; i += 1) finish(index.search(other(), 10, all));
  assert.ok(recall(index, rows, other) >= 0.99);

  for (let slot = 0; slot < 18_650; slot += 1) {
    rows.delete(slot);
    index.remove(slot);
  }
  assert.equal(index.count, 2_400);
  assert.ok(index.bytes / index.count < 512 * 1.125, 'bits are gone');
  assertSame(finish(index.search(query, 10, all)), rows.bruteForce('Cosine', query, 10));
});

/** Vectors of a kind of their own, near each other. */
function besides(size: number): () => Float32Array {
  const around = vectorMaker(size, { seed: 31, clusters: 0 })();
  const noise = vectorMaker(size, { seed: 32, clusters: 0 });
  return () => noise().map((component, i) => component + around[i]!);
}

test('points of a kind that no search before asked for are found, with a filter and without', () => {
  const { rows, index, next } = filled('Cosine', 512, 6_000, 60);
  const other = besides(512);
  for (let slot = 6_000; slot < 12_000; slot += 1) {
    rows.set(slot, normalised(other()));
    index.put(slot, rows.vector(slot));
  }
  for (let i = 0; i < trialSearches; i += 1) finish(index.search(next(), 10, all));
  assert.ok(recall(index, rows, other) >= 0.99);
  const slots = Uint32Array.from(rows.slots().filter((slot) => slot >= 6_000));
  let found = 0;
  for (let i = 0; i < 15; i += 1) {
    const query = next();
    const expected = new Set(rows.bruteForce('Cosine', query, 10, slots).slots);
    found += finish(index.search(query, 10, { slots, exact: false })).slots.filter((slot) => expected.has(slot)).length;
  }
  assert.ok(found >= 0.99 * 150, `${found} of 150`);
});

test('points of another kind that are put after the trial are found', () => {
  const { rows, index, next } = filled('Cosine', 512, 6_000, 60);
  for (let i = 0; i < trialSearches; i += 1) finish(index.search(next(), 10, all));
  const other = besides(512);
  for (let slot = 6_000; slot < 10_000; slot += 1) {
    rows.set(slot, normalised(other()));
    index.put(slot, rows.vector(slot));
  }
  assert.ok(index.bytes / index.count > 512 * 1.125, 'bits are there');
  const share = recall(index, rows, other);
  assert.ok(share >= 0.97, `${share}`);
});

test('of points that pass a filter at least 99 of 100 are found, where no search comes without one', () => {
  const { rows, index, next } = filled('Cosine', 512, 21_000, 100);
  for (const share of [2, 3]) {
    const slots = Uint32Array.from(rows.slots().filter((slot) => slot % share === 0));
    for (let i = 0; i < trialSearches; i += 1) finish(index.search(next(), 10, { slots, exact: false }));
    let [found, all] = [0, 0];
    for (let i = 0; i < 20; i += 1) {
      const query = next();
      const truth = rows.bruteForce('Cosine', query, 10, slots).slots;
      rows.reads = 0;
      const { slots: near } = finish(index.search(query, 10, { slots, exact: false }));
      assert.ok(rows.reads <= 1_040, `${rows.reads} rows were read`);
      assert.ok(near.every((slot) => slot % share === 0));
      found += [...truth].filter((slot) => near.includes(slot)).length;
      all += truth.length;
    }
    assert.ok(found >= 0.99 * all, `${found} of ${all}`);
  }
});

test('vectors without any order, which bits tell badly, are found as well, even when one search came again and again', () => {
  const { rows, index, next } = filled('Cosine', 512, 20_500, 0);
  for (let i = 0; i < trialSearches; i += 1) assert.equal(finish(index.search(rows.vector(5), 1, all)).slots[0], 5);
  assert.ok(recall(index, rows, next) >= 0.99);
});
