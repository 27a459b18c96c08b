import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FailureError } from '../../kernel/failure.ts';
import { keyPathCharsMax, keyPathStepsMax, readKeyPath } from './read-key-path.ts';

/** Steps as text: keys bare, `#1` an index, `*` all. */
const read = (text: string) =>
  readKeyPath(text, 'key').steps.map((step) =>
    step.kind === 'key' ? step.name : step.kind === 'index' ? `#${step.at}` : '*',
  );

test('a path is keys and places in arrays, as Qdrant writes them', () => {
  assert.deepEqual(read('a'), ['a']);
  assert.deepEqual(read('a.b.c'), ['a', 'b', 'c']);
  assert.deepEqual(read('a[0]'), ['a', '#0']);
  assert.deepEqual(read('foo[1][50].bar-baz[]."qux[.]quux"'), ['foo', '#1', '#50', 'bar-baz', '*', 'qux[.]quux']);
  assert.deepEqual(read('"a.b"'), ['a.b']);
  assert.deepEqual(read('"".x'), ['', 'x']);
  assert.deepEqual(read('Straße.数.x_1'), ['Straße', '数', 'x_1']);
  assert.equal(readKeyPath('a[].b', 'key').text, 'a[].b');
});

const malformed = [
  '',
  '.',
  'a.',
  '.a',
  'a..b',
  'a b',
  'a[',
  'a[x]',
  'a[-1]',
  'a[0',
  '[0]',
  'a]',
  '"a',
  'a"b"',
  'a.[0]',
];
for (const text of [...malformed, '"a\\"', 'a[0]b', '$.a', 'a/b', 'a*', `a[${'9'.repeat(16)}]`]) {
  test(`${JSON.stringify(text)} is no path: 400 that shows how to write one`, () => {
    assert.throws(
      () => readKeyPath(text, 'filter.must[0].key'),
      (error: unknown) =>
        error instanceof FailureError &&
        error.failure.kind === 'invalid-request' &&
        error.failure.param === 'filter.must[0].key' &&
        /is not a key path \(.*\): write a\.b/.test(error.failure.message),
    );
  });
}

test('length and steps of a path are bounded', () => {
  assert.throws(() => readKeyPath('a'.repeat(keyPathCharsMax + 1), 'key'), FailureError);
  assert.throws(() => readKeyPath(`a${'[]'.repeat(keyPathStepsMax)}`, 'key'), FailureError);
  assert.equal(read(`a${'[]'.repeat(keyPathStepsMax - 1)}`).length, keyPathStepsMax);
});

test('any text is a path or a 400', () => {
  const piece = fc.constantFrom('a', '"', '.', '[', ']', '[]', '[1]', '\\', ' ', '"x y"', 'é', '\u{1f600}');
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(piece, { maxLength: 12 }).map((all) => all.join('')),
        fc.string(),
      ),
      (text) => {
        try {
          assert.ok(readKeyPath(text, 'key').steps.length > 0);
        } catch (error) {
          assert.ok(error instanceof FailureError);
        }
      },
    ),
    { seed: 4, numRuns: 1_000 },
  );
});
