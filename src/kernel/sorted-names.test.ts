import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sortedNames } from './sorted-names.ts';

test('names come in the order of their code units, few of them and many', () => {
  const names = ['b', 'a', ' body', 'Z', 'é', '10', '9', '', 'aa', '\u{1f600}', '\uffff'];
  const many = Array.from({ length: 100 }, (_, n) => `name ${(n * 37) % 100}`);
  for (const some of [[], ['one'], names, many]) {
    assert.deepEqual(sortedNames(Object.fromEntries(some.map((name) => [name, 1]))), [...some].sort());
  }
});
