import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { CallerDialectId, DialectId } from '../../src/formats/dialects/dialect.ts';
import { dialects } from '../../src/formats/dialects/dialect-table.ts';
import { readInPassing } from '../../src/formats/dialects/openai-chat/read-in-passing.ts';
import type { NeutralEvent } from '../../src/formats/neutral/event.ts';
import { createSseReader } from '../../src/upstream/transport/sse-reader.ts';
import { head } from './replay.ts';

/*
 * Together says `finish_reason` after each of several calls, and early models of Google's say it with each chunk: callers
 * of every format get what comes behind the first reason, wherever the bytes are cut.
 */

const together = readFileSync(
  new URL('../recorded/openai-chat/together-finish-after-each-call/stream.sse', import.meta.url),
);
const chunkOfGoogle = (part: object) =>
  `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 8, totalTokenCount: 17 } })}\r\n\r\n`;
const google = Buffer.from(
  [
    { functionCall: { name: 'get_weather', args: { city: 'Oslo' } } },
    { functionCall: { name: 'get_time', args: {} } },
    { functionCall: { name: 'get_weather', args: { city: 'Göteborg' } } },
  ]
    .map(chunkOfGoogle)
    .join(''),
);

function eventsOf(upstream: DialectId, pieces: readonly Buffer[]): NeutralEvent[] {
  const reader = createSseReader({ eventBytesMax: 1024 * 1024 });
  const decoder = dialects[upstream].decodeStream();
  const events = pieces.flatMap((piece) => reader.push(piece)).flatMap((event) => decoder.step(event));
  return [...events, ...reader.end().flatMap((event) => decoder.step(event)), ...decoder.finish()];
}

for (const [upstream, bytes] of [['openai-chat', together] as const, ['gemini', google] as const]) {
  const whole = eventsOf(upstream, [bytes]);

  test(`${upstream}: the reason stands behind all content, wherever the bytes are cut`, () => {
    const types = whole.map(({ type }) => type);
    assert.deepEqual(types.slice(-3), ['finish', 'usage', 'end']);
    assert.equal(types.filter((type) => type === 'finish').length, 1);
    for (let cut = 1; cut < bytes.length; cut += 1) {
      assert.deepEqual(eventsOf(upstream, [bytes.subarray(0, cut), bytes.subarray(cut)]), whole, `cut at ${cut}`);
    }
  });

  for (const caller of [
    'openai-chat',
    'anthropic-messages',
    'openai-responses',
    'gemini',
  ] satisfies CallerDialectId[]) {
    test(`${caller} over ${upstream}: each call arrives, streamed and whole`, () => {
      const encoder = dialects[caller].encodeStream(head);
      const fold = dialects[caller].fold(head);
      let frames = '';
      for (const event of whole) {
        frames += encoder.step(event);
        fold.add(event);
      }
      const answer = JSON.stringify(fold.result());
      for (const wanted of ['Oslo', 'get_time', 'Göteborg']) {
        assert.ok(answer.includes(wanted), `${wanted} in the whole answer`);
        assert.ok(frames.includes(wanted), `${wanted} in the stream`);
      }
      assert.doesNotMatch(answer, /null\\?"/, 'arguments that are null are an empty object');
    });
  }
}

/* What passes unchanged: whether it was cut decides what its caller gets last. */

const piece = (choices: object[]) => ({ event: '', data: JSON.stringify({ id: 'c', choices }) });
const said = (content: string) => piece([{ index: 0, delta: { content }, finish_reason: null }]);
const stopped = (index: number) => piece([{ index, delta: {}, finish_reason: 'stop' }]);
const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };

test('a second choice that only calls is seen beside the text of the first: its cut stream is none that ended', () => {
  for (const second of [
    { index: 1, delta: { tool_calls: [call] }, finish_reason: null },
    { delta: { tool_calls: [call] }, finish_reason: null, index: 1 },
  ]) {
    for (const events of [
      [said('Hi'), piece([second]), stopped(0)],
      [said('Hi'), piece([{ index: 0, delta: { content: 'x' } }, second]), stopped(0)],
    ]) {
      const reader = readInPassing();
      for (const event of events) reader.step(event);
      assert.equal(reader.seen.terminal, false);
      reader.step(stopped(1));
      assert.equal(reader.seen.terminal, true);
      assert.equal(reader.seen.closing, 'data: [DONE]\n\n');
    }
  }
});

test('a second choice that was asked for and never began does not end a stream without its mark', () => {
  const reader = readInPassing({ choices: 2 });
  for (const event of [said('Hi'), stopped(0)]) reader.step(event);
  assert.equal(reader.seen.terminal, false);
  assert.equal(reader.step({ event: '', data: '[DONE]' }).fault, null, 'a provider may give fewer choices');
  assert.equal(reader.seen.terminal, true);
  const decoder = dialects['openai-chat'].decodeStream({ choices: 2 });
  const events = [said('Hi'), stopped(0)].flatMap((event) => decoder.step(event));
  assert.equal([...events, ...decoder.finish()].at(-1)!.type, 'failed');
});

test('text behind a reason does not end a stream without its mark', () => {
  const reader = readInPassing();
  for (const event of [said('Hi'), stopped(0), said(' there')]) reader.step(event);
  assert.equal(reader.seen.terminal, false);
  assert.equal(reader.step({ event: '', data: '[DONE]' }).fault, null);
  assert.equal(reader.seen.terminal, true);
  const decoder = dialects['openai-chat'].decodeStream();
  const events = [said('Hi'), stopped(0), said(' there')].flatMap((event) => decoder.step(event));
  assert.equal([...events, ...decoder.finish()].at(-1)!.type, 'failed');
});
