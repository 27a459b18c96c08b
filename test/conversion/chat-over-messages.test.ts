import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { anthropicMessages } from '../../src/inference/dialects/anthropic-messages/index.ts';
import type { DecodeOptions, EncodedRequest, Result } from '../../src/inference/dialects/dialect.ts';
import { openAiChat } from '../../src/inference/dialects/openai-chat/index.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { specValidator } from '../spec/validate.ts';
import { replay, type Shown, show } from './replay.ts';

const here = import.meta.dirname;
const cases = readdirSync(here, { withFileTypes: true }).filter((entry) => entry.isDirectory());

for (const { name } of cases) {
  const at = (file: string) => join(here, name, file);

  if (existsSync(at('request.json'))) {
    test(`${name}: the request`, () => {
      const encoded = encode(name);
      const sent = encoded.ok
        ? { body: encoded.value.body, lost: encoded.value.losses.map((loss) => `${loss.field}: ${loss.why}`) }
        : { refused: encoded.failure };
      expectJson(at('sent.json'), sent);
    });
  }

  if (existsSync(at('answer.sse'))) {
    const bytes = readFileSync(at('answer.sse'));
    const whole = (): Shown => replay([bytes], decodeOptions(name));

    test(`${name}: the stream, and the whole answer folded from it`, () => {
      const shown = whole();
      expectText(at('chunks.sse'), shown.frames);
      expectJson(at('completion.json'), shown.completion);
      assertPublishedShape(shown);
    });

    test(`${name}: the stream reads the same wherever it is cut`, () => {
      const shown = whole();
      const oneByOne = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
      assert.deepEqual(replay(oneByOne, decodeOptions(name)), shown);
      for (let cut = 1; cut < bytes.length; cut++) {
        const parts = replay([bytes.subarray(0, cut), bytes.subarray(cut)], decodeOptions(name));
        assert.equal(parts.frames, shown.frames, `cut at byte ${cut}`);
        assert.equal(parts.malformedLines, shown.malformedLines, `cut at byte ${cut}`);
      }
    });

    test(`${name}: cut short anywhere, the stream never ends as if it were whole`, () => {
      for (let length = 0; length < bytes.length - 2; length += 7) {
        const cut = replay([bytes.subarray(0, length)], decodeOptions(name));
        if (cut.frames.includes('[DONE]')) assert.equal(cut.frames, whole().frames, `${length} bytes`);
        else assert.ok('failed' in cut.completion, `${length} bytes`);
      }
    });

    test(`${name}: a client that folds our stream gets our whole answer`, () => {
      const shown = whole();
      if ('failed' in shown.completion) assert.ok(!shown.frames.includes('[DONE]'));
      else assert.deepEqual(refold(shown.frames), shown.completion);
    });
  }

  if (existsSync(at('answer.json'))) {
    test(`${name}: the whole answer is the same as the stream's`, () => {
      const body = JSON.parse(readFileSync(at('answer.json'), 'utf8')) as JsonObject;
      const { completion } = show(anthropicMessages.decodeWhole(body, decodeOptions(name)));
      assert.deepEqual(completion, JSON.parse(readFileSync(at('completion.json'), 'utf8')));
    });
  }
}

function encode(name: string): Result<EncodedRequest> {
  const request = JSON.parse(readFileSync(join(here, name, 'request.json'), 'utf8')) as JsonObject;
  const neutral = openAiChat.decodeRequest(request);
  assert.ok(neutral.ok, JSON.stringify(neutral));
  const file = join(here, name, 'target.json');
  const target = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { model: string; maxOutputTokens: number | null })
    : { model: 'claude-sonnet-4-5', maxOutputTokens: null };
  return anthropicMessages.encodeRequest(neutral.value, { ...target, stream: true, omit: [] });
}

/** What the case's request asks its answer's decoder to undo. */
function decodeOptions(name: string): DecodeOptions | undefined {
  if (!existsSync(join(here, name, 'request.json'))) return undefined;
  const encoded = encode(name);
  return encoded.ok ? encoded.value.decode : undefined;
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

function framesOf(frames: string): string[] {
  return frames
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => frame.replace(/^data: /, ''));
}

function assertPublishedShape(shown: Shown): void {
  const chunkFaults = specValidator('openai', 'CreateChatCompletionStreamResponse');
  for (const frame of framesOf(shown.frames)) {
    if (frame !== '[DONE]') assert.deepEqual(chunkFaults(JSON.parse(frame)), [], frame);
  }
  if ('failed' in shown.completion) return;
  assert.deepEqual(specValidator('openai', 'CreateChatCompletionResponse')(shown.completion), []);
}

function refold(frames: string): JsonObject {
  const decoder = openAiChat.decodeStream();
  const events = framesOf(frames).flatMap((data) => decoder.step({ event: '', data }));
  assert.deepEqual(decoder.finish(), []);
  return show(events).completion as JsonObject;
}
