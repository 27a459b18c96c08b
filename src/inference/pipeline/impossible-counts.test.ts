import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellsImpossibleCounts, withPossibleCounts } from './impossible-counts.ts';

const own = { input: 7, output: 3 };

test('counts that no request can have are our own, whatever the format calls them', () => {
  for (const [told, given] of [
    [
      '{"usage":{"prompt_tokens":-5,"completion_tokens":1e300,"total_tokens": 3}}',
      '{"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens": 10}}',
    ],
    [
      '{"usageMetadata":{"promptTokenCount" : -1,"candidatesTokenCount":2}}',
      '{"usageMetadata":{"promptTokenCount" : 7,"candidatesTokenCount":3}}',
    ],
    ['{"input_tokens":4,"output_tokens_details":{"reasoning_tokens":-2}}', null],
  ] as const) {
    assert.ok(tellsImpossibleCounts(told));
    assert.equal(withPossibleCounts(told, own), given ?? told.replace('-2', '0'));
  }
});

test('what can be is left as it is, and so is text that speaks of tokens', () => {
  for (const told of [
    '{"usage":{"prompt_tokens":0,"completion_tokens":123456789,"cost":-0.5,"queue_time":1e-9}}',
    JSON.stringify({ content: '{"prompt_tokens":-5}', max_output_tokens: null }),
  ]) {
    assert.equal(tellsImpossibleCounts(told), false, told);
    assert.equal(withPossibleCounts(told, own), told);
  }
});
