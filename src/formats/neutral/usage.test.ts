import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usageOf } from '../dialects/gemini/decode-answer.ts';
import { neutralUsage } from '../dialects/openai-chat/read-usage.ts';
import { estimatedTokens, reportedCount, reportsInvalidCount, withCounts } from './usage.ts';

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

test('a total alone is divided between input and output, and its sum stays', () => {
  const openAi = neutralUsage({ total_tokens: 60 })!;
  const gemini = usageOf({ totalTokenCount: 60 })!;
  for (const usage of [openAi, gemini]) {
    assert.deepEqual(withCounts(usage, 9, 4), { inputTokens: 56, outputTokens: 4 });
    assert.deepEqual(withCounts(usage, 9, 0), { inputTokens: 60, outputTokens: 0 });
    assert.deepEqual(withCounts(usage, 9, 70), { inputTokens: 0, outputTokens: 60 });
  }
  const withOutput = { inputTokens: 53, outputTokens: 7 };
  assert.deepEqual(usageOf({ totalTokenCount: 60, candidatesTokenCount: 7 }), withOutput);
  assert.deepEqual(neutralUsage({ total_tokens: 60, completion_tokens: 7 }), withOutput);
});

test('cached input of Gemini is at most the whole input', () => {
  const usage = usageOf({ promptTokenCount: 5, candidatesTokenCount: 2, cachedContentTokenCount: 9 });
  assert.equal(usage?.cachedInputTokens, 5);
});
