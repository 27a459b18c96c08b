import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { anthropicMessages } from '../../src/formats/dialects/anthropic-messages/index.ts';
import type { AnswerHead, CallerRequest, EncodedRequest } from '../../src/formats/dialects/dialect.ts';
import { openAiChat } from '../../src/formats/dialects/openai-chat/index.ts';
import type { NeutralEvent } from '../../src/formats/neutral/event.ts';
import type { Fault } from '../../src/formats/neutral/outcome.ts';
import { type Failure, isFailure } from '../../src/kernel/failure.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { scanJson } from '../../src/kernel/json.ts';
import { createSseReader } from '../../src/upstream/transport/sse-reader.ts';
import { messageOfFrames } from './message-of-frames.ts';
import { titleOf } from './must-hold.ts';

const here = join(import.meta.dirname, 'messages-over-chat');

/** A Messages caller's view of one answer. */
interface Shown {
  frames: string;
  message: JsonObject | { failed: Fault };
  malformedLines: number;
}

for (const name of readdirSync(here)) {
  const at = (file: string) => join(here, name, file);
  const title = titleOf(name);

  if (existsSync(at('request.json'))) {
    test(`${title}: the request`, () => {
      const encoded = encode(name);
      const lost = (losses: readonly { field: string; why: string }[]) =>
        losses.map(({ field, why }) => `${field}: ${why}`);
      const sent = isFailure(encoded) ? { refused: encoded } : { body: encoded.body, lost: lost(encoded.losses) };
      expectJson(at('sent.json'), sent);
    });
  }

  if (existsSync(at('answer.sse'))) {
    const bytes = readFileSync(at('answer.sse'));
    const head = headOf(name);

    test(`${title}: the stream, and the whole answer folded from it`, () => {
      const shown = replay([bytes], head);
      expectText(at('events.sse'), shown.frames);
      expectJson(at('message.json'), shown.message);
    });

    test(`${title}: the stream is balanced, and a client that folds it gets our whole answer`, () => {
      const shown = replay([bytes], head);
      const folded = messageOfFrames(shown.frames);
      if ('failed' in shown.message) assert.equal(folded.ended, false);
      else assert.deepEqual(folded.message, shown.message);
    });

    test(`${title}: the stream reads the same wherever it is cut`, () => {
      const shown = replay([bytes], head);
      assert.deepEqual(
        replay(
          Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)),
          head,
        ),
        shown,
      );
      for (let cut = 1; cut < bytes.length; cut++) {
        const parts = replay([bytes.subarray(0, cut), bytes.subarray(cut)], head);
        assert.equal(parts.frames, shown.frames, `cut at byte ${cut}`);
        assert.equal(parts.malformedLines, shown.malformedLines, `cut at byte ${cut}`);
      }
    });

    test(`${title}: cut short anywhere, the stream never ends as if it were whole`, () => {
      const { message: whole } = messageOfFrames(replay([bytes], head).frames);
      for (let length = 0; length < bytes.length - 2; length += 7) {
        const cut = replay([bytes.subarray(0, length)], head);
        const { message, ended } = messageOfFrames(cut.frames);
        // Behind the finish reason only the usage may be missing.
        if (ended) assert.deepEqual({ ...message, usage: whole.usage }, whole, `${length} bytes`);
        else assert.ok('failed' in cut.message, `${length} bytes`);
      }
    });
  }

  if (existsSync(at('answer.json'))) {
    test(`${title}: the whole answer is the same as the stream's`, () => {
      const body = JSON.parse(readFileSync(at('answer.json'), 'utf8')) as JsonObject;
      const { message } = show(openAiChat.decodeWhole(body), headOf(name));
      assert.deepEqual(message, JSON.parse(readFileSync(at('message.json'), 'utf8')));
    });
  }
}

function read(name: string): CallerRequest {
  const body = JSON.parse(readFileSync(join(here, name, 'request.json'), 'utf8')) as JsonObject;
  // The estimate of its tokens goes by its bytes: those of no formatter.
  const raw = Buffer.from(JSON.stringify(body));
  const read = anthropicMessages.readRequest(raw, body, scanJson(raw, 64));
  assert.ok(!isFailure(read), JSON.stringify(read));
  return read;
}

function encode(name: string): EncodedRequest | Failure {
  const neutral = read(name).neutral();
  const file = join(here, name, 'target.json');
  const target = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { model: string; maxOutputTokens: number | null })
    : { model: 'gpt-x', maxOutputTokens: null };
  const encoded = openAiChat.encodeRequest(neutral, { ...target, stream: true, omit: [] });
  if (isFailure(encoded)) return encoded;
  return { ...encoded, losses: [...(neutral.lost ?? []), ...encoded.losses] };
}

function headOf(name: string): AnswerHead {
  const head = { fallbackId: 'msg_fallback', model: 'alias', createdS: 1_750_000_000, includeUsage: true };
  if (!existsSync(join(here, name, 'request.json'))) return { ...head, echo: { thoughts: 'hidden', inputTokens: 12 } };
  return { ...head, echo: read(name).echo! };
}

function replay(pieces: readonly Buffer[], head: AnswerHead): Shown {
  const reader = createSseReader({ eventBytesMax: 1024 * 1024 });
  const decoder = openAiChat.decodeStream();
  const events: NeutralEvent[] = [];
  for (const piece of pieces) for (const event of reader.push(piece)) events.push(...decoder.step(event));
  for (const event of reader.end()) events.push(...decoder.step(event));
  events.push(...decoder.finish());
  return { ...show(events, head), malformedLines: decoder.malformedLines };
}

function show(events: readonly NeutralEvent[], head: AnswerHead): Omit<Shown, 'malformedLines'> {
  const encoder = anthropicMessages.encodeStream(head);
  const fold = anthropicMessages.fold(head);
  let frames = '';
  let failed: Fault | null = null;
  for (const event of events) {
    frames += encoder.step(event);
    fold.add(event);
    if (event.type === 'failed') failed = event.fault;
  }
  return { frames, message: failed === null ? fold.result() : { failed } };
}

function expectJson(file: string, actual: object): void {
  const text = JSON.stringify(actual, null, 2);
  if (process.env.CULVERT_WRITE_EXPECTED === '1') writeFileSync(file, `${text}\n`);
  assert.deepEqual(JSON.parse(text), JSON.parse(readFileSync(file, 'utf8')));
}

function expectText(file: string, actual: string): void {
  if (process.env.CULVERT_WRITE_EXPECTED === '1') writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, 'utf8'));
}
