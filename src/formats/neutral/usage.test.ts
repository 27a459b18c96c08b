import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimatedTokens } from './usage.ts';

test('token estimates: nothing is nothing, prose about four bytes a token', () => {
  const estimated = (text: string) => estimatedTokens(Buffer.byteLength(text));
  assert.equal(estimated(''), 0);
  assert.equal(estimated('a'), 1);
  assert.equal(estimated('The quick brown fox jumps over the lazy dog.'), 11);
  assert.equal(estimated('日本語'), 3);
});
