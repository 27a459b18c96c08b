import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { contains } from './contains.ts';

test('a part is found where the engine finds it, in texts that nearly match', () => {
  const letters = (max: number) =>
    fc.array(fc.constantFrom('a', 'b', 'é', '\u{1f600}'), { maxLength: max }).map((all) => all.join(''));
  fc.assert(
    fc.property(letters(24), letters(12), fc.nat(3), (period, end, cut) => {
      // Long enough for our own search.
      const text = period.repeat(3_000) + end + period.repeat(3_000);
      for (const part of [period.repeat(40) + end, end + period.repeat(40).slice(cut), `${period.repeat(40)}c`]) {
        assert.equal(contains(text, part), text.includes(part));
      }
    }),
    { numRuns: 60, seed: 7 },
  );
});

test('a part of any length is found at the beginning, at the end, and nowhere else', () => {
  const text = `${'x'.repeat(2_000_000)}yz`;
  assert(contains(text, `${'x'.repeat(2_000)}yz`));
  assert(contains(text, 'x'.repeat(2_000)));
  assert(!contains(text, `${'x'.repeat(1_000)}y${'x'.repeat(1_000)}`));
  assert(contains('abc', ''));
});
