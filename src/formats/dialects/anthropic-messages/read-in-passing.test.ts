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
