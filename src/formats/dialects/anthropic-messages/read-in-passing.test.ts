import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import { readInPassing } from './read-in-passing.ts';

const events: JsonObject[] = [
  { type: 'message_start', message: { usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hello there, you.' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
  { type: 'message_stop' },
];

for (const names of ['with event names', 'without event names']) {
  test(`content, usage and the end are seen in passing, ${names}`, () => {
    const reader = readInPassing();
    const content = events.map(
      (e) =>
        reader.step({ event: names === 'with event names' ? String(e.type) : '', data: JSON.stringify(e) }).content,
    );
    // An empty text block and a signature are not content: headers wait for words.
    assert.deepEqual(content, [false, false, false, false, true, false, false, false]);
    assert.deepEqual(reader.seen.usage, {
      inputTokens: 15,
      outputTokens: 9,
      cachedInputTokens: 5,
      cacheWriteTokens: 0,
    });
    assert.equal(reader.seen.terminal, true);
    assert.ok(reader.seen.outputTokensSeen > 0 && reader.seen.outputTokensSeen < 12);
  });
}

test('a tool call is content at its start', () => {
  const data = JSON.stringify({ content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} } });
  assert.equal(readInPassing().step({ event: 'content_block_start', data }).content, true);
});

const delta = (text: string) =>
  JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
const opened = (block: JsonObject) => JSON.stringify({ type: 'content_block_start', index: 1, content_block: block });

test('events that some servers name "message" are read by the type in their data', () => {
  const reader = readInPassing();
  assert.equal(reader.step({ event: 'message', data: delta('Hi') }).content, true);
  assert.equal(reader.step({ event: 'message', data: '{"type":"message_stop"}' }).fault?.class, 'truncated');
});

test("OpenAI's end mark is no fault, and other data that is no JSON is one", () => {
  assert.equal(readInPassing().step({ event: '', data: '[DONE]' }).fault, null);
  assert.equal(readInPassing().step({ event: '', data: 'nonsense' }).fault?.class, 'malformed');
});

test('after the first content an event that was cut is still a fault', () => {
  const whole = delta('Hello there.');
  const cuts = [whole.slice(0, -1), whole.slice(0, -2), whole.slice(0, 30)];
  for (const data of [...cuts, ...cuts.map((cut) => cut.replace('_delta', '_start'))]) {
    const reader = readInPassing();
    const event = data.includes('block_start') ? 'content_block_start' : 'content_block_delta';
    assert.equal(reader.step({ event: 'content_block_delta', data: whole }).content, true);
    assert.deepEqual(reader.step({ event, data: whole }), { content: true, fault: null, usageOnly: false });
    assert.equal(reader.step({ event, data }).fault?.class, 'malformed', data);
    // What follows a fault says nothing more.
    assert.deepEqual(reader.step({ event, data: whole }), { content: false, fault: null, usageOnly: false });
  }
});

test('text is counted by its own length, without the frame of its events', () => {
  const reader = readInPassing();
  for (let i = 0; i < 10; i += 1) reader.step({ event: 'content_block_delta', data: delta('x'.repeat(40)) });
  assert.equal(reader.seen.outputTokensSeen, 100);
  assert.equal(readInPassing().step({ event: 'content_block_delta', data: '' }).fault, null);
  const cut = readInPassing();
  cut.step({ event: 'content_block_delta', data: '{}' });
  assert.equal(cut.seen.outputTokensSeen, 0);
});

test('a file of a tool is noted in whatever block names it, also after the first content', () => {
  const reader = readInPassing();
  reader.step({ event: 'content_block_delta', data: delta('Here:') });
  const result = { type: 'bash_code_execution_tool_result', content: { content: [{ file_id: 'file_1' }] } };
  reader.step({ event: 'content_block_start', data: opened(result) });
  assert.deepEqual(reader.seen.given, [{ id: 'file_1', nameable: 'always' }]);
});

test('a large block is content as it opens, and an empty text block is not', () => {
  const event = 'content_block_start';
  const search = { type: 'web_search_tool_result', content: ['x'.repeat(5_000)] };
  assert.equal(readInPassing().step({ event, data: opened(search) }).content, true);
  assert.equal(readInPassing().step({ event, data: opened({ type: 'text', text: '' }) }).content, false);
});

test('an error event is a fault, unreadable ones are nothing', () => {
  const reader = readInPassing();
  const data = JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } });
  assert.equal(reader.step({ event: 'error', data }).fault?.class, 'rate_limited');
  assert.deepEqual(reader.step({ event: 'content_block_delta', data: '{' }).content, false);
  assert.equal(reader.step({ event: '', data: 'nonsense' }).fault, null);
});

test('a whole answer: usage is read; an error or no answer is a fault', () => {
  const reader = readInPassing();
  assert.equal(
    reader.whole({ content: [], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 2 } }),
    null,
  );
  assert.equal(reader.seen.usage?.outputTokens, 2);
  assert.equal(reader.seen.terminal, true);
  assert.equal(readInPassing().whole({ type: 'error', error: { type: 'api_error', message: '' } })?.class, 'transient');
  assert.equal(readInPassing().whole('<html>')?.class, 'malformed');
  assert.equal(readInPassing().whole({})?.class, 'malformed');
});
