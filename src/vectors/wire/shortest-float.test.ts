import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { shortestFloat } from './shortest-float.ts';

test('a vector is shown as it was written', () => {
  const written = [0.1, -0.2, 0.05, 0.61, 1, 0, 0.026843144, 123.456, 1e-7, 3.4e38, 16777217, 1e-45];
  const shown = Array.from(new Float32Array(written), shortestFloat);
  assert.deepEqual(shown, [0.1, -0.2, 0.05, 0.61, 1, 0, 0.026843144, 123.456, 1e-7, 3.4e38, 16777216, 1e-45]);
});

test('minus zero is shown as zero', () => {
  assert.ok(Object.is(shortestFloat(-0), 0));
});

test('property: what is shown is the same 32-bit float, with no more digits than it needs', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }), fc.float({ min: -1, max: 1, noNaN: true })),
      (float) => {
        const shown = shortestFloat(float);
        assert.ok(Math.fround(shown) === float);
        for (let digits = 1; digits < 10; digits++) {
          const shorter = Number(float.toPrecision(digits));
          if (Math.fround(shorter) === float) return assert.equal(String(shown).length <= String(shorter).length, true);
        }
      },
    ),
    { numRuns: 5_000, seed: 4 },
  );
});
