import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainNeeds, targetOf } from '../../test/simulation/routing-samples.ts';
import type { RequestNeeds } from '../formats/neutral/request.ts';
import { tierOf, unmetNeed, unmetSize } from './capability.ts';
import type { Capabilities } from './target.ts';

const needing = (needs: Partial<RequestNeeds>): RequestNeeds => ({ ...plainNeeds, ...needs });
const order = (first: Parameters<typeof targetOf>[1], second: Parameters<typeof targetOf>[1], needs: RequestNeeds) =>
  Math.sign(
    tierOf({ target: targetOf('a/m', first), rank: 0 }, needs) -
      tierOf({ target: targetOf('b/m', second), rank: 0 }, needs),
  );

const filtered: [Partial<RequestNeeds>, (keyof Capabilities)[], string][] = [
  [{ vision: true }, ['vision'], 'vision'],
  [{ tools: true }, ['tools'], 'tools'],
  [{ audioIn: true }, ['audioIn'], 'audio input'],
  [{ logprobs: true }, ['logprobs'], 'logprobs'],
  [{ jsonSchema: true }, ['jsonSchema', 'tools'], 'JSON schema'],
];
for (const [needs, cannot, word] of filtered) {
  test(`a request that needs ${word} passes by a target without it`, () => {
    assert.equal(unmetNeed(targetOf('a/m', { cannot }), needing(needs)), word);
    assert.equal(unmetNeed(targetOf('a/m'), needing(needs)), null);
    assert.equal(unmetNeed(targetOf('a/m', { cannot }), plainNeeds), null);
  });
}

test('JSON schema, n and reasoning effort do not keep a target out where conversion has an answer', () => {
  assert.equal(unmetNeed(targetOf('a/m', { cannot: ['jsonSchema'] }), needing({ jsonSchema: true })), null);
  assert.equal(unmetNeed(targetOf('a/m', { cannot: ['nativeN'] }), needing({ n: 3 })), null);
  assert.equal(unmetNeed(targetOf('a/m', { cannot: ['reasoning'] }), needing({ reasoning: true })), null);
});

test('input that is surely longer than the context keeps a target away; an unknown context never does', () => {
  const needs = needing({ inputTokensEstimate: 10_001 });
  assert.equal(
    unmetSize(targetOf('a/m', { contextWindow: 8_000 }), needs),
    'about 10001 input tokens (its context holds 8000)',
  );
  assert.equal(unmetSize(targetOf('a/m', { contextWindow: 9_000 }), needs), null, 'the estimate may be that far off');
  assert.equal(unmetSize(targetOf('a/m', { contextWindow: null }), needs), null);
});

test('a target with room goes before one that may be too small, whatever their priorities', () => {
  const small = { contextWindow: 9_000, priority: 1 };
  const large = { contextWindow: 100_000, priority: 2 };
  assert.equal(order(small, large, needing({ inputTokensEstimate: 8_500 })), 1);
  assert.equal(order(small, large, needing({ inputTokensEstimate: 5_000, maxOutputTokens: 4_000 })), 1);
  assert.equal(order(small, large, needing({ inputTokensEstimate: 4_000, maxOutputTokens: 64_000 })), -1);
});

test('a target with native n goes first when n > 1', () => {
  const without = { cannot: ['nativeN'] as const, priority: 1 };
  assert.equal(order(without, { priority: 2 }, needing({ n: 2 })), 1);
  assert.equal(order(without, { priority: 2 }, plainNeeds), -1);
});

test('within a priority, a target that need not clamp the output goes first', () => {
  const needs = needing({ maxOutputTokens: 32_000 });
  assert.equal(order({ maxOutputTokens: 8_192 }, {}, needs), 1);
  assert.equal(order({ maxOutputTokens: 8_192, priority: 1 }, { priority: 2 }, needs), -1);
});

test('fallbacks come after every target of the alias itself', () => {
  const own = { target: targetOf('a/m', { priority: 9, cannot: ['nativeN'] }), rank: 0 };
  const fallback = { target: targetOf('b/m'), rank: 1 };
  assert.ok(tierOf(own, needing({ n: 2 })) < tierOf(fallback, needing({ n: 2 })));
});
