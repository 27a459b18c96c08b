import assert from 'node:assert/strict';
import { test } from 'node:test';
import { correctCounts, mayHaveImpossibleCounts } from './impossible-counts.ts';

const own = { input: 7, output: 3 };

function corrected(json: string): unknown {
  const answer: unknown = JSON.parse(json);
  assert.equal(correctCounts(answer, own), true, json);
  assert.ok(mayHaveImpossibleCounts(json), json);
  return answer;
}

test('counts that no request can have are our own, whatever the format calls them and wherever it tells them', () => {
  for (const told of ['-5', '1e300', '12.5', '"12"', 'true', '12345678901']) {
    assert.deepEqual(corrected(`{"usage":{"prompt_tokens":${told},"completion_tokens":2,"total_tokens": 3}}`), {
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    });
    assert.deepEqual(corrected(`{"message":{"usage":{"input_tokens":${told},"cache_read_input_tokens":4}}}`), {
      message: { usage: { input_tokens: 7, cache_read_input_tokens: 0 } },
    });
    assert.deepEqual(corrected(`{"response":{"usage":{"input_tokens":4,"output_tokens":${told}}}}`), {
      response: { usage: { input_tokens: 7, output_tokens: 3 } },
    });
    assert.deepEqual(
      corrected(`{"usageMetadata":{"candidatesTokenCount":${told},"promptTokensDetails":[{"tokenCount":9}]}}`),
      { usageMetadata: { candidatesTokenCount: 3, promptTokensDetails: [{ tokenCount: 0 }] } },
    );
    assert.deepEqual(
      corrected(`{"usage":{"output_tokens":4,"output_tokens_details":{"reasoning_tokens":${told}}}}`),
      { usage: { output_tokens: 4, output_tokens_details: { reasoning_tokens: 0 } } },
      'a part alone does not make the whole ours',
    );
  }
});

test('what can be is left as it is, and so is whatever is no usage', () => {
  for (const told of [
    {
      usage: { prompt_tokens: 0, completion_tokens: 123_456_789, cost: -0.5, queue_time: 1e-9, tokens_per_second: 4.5 },
    },
    { usage: { prompt_tokens: 4, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: null } } },
    { usage: null, choices: [{ message: { content: '{"prompt_tokens":-5}' } }] },
    { candidates: [{ content: { parts: [{ functionCall: { args: { maxTokens: -1, total_tokens: 'all' } } }] } }] },
  ]) {
    const before = structuredClone(told);
    assert.equal(correctCounts(told, own), false);
    assert.deepEqual(told, before);
  }
});
