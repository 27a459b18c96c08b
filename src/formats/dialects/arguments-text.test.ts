import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArgumentsText, argumentsObject, argumentsOrEmpty } from './arguments-text.ts';

test("Cohere's `null` for no arguments goes on as none, however it is cut", () => {
  for (const pieces of [['null'], ['n', 'u', 'll'], [' ', 'null'], ['null', ' '], ['', 'nul', 'l']]) {
    const text = new ArgumentsText();
    assert.equal(pieces.map((piece) => text.next(piece)).join(''), '', JSON.stringify(pieces));
  }
  for (const pieces of [
    ['{"a":', 'null}'],
    ['n', 'o'],
    [' ', '{', '}'],
    ['null', 'x'],
  ]) {
    const text = new ArgumentsText();
    assert.equal(pieces.map((piece) => text.next(piece)).join(''), pieces.join(''), JSON.stringify(pieces));
  }
});

test('whole arguments of no text or of `null` are an empty object', () => {
  assert.deepEqual(['', ' ', 'null', ' null\n', '{"a":1}'].map(argumentsOrEmpty), ['{}', '{}', '{}', '{}', '{"a":1}']);
  assert.deepEqual(['{"a":1}', 'null', '[1]', '{', '['.repeat(1_000)].map(argumentsObject), [
    { a: 1 },
    null,
    null,
    null,
    null,
  ]);
});
