import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import type { DecodeOptions } from '../dialect.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';

function decode(events: readonly JsonObject[], options?: DecodeOptions): NeutralEvent[] {
  const decoder = decodeStream(options);
  const out = events.flatMap((e) => decoder.step({ event: String(e.type), data: JSON.stringify(e) }));
  return [...out, ...decoder.finish()];
}

const usage = { input_tokens: 3, cache_read_input_tokens: 4, cache_creation_input_tokens: 5, output_tokens: 1 };
const begin = { type: 'message_start', message: { id: 'msg_1', model: 'claude-x', content: [], usage } };
const end = (reason: string, output = 7) => [
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: output } },
  { type: 'message_stop' },
];
const start = (index: number, block: JsonObject) => ({ type: 'content_block_start', index, content_block: block });
const delta = (index: number, change: JsonObject) => ({ type: 'content_block_delta', index, delta: change });
const stop = (index: number) => ({ type: 'content_block_stop', index });
const bare = (events: NeutralEvent[]) => events.filter((e) => e.type !== 'start' && e.type !== 'usage');

test('members of the usage are looked through once each, however many usages come, and however deep they nest', () => {
  const callers = { callers: 'anthropic-messages' } as const;
  const counted = (further: JsonObject) => ({
    type: 'message_delta',
    delta: {},
    usage: { output_tokens: 2, ...further },
  });
  const last = (events: readonly JsonObject[]) => decode(events, callers).findLast((e) => e.type === 'usage');
  const iterations = Array.from({ length: 20_000 }, () => ({ type: 'message' }));
  const many = iterations.map((_, at) => counted({ [`x_${at}`]: 1 }));
  const fromMs = performance.now();
  const { beside, usage: counts } = last([begin, counted({ iterations, speed: 'fast' }), ...many, ...end('end_turn')])!;
  assert.ok(performance.now() - fromMs < 3_000, 'a server that counts often stops all others');
  assert.deepEqual(beside?.members, { iterations, speed: 'fast' });
  assert.equal(counts.outputTokens, 7);
  const decoder = decodeStream(callers);
  const nested = '['.repeat(20_000) + ']'.repeat(20_000);
  const data = `{"type":"message_delta","usage":{"output_tokens":2,"iterations":${nested}}}`;
  assert.equal(decoder.step({ event: '', data }).at(-1)?.type, 'usage');
});

test('usage counts cached input into the input, and later counts replace earlier ones', () => {
  const events = decode([begin, ...end('end_turn')]);
  assert.deepEqual(
    events.filter((e) => e.type === 'usage').map((e) => e.usage),
    [1, 7].map((outputTokens) => ({ inputTokens: 12, outputTokens, cachedInputTokens: 4, cacheWriteTokens: 5 })),
  );
});

test('input tokens that message_delta states anew replace those of message_start', () => {
  const late = {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: { input_tokens: 61, output_tokens: 2 },
  };
  const last = decode([begin, late, { type: 'message_stop' }]).findLast((e) => e.type === 'usage');
  assert.equal(last?.usage.inputTokens, 70);
});

test('thinking, its signature, then text, each once and in order', () => {
  const events = decode([
    begin,
    start(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'hm' }),
    delta(0, { type: 'signature_delta', signature: 'sig' }),
    stop(0),
    start(1, { type: 'redacted_thinking', data: 'xyz' }),
    stop(1),
    start(2, { type: 'text', text: '' }),
    { type: 'ping' },
    delta(2, { type: 'text_delta', text: 'Yes' }),
    stop(2),
    ...end('end_turn'),
  ]);
  assert.deepEqual(bare(events), [
    { type: 'reasoning-delta', choice: 0, text: 'hm' },
    { type: 'reasoning-signature', choice: 0, signature: 'sig', vendor: 'anthropic-messages' },
    { type: 'redacted-reasoning', choice: 0, data: 'xyz', vendor: 'anthropic-messages' },
    { type: 'text-delta', choice: 0, text: 'Yes' },
    { type: 'finish', choice: 0, reason: 'stop', stopSequence: null },
    { type: 'end' },
  ]);
});

test('tool calls are numbered densely among other blocks, and empty arguments are {}', () => {
  const events = decode([
    begin,
    start(0, { type: 'text', text: '' }),
    stop(0),
    start(1, { type: 'server_tool_use', id: 'srv', name: 'web_search', input: {} }),
    delta(1, { type: 'input_json_delta', partial_json: '{"query":1}' }),
    stop(1),
    start(2, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
    delta(2, { type: 'input_json_delta', partial_json: '' }),
    stop(2),
    start(5, { type: 'tool_use', id: 'b', name: 'g', input: {} }),
    delta(5, { type: 'input_json_delta', partial_json: '{"x":' }),
    delta(5, { type: 'input_json_delta', partial_json: '1}' }),
    stop(5),
    ...end('tool_use'),
  ]);
  const block = { type: 'server_tool_use', id: 'srv', name: 'web_search', input: { query: 1 } };
  assert.deepEqual(bare(events), [
    { type: 'vendor-part', choice: 0, vendor: 'anthropic-messages', field: 'server_tool_use', block },
    { type: 'tool-call-start', choice: 0, call: 0, id: 'a', name: 'f' },
    { type: 'tool-call-delta', choice: 0, call: 0, argumentsJson: '{}' },
    { type: 'tool-call-start', choice: 0, call: 1, id: 'b', name: 'g' },
    { type: 'tool-call-delta', choice: 0, call: 1, argumentsJson: '{"x":' },
    { type: 'tool-call-delta', choice: 0, call: 1, argumentsJson: '1}' },
    { type: 'finish', choice: 0, reason: 'tool-calls', stopSequence: null },
    { type: 'end' },
  ]);
});

test('the forced call that stands in for a response format comes out as text and a plain stop', () => {
  const events = decode(
    [
      begin,
      start(0, { type: 'tool_use', id: 'a', name: 'json_response', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{"ok":true}' }),
      stop(0),
      ...end('tool_use'),
    ],
    { unwrapTool: 'json_response' },
  );
  assert.deepEqual(bare(events), [
    { type: 'text-delta', choice: 0, text: '{"ok":true}' },
    { type: 'finish', choice: 0, reason: 'stop', stopSequence: null },
    { type: 'end' },
  ]);
});

test('of two such calls the first is the answer: both in a row would be no JSON', () => {
  const call = (index: number, json: string) => [
    start(index, { type: 'tool_use', id: `t${index}`, name: 'json_response', input: {} }),
    delta(index, { type: 'input_json_delta', partial_json: json }),
    stop(index),
  ];
  const told = [begin, ...call(0, '{"ok":1}'), ...call(1, '{"ok":2}'), ...end('tool_use')];
  assert.deepEqual(bare(decode(told, { unwrapTool: 'json_response' })), [
    { type: 'text-delta', choice: 0, text: '{"ok":1}' },
    { type: 'finish', choice: 0, reason: 'stop', stopSequence: null },
    { type: 'end' },
  ]);
});

test('two text blocks in a row are divided; a citation is of all the block that it stands in', () => {
  const block = { type: 'web_search_result_location', url: 'https://a.example', title: 'A' };
  const events = decode([
    begin,
    start(0, { type: 'text', text: '' }),
    delta(0, { type: 'text_delta', text: 'one' }),
    delta(0, { type: 'citations_delta', citation: block }),
    delta(0, { type: 'text_delta', text: ' and' }),
    stop(0),
    start(1, { type: 'text', text: 'two' }),
    stop(1),
    ...end('end_turn'),
  ]);
  assert.deepEqual(bare(events).slice(0, 5), [
    { type: 'text-delta', choice: 0, text: 'one' },
    { type: 'text-delta', choice: 0, text: ' and' },
    {
      type: 'citation',
      choice: 0,
      citation: {
        url: 'https://a.example',
        title: 'A',
        quote: '',
        span: { start: 0, end: 7 },
        vendorPart: { vendor: 'anthropic-messages', block },
      },
    },
    { type: 'part-end', choice: 0 },
    { type: 'text-delta', choice: 0, text: 'two' },
  ]);
});

const reasons = {
  end_turn: 'stop',
  stop_sequence: 'stop-sequence',
  pause_turn: 'pause',
  compaction: 'pause',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-full',
  tool_use: 'tool-calls',
  refusal: 'content-filter',
  one_of_tomorrow: 'stop',
};
for (const [reason, expected] of Object.entries(reasons)) {
  test(`stop reason ${reason} is ${expected}`, () => {
    const finish = decode([begin, ...end(reason)]).find((e) => e.type === 'finish');
    assert.equal(finish?.reason, expected);
  });
}

test('a refusal without a text has the reason that Anthropic gives', () => {
  const stop_details = { type: 'refusal', category: 'cyber', explanation: 'It asks for an attack.' };
  const ended = { stop_reason: 'refusal', stop_sequence: null, stop_details };
  const last = [{ type: 'message_delta', delta: ended, usage: { output_tokens: 1 } }, { type: 'message_stop' }];
  const refusals = (events: NeutralEvent[]) => events.flatMap((e) => (e.type === 'refusal-delta' ? [e.text] : []));
  const why = 'The provider withheld the answer (cyber): It asks for an attack.';
  assert.deepEqual(refusals(decode([begin, ...last])), [why]);
  const whole = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', content: [], usage, ...ended };
  assert.deepEqual(refusals(decodeWhole(whole)), [why]);
  // A part of a text stays as it is.
  const part = [start(0, { type: 'text', text: '' }), delta(0, { type: 'text_delta', text: 'One' }), stop(0)];
  assert.deepEqual(refusals(decode([begin, ...part, ...last])), []);
});

test('a compaction has the summary of its deltas', () => {
  const summary = { content: 'All so far.', encrypted_content: 'e' };
  const block = { type: 'compaction', content: null, encrypted_content: null };
  const change = delta(0, { type: 'compaction_delta', ...summary });
  const part = decode([begin, start(0, block), change, stop(0), ...end('compaction')]).find(
    (e) => e.type === 'vendor-part',
  );
  assert.deepEqual(part?.block, { type: 'compaction', ...summary });
});

test('a call made is a reason to run tools, whatever the word', () => {
  const call = [start(0, { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } }), stop(0)];
  const events = decode([begin, ...call, ...end('end_turn')]);
  assert.equal(events.find((e) => e.type === 'finish')?.reason, 'tool-calls');
});

test('a repeated message_start starts nothing anew', () => {
  const events = decode([begin, begin, ...end('end_turn')]);
  assert.equal(events.filter((e) => e.type === 'start').length, 1);
});

test('text without message_start or content_block_start is not lost', () => {
  const events = decode([delta(0, { type: 'text_delta', text: 'hi' }), ...end('end_turn')]);
  assert.deepEqual(
    events.map((e) => e.type),
    ['start', 'text-delta', 'finish', 'usage', 'end'],
  );
});

test('an error event fails the answer by its type, and nothing follows', () => {
  const events = decode([
    begin,
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    delta(0, { type: 'text_delta', text: 'late' }),
    ...end('end_turn'),
  ]);
  assert.deepEqual(events.slice(2), [
    { type: 'failed', fault: { class: 'transient', status: 529, message: 'Overloaded', code: 'overloaded_error' } },
  ]);
});

test('a stream without message_stop is truncated, even after its stop reason', () => {
  for (const events of [[], [begin], [begin, end('end_turn')[0]!]]) {
    const last = decode(events).at(-1);
    assert.equal(last?.type === 'failed' && last.fault.class, 'truncated');
  }
});

test('message_stop without a stop reason is no end', () => {
  const last = decode([begin, { type: 'message_stop' }]).at(-1);
  assert.equal(last?.type === 'failed' && last.fault.class, 'malformed');
});

test('unreadable lines are skipped and counted; unknown events are not unreadable', () => {
  const decoder = decodeStream();
  const step = (data: string) => decoder.step({ event: '', data });
  for (const data of ['{', '[1]', '"x"', 'null', '{}', '{"type":"content_block_start"}'])
    assert.deepEqual(step(data), []);
  assert.equal(decoder.malformedLines, 6);
  assert.deepEqual(step('{"type":"culvert_tomorrow"}'), []);
  assert.equal(decoder.malformedLines, 6);
  assert.equal(step(JSON.stringify(begin))[0]?.type, 'start');
});

test('open blocks are bounded', () => {
  const decoder = decodeStream();
  let last: NeutralEvent | undefined;
  for (let i = 0; i < 300 && last?.type !== 'failed'; i++) {
    last = decoder.step({ event: '', data: JSON.stringify(start(i, { type: 'text', text: '' })) }).at(-1) ?? last;
  }
  assert.equal(last?.type === 'failed' && last.fault.class, 'malformed');
});

test('a whole answer gives the events of its stream', () => {
  const events = decodeWhole({
    id: 'msg_1',
    model: 'claude-x',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'text', text: 'Yes' },
      { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage,
  });
  assert.deepEqual(
    events.map((e) => e.type),
    [
      'start',
      'usage',
      'reasoning-delta',
      'reasoning-signature',
      'text-delta',
      'tool-call-start',
      'tool-call-delta',
      'finish',
      'end',
    ],
  );
  assert.deepEqual(
    events.find((e) => e.type === 'tool-call-delta'),
    { type: 'tool-call-delta', choice: 0, call: 0, argumentsJson: '{"x":1}' },
  );
});

test('a whole body that is an error, or no answer, fails', () => {
  const of = (body: JsonObject) => {
    const events = decodeWhole(body);
    assert.equal(events.length, 1);
    return events[0]?.type === 'failed' ? events[0].fault.class : null;
  };
  assert.equal(of({ type: 'error', error: { type: 'overloaded_error', message: 'x' } }), 'transient');
  assert.equal(of({ hello: 1 }), 'malformed');
});

test('any JSON whatever is decoded without a throw, and nothing follows the end', () => {
  const types = ['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta'];
  const inner = [
    'text',
    'thinking',
    'tool_use',
    'text_delta',
    'input_json_delta',
    'signature_delta',
    'citations_delta',
  ];
  const part = fc.record(
    {
      type: fc.constantFrom(...inner),
      text: fc.jsonValue(),
      thinking: fc.jsonValue(),
      partial_json: fc.jsonValue(),
      name: fc.jsonValue(),
      input: fc.jsonValue(),
      signature: fc.jsonValue(),
      citation: fc.jsonValue(),
      stop_reason: fc.jsonValue(),
    },
    { requiredKeys: ['type'] },
  );
  const event = fc.record(
    {
      type: fc.oneof(fc.constantFrom(...types, 'message_stop', 'error', 'ping'), fc.string()),
      index: fc.oneof(fc.nat(3), fc.jsonValue()),
      delta: fc.oneof(part, fc.jsonValue()),
      content_block: fc.oneof(part, fc.jsonValue()),
      message: fc.jsonValue(),
      usage: fc.jsonValue(),
      error: fc.jsonValue(),
    },
    { requiredKeys: ['type'] },
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(event, fc.jsonValue()), { maxLength: 12 }), (input) => {
      const decoder = decodeStream({ unwrapTool: 'text' });
      const out = input.flatMap((e) => decoder.step({ event: '', data: JSON.stringify(e) }));
      out.push(...decoder.finish());
      assert.equal(out.filter((e) => e.type === 'end' || e.type === 'failed').length, 1);
      assert.ok(out.at(-1)?.type === 'end' || out.at(-1)?.type === 'failed');
      assert.ok(out.filter((e) => e.type === 'start').length <= 1);
      assert.ok(out.filter((e) => e.type === 'finish').length <= 1);
      const calls = out.filter((e) => e.type === 'tool-call-start').map((e) => e.call);
      assert.deepEqual(
        calls,
        calls.map((_, i) => i),
      );
    }),
    { numRuns: 500 },
  );
});
