import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimatedTokens, reportedCount, reportsInvalidCount } from './usage.ts';

test('token estimates: nothing is nothing, prose about four bytes a token', () => {
  const estimated = (text: string) => estimatedTokens(Buffer.byteLength(text));
  assert.equal(estimated(''), 0);
  assert.equal(estimated('a'), 1);
  assert.equal(estimated('The quick brown fox jumps over the lazy dog.'), 11);
  assert.equal(estimated('日本語'), 3);
});

test('a count is a whole number from zero to a thousand million; nothing else is believed', () => {
  for (const count of [0, 1, 1_000_000_000]) assert.equal(reportedCount(count), count);
  for (const other of [-1, 0.5, 1_000_000_001, '7', null, undefined]) assert.equal(reportedCount(other), null);
  assert.equal(
    reportsInvalidCount({ input_tokens: 0, output_tokens: null }, ['input_tokens', 'output_tokens', 'absent']),
    false,
  );
  assert.equal(reportsInvalidCount({ input_tokens: 0, output_tokens: -1 }, ['input_tokens', 'output_tokens']), true);
});
