import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createParser } from 'eventsource-parser';
import { mergedChunks } from '../../../../test/fixtures/merged-chunks.ts';
import { recordings } from '../../../../test/fixtures/recorded-chats.ts';
import { specValidator } from '../../../../test/spec/validate.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { isContent, type NeutralEvent } from '../../neutral/event.ts';
import { providerTypes } from '../../providers/catalog.ts';
import type { AnswerHead, DecodeOptions, SseEvent } from '../dialect.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { encodeStream } from './encode-answer.ts';
import { fold } from './fold-answer.ts';
import { readInPassing } from './read-in-passing.ts';

/** The events of bytes that come in these pieces, read by a parser that is not ours. */
function sseEvents(pieces: readonly Buffer[]): SseEvent[] {
  const events: SseEvent[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event: event ?? '', data }) });
  const text = new TextDecoder();
  for (const piece of pieces) parser.feed(text.decode(piece, { stream: true }));
  return events;
}

function replay(pieces: readonly Buffer[], options: DecodeOptions): NeutralEvent[] {
  const decoder = decodeStream(options);
  const events = sseEvents(pieces).flatMap((event) => decoder.step(event));
  return [...events, ...decoder.finish()];
}

const head: AnswerHead = { fallbackId: 'chatcmpl-1', model: 'fallback', createdS: 1, includeUsage: true };
const validChunk = specValidator('openai', 'CreateChatCompletionStreamResponse');
const validAnswer = specValidator('openai', 'CreateChatCompletionResponse');

for (const { name, stream, whole, events } of recordings()) {
  // Names begin with whose answer it was.
  const options = { usageOf: providerTypes.get(name.split('-')[0]!)?.usageOf };
  test(`recorded ${name}: reads as its events${stream === null ? '' : ', wherever the bytes are cut'}`, () => {
    if (stream === null) {
      assert.deepEqual(decodeWhole(whole!, options), events);
      return;
    }
    assert.deepEqual(replay([stream], options), events);
    assert.deepEqual(
      replay(
        Array.from(stream, (byte) => Buffer.of(byte)),
        options,
      ),
      events,
    );
    for (let at = 1; at < stream.length; at += 1) {
      assert.deepEqual(replay([stream.subarray(0, at), stream.subarray(at)], options), events, `cut at ${at}`);
    }
  });

  test(`recorded ${name}: written again, chunks and whole answer agree and are as OpenAI describes them`, () => {
    const encoder = encodeStream(head);
    const folded = fold(head);
    let frames = '';
    for (const event of events) {
      frames += encoder.step(event);
      folded.add(event);
    }
    const ended = events.at(-1)?.type === 'end';
    assert.equal(frames.endsWith('data: [DONE]\n\n'), ended);
    const chunks = frames
      .split('\n\n')
      .filter((frame) => frame !== '' && frame !== 'data: [DONE]')
      .map((frame) => JSON.parse(frame.slice('data: '.length)) as JsonObject);
    for (const chunk of chunks) assert.deepEqual(validChunk(chunk), []);
    if (!ended) return;
    const answer = folded.result();
    assert.deepEqual(validAnswer(answer), []);
    assert.deepEqual(mergedChunks(chunks), answer);
    // Reading our own output gives the original.
    assert.deepEqual(mergedChunks(chunksOf(decodeWhole(answer))), answer);
  });

  test(`recorded ${name}: read in passing, its usage, content and end are seen`, () => {
    const reader = readInPassing(options);
    const last = events.at(-1)!;
    if (stream === null) {
      assert.equal(reader.whole(whole), null);
    } else {
      const verdicts = sseEvents([stream]).map((event) => reader.step(event));
      assert.equal(
        verdicts.some((verdict) => verdict.content),
        events.some(isContent),
      );
      const fault = verdicts.find((verdict) => verdict.fault !== null)?.fault ?? null;
      if (name.endsWith('-malformed')) {
        assert.equal(fault?.class, 'malformed', 'a line that no client can read does not pass');
        return;
      }
      if (last.type === 'failed' && last.fault.class !== 'truncated') assert.deepEqual(fault, last.fault);
      else assert.equal(fault, null);
    }
    const usage = events.findLast((event) => event.type === 'usage')?.usage ?? null;
    assert.deepEqual(reader.seen.usage, usage);
    assert.equal(reader.seen.terminal, last.type === 'end');
  });
}

function chunksOf(events: readonly NeutralEvent[]): JsonObject[] {
  const encoder = encodeStream(head);
  return events
    .map((event) => encoder.step(event))
    .join('')
    .split('\n\n')
    .filter((frame) => frame !== '' && frame !== 'data: [DONE]')
    .map((frame) => JSON.parse(frame.slice('data: '.length)) as JsonObject);
}
