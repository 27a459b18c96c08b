import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fillerBytes, fillerTokens } from './answer-text.ts';
import { countTokens, firstTokens, grouped, tokensOf } from './tokens.ts';

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.lorem());

test('a token is a word of up to 8 letters with the blank before it, or another character', () => {
  assert.deepEqual(tokensOf('Hello, big world'), ['Hello', ',', ' big', ' world']);
  assert.deepEqual(tokensOf('extraordinary'), ['extraord', 'inary']);
  assert.deepEqual(tokensOf('né 👋'), ['né', ' 👋']);
});

test('tokens add up to the text and never part a character', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const tokens = tokensOf(text);
      assert.equal(tokens.join(''), text);
      assert.equal(countTokens(text), tokens.length);
      assert.ok(tokens.every((token) => token.isWellFormed()));
    }),
  );
});

test('firstTokens keeps so many tokens', () => {
  fc.assert(
    fc.property(anyText, fc.nat(20), (text, max) => {
      assert.equal(firstTokens(text, max), tokensOf(text).slice(0, max).join(''));
    }),
  );
});

test('groups keep the order, lose nothing and differ by one token at most', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.integer({ min: 1, max: 30 }), (tokens, parts) => {
      const groups = grouped(tokens, parts);
      assert.deepEqual(groups.flat(), tokens);
      assert.equal(groups.length, Math.min(parts, tokens.length));
      const sizes = groups.map((group) => group.length);
      assert.ok(Math.max(...sizes, 0) - Math.min(...sizes, Number.MAX_SAFE_INTEGER) <= 1);
    }),
  );
});

test('filler has exactly the length that was asked', () => {
  for (const count of [1, 20, 21, 22, 500]) assert.equal(countTokens(fillerTokens(count)), count);
  for (const bytes of [0, 1, 2_048]) assert.equal(Buffer.byteLength(fillerBytes(bytes)), bytes);
});
