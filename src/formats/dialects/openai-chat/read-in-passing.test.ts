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

for (const none of [null, '', undefined] as const)
  test(`in passing, a whole call whose arguments are ${JSON.stringify(none)} has those of none`, () => {
    const called = { name: 'look', arguments: none as string | null | undefined };
    const calls = [{ id: 'c0', type: 'function', function: called }];
    const choices = [{ index: 0, message: { content: null, tool_calls: calls }, finish_reason: 'tool_calls' }];
    assert.equal(readInPassing().whole({ choices }), null);
    assert.equal(called.arguments, '{}');
  });

/** Arguments of each call, joined as clients join them, of a stream whose calls have these pieces of arguments. */
function joined(...calls: readonly (string | null | undefined)[][]): string[] {
  const reader = readInPassing();
  const texts: string[] = [];
  const step = (delta: object, finish_reason: string | null = null) => {
    const data = JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }] });
    const { choices } = JSON.parse(reader.step({ event: '', data }).data ?? data);
    for (const { index, function: called } of choices[0].delta.tool_calls ?? [])
      texts[index] = `${texts[index] ?? ''}${called.arguments}`;
  };
  for (const [index, pieces] of calls.entries())
    for (const [at, text] of pieces.entries()) {
      const begin = at === 0 && { id: `c${index}`, type: 'function' };
      const tool_calls = [{ index, ...begin, function: { ...(begin && { name: 'look' }), arguments: text } }];
      step({ ...(begin && { role: 'assistant', content: null }), tool_calls });
    }
  step({}, 'tool_calls');
  return texts;
}

test('in passing, streamed calls without arguments have those of none at the end, and others nothing more', () => {
  for (const none of [null, '', undefined]) {
    assert.deepEqual(joined([none]), ['{}']);
    assert.deepEqual(joined([none, '{"a":', '1}'], [none], [none]), ['{"a":1}', '{}', '{}']);
    assert.deepEqual(joined([none, '{}'], ['{"b":2}']), ['{}', '{"b":2}']);
  }
  assert.deepEqual(joined(['null']), ['null']);
  assert.deepEqual(joined(['', 'nu', 'll']), ['null']);
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

test('in passing, a call without arguments has those of none where a stream ends without a reason', () => {
  const reader = readInPassing();
  const tool_calls = [{ index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '' } }];
  const choices = [{ index: 0, delta: { role: 'assistant', content: null, tool_calls }, finish_reason: null }];
  reader.step({ event: '', data: JSON.stringify({ id: 'c', choices }) });
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  reader.step({ event: '', data: JSON.stringify({ id: 'c', choices: [], usage }) });
  assert.match(reader.step({ event: '', data: '[DONE]' }).before ?? '', /"arguments":"\{\}".*"tool_calls"\}/);
});
