import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { binEndsMs, binOf } from './minute-sums.ts';
import { quantileMs } from './traffic-queries.ts';

/** Durations as they are counted. */
function countsOf(durationsMs: readonly number[]): number[] {
  const counts = new Array<number>(binEndsMs.length + 1).fill(0);
  for (const ms of durationsMs) counts[binOf(ms)]! += 1;
  return counts;
}

test('a percentile of 5 ms to 2 minutes is at most twice the true one, and at least half of it', () => {
  // As many of each size: most requests take seconds, and few a minute.
  const duration = fc
    .double({ min: Math.log(5.001), max: Math.log(119_999), noNaN: true })
    .map((size) => Math.exp(size));
  const share = fc.constantFrom(0.5, 0.95, 0.99);
  fc.assert(
    fc.property(fc.array(duration, { minLength: 1, maxLength: 30 }), share, (durations, share) => {
      const trueMs = durations.toSorted((a, b) => a - b)[Math.ceil(share * durations.length) - 1]!;
      const shownMs = quantileMs(countsOf(durations), share)!;
      const said = `${share} of ${durations}: ${shownMs}`;
      assert.ok(shownMs <= 2 * trueMs + 1 && shownMs >= trueMs / 2 - 1, said);
    }),
  );
});

test('what took longer than 2 minutes is shown with 2 to 5, and of nothing there is no percentile', () => {
  for (const ms of [120_001, 300_000, 3_600_000]) {
    const shownMs = quantileMs(countsOf([ms]), 0.5)!;
    assert.ok(shownMs > 120_000 && shownMs <= 300_000, `${ms}: ${shownMs}`);
  }
  assert.equal(quantileMs(countsOf([]), 0.5), null);
});
