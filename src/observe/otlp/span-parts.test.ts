import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedParts } from './span-parts.ts';
import { sharedPart } from './span-writer.ts';

test('facts that read alike when they are joined have a part each', () => {
  const parts = new SharedParts<(string | null)[]>(
    (facts) => facts,
    (facts) => sharedPart({ name: JSON.stringify(facts), kind: 'internal', attributes: {}, error: null }),
  );
  const facts = [
    ['a\nb', 'c'],
    ['a', 'b\nc'],
    ['', 'd'],
    [null, 'd'],
  ];
  const made = facts.map((one) => parts.of(one));
  assert.equal(new Set(made).size, facts.length);
  assert.equal(parts.of(['', 'd']), parts.of(['', 'd']));
  assert.notEqual(parts.of(['', 'd']), made[3]);
});
