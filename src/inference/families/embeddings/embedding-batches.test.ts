import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { batchesOf, GatheredVectors } from './embedding-batches.ts';

const runs = { seed: 5, numRuns: 300 };

test('batches hold every place once and in order, none too many inputs or tokens, and none fewer than it could', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 9 }),
      fc.option(fc.integer({ min: 1, max: 80 })),
      (tokensEach, batch, batchTokens) => {
        const places = tokensEach.map((_, place) => place).filter((place) => place % 3 !== 1);
        const batches = batchesOf(places, tokensEach, { batch, batchTokens });
        assert.deepEqual(batches.flat(), places);
        const tokensOf = (some: readonly number[]) => some.reduce((sum, place) => sum + tokensEach[place]!, 0);
        for (const [i, one] of batches.entries()) {
          assert.ok(one.length >= 1 && one.length <= batch);
          // An input too long for any call goes alone: the upstream shall judge it.
          if (batchTokens !== null && one.length > 1) assert.ok(tokensOf(one) <= batchTokens);
          const next = batches[i + 1]?.[0];
          const full = one.length === batch || (batchTokens !== null && tokensOf([...one, next ?? 0]) > batchTokens);
          assert.ok(next === undefined || full);
        }
      },
    ),
    runs,
  );
});

test('vectors that come in parts stand where their inputs stand, in either precision', () => {
  for (const precision of ['double', 'single'] as const) {
    const gathered = new GatheredVectors(3, null, precision);
    assert.equal(gathered.add([2, 0], { rows: Float64Array.of(5, 6, 1, 2), size: 2 }), null);
    assert.deepEqual(gathered.missing(), [1]);
    assert.equal(gathered.add([1], { rows: Float64Array.of(3, 4), size: 2 }), null);
    assert.deepEqual([...gathered.rows!], [1, 2, 3, 4, 5, 6]);
    assert.deepEqual([gathered.missing(), gathered.size], [[], 2]);
  }
});

test('vectors of another length than those before them, or than was asked for, are refused and change nothing', () => {
  const gathered = new GatheredVectors(1, 3, 'double');
  assert.match(gathered.add([0], { rows: Float64Array.of(1, 2), size: 2 })!.message, /2 dimensions instead of 3/);
  assert.deepEqual([gathered.rows, gathered.missing()], [null, [0]]);
  const mixed = new GatheredVectors(2, null, 'double');
  mixed.add([0], { rows: Float64Array.of(1, 2), size: 2 });
  assert.equal(mixed.add([1], { rows: Float64Array.of(1), size: 1 })!.class, 'malformed');
  assert.deepEqual(mixed.missing(), [1]);
});

test('more numbers than an answer can hold are refused before memory is taken for them', () => {
  const gathered = new GatheredVectors(2_048, null, 'double');
  const wide = { rows: new Float64Array(65_536), size: 65_536 };
  assert.match(gathered.add([0], wide)!.message, /longer vectors/);
  assert.equal(gathered.rows, null);
});
