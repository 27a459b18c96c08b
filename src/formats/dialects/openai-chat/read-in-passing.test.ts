import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moonshot } from '../../providers/services/moonshot.ts';
import { readInPassing } from './read-in-passing.ts';

test('in passing, a finish reason that OpenAI does not have becomes its own, and an empty one none', () => {
  const chunk = (finish_reason: string, delta: object = {}) =>
    JSON.stringify({ id: 'c1', choices: [{ index: 0, delta, finish_reason }] });
  const whole = (finish_reason: string | null) => {
    const answer = { choices: [{ index: 0, message: { content: 'x' }, finish_reason }] };
    readInPassing().whole(answer);
    return answer.choices[0]?.finish_reason;
  };
  for (const [word, expected] of [
    ['eos_token', 'stop'],
    ['end_turn', 'stop'],
    ['sensitive', 'content_filter'],
    ['guardrail_intervened', 'content_filter'],
    ['model_context_window_exceeded', 'length'],
    ['function_call', 'function_call'],
  ] as const) {
    const reader = readInPassing();
    // LocalAI and SGLang: clients of .NET and Rust throw at an empty word.
    const begun = reader.step({ event: '', data: chunk('', { role: 'assistant', content: 'x' }) });
    assert.match(begun.data ?? '', /"finish_reason":null/);
    const { data = chunk(word) } = reader.step({ event: '', data: chunk(word) });
    assert.match(data, new RegExp(`"finish_reason":"${expected}"`));
    assert.equal(whole(word), expected);
  }
  assert.deepEqual([whole(''), whole(null)], ['stop', 'stop']);
});

test('in passing, a whole call without arguments has those of none, as in a stream that is joined', () => {
  const call = { id: 'c0', type: 'function', function: { name: 'look', arguments: null as string | null } };
  const choices = [{ index: 0, message: { content: null, tool_calls: [call] }, finish_reason: 'tool_calls' }];
  assert.equal(readInPassing().whole({ choices }), null);
  assert.equal(call.function.arguments, '{}');
});

test("usage in the last choice of a stream of Kimi's is that of its answer", () => {
  const usage = { prompt_tokens: 11, completion_tokens: 12, total_tokens: 23 };
  const chunk = { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] };
  const { usageOf } = moonshot;
  const reader = readInPassing({ usageOf });
  reader.step({
    event: '',
    data: JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', content: 'hi' } }] }),
  });
  reader.step({ event: '', data: JSON.stringify(chunk) });
  assert.deepEqual(reader.seen.usage, { inputTokens: 11, outputTokens: 12 });
});
