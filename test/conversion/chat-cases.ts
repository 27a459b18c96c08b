import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { DecodeOptions, EncodedRequest, UpstreamDialect } from '../../src/formats/dialects/dialect.ts';
import { openAiChat } from '../../src/formats/dialects/openai-chat/index.ts';
import { type Failure, isFailure } from '../../src/kernel/failure.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { decodeRequest } from '../fixtures/decode-request.ts';
import { specValidator } from '../spec/validate.ts';
import { titleOf } from './must-hold.ts';
import { replay, type Shown, show } from './replay.ts';

export interface ChatCases {
  upstream: UpstreamDialect;
  /** Folder with one folder a case. */
  home: string;
  /** Path of a case's request that `home` does not give; null: none. */
  requests: string | null;
  /** The target's model where the case does not say. */
  model: string;
}

/** Every case of a folder as tests; see README.md for its files. */
export function testChatOver({ upstream, home, requests, model }: ChatCases): void {
  const names = new Set([...foldersOf(home), ...(requests === null ? [] : foldersOf(requests))]);
  for (const name of [...names].sort()) testCase(name);

  function testCase(name: string): void {
    const title = titleOf(name);
    const at = (file: string) => join(home, name, file);
    const request = requestFile(name);

    if (request !== null) {
      test(`${title}: the request`, () => {
        const encoded = encode(name, request);
        const sent = isFailure(encoded)
          ? { refused: encoded }
          : { body: encoded.body, lost: encoded.losses.map((loss) => `${loss.field}: ${loss.why}`) };
        expectJson(at('sent.json'), sent);
      });
    }
    const options = request === null ? undefined : decodeOptions(name, request);
    if (existsSync(at('answer.sse'))) testStream(title, at, options);
    if (existsSync(at('answer.json'))) {
      test(`${title}: the whole answer is the same as the stream's`, () => {
        const body = JSON.parse(readFileSync(at('answer.json'), 'utf8')) as JsonObject;
        const { completion } = show(upstream.decodeWhole(body, options));
        assert.deepEqual(completion, JSON.parse(readFileSync(at('completion.json'), 'utf8')));
      });
    }
  }

  function testStream(title: string, at: (file: string) => string, options: DecodeOptions | undefined): void {
    const bytes = readFileSync(at('answer.sse'));
    const whole = (): Shown => replay(upstream, [bytes], options);

    test(`${title}: the stream, and the whole answer folded from it`, () => {
      const shown = whole();
      expectText(at('chunks.sse'), shown.frames);
      expectJson(at('completion.json'), shown.completion);
      assertPublishedShape(shown);
    });

    test(`${title}: the stream reads the same wherever it is cut`, () => {
      const shown = whole();
      const oneByOne = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
      assert.deepEqual(replay(upstream, oneByOne, options), shown);
      for (let cut = 1; cut < bytes.length; cut++) {
        const parts = replay(upstream, [bytes.subarray(0, cut), bytes.subarray(cut)], options);
        assert.equal(parts.frames, shown.frames, `cut at byte ${cut}`);
        assert.equal(parts.malformedLines, shown.malformedLines, `cut at byte ${cut}`);
      }
    });

    test(`${title}: cut short anywhere, the stream never ends as if it were whole`, () => {
      for (let length = 0; length < bytes.length - 2; length += 7) {
        const cut = replay(upstream, [bytes.subarray(0, length)], options);
        if (cut.frames.includes('[DONE]')) assert.equal(cut.frames, whole().frames, `${length} bytes`);
        else assert.ok('failed' in cut.completion, `${length} bytes`);
      }
    });

    test(`${title}: a client that folds our stream gets our whole answer`, () => {
      const shown = whole();
      if ('failed' in shown.completion) assert.ok(!shown.frames.includes('[DONE]'));
      else assert.deepEqual(refold(shown.frames), withoutExtras(shown.completion));
    });
  }

  function requestFile(name: string): string | null {
    const files = [
      join(home, name, 'request.json'),
      ...(requests === null ? [] : [join(requests, name, 'request.json')]),
    ];
    return files.find((file) => existsSync(file)) ?? null;
  }

  function encode(name: string, request: string): EncodedRequest | Failure {
    const neutral = decodeRequest(openAiChat, JSON.parse(readFileSync(request, 'utf8')) as JsonObject);
    assert.ok(!isFailure(neutral), JSON.stringify(neutral));
    const file = join(home, name, 'target.json');
    const target = existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as { model: string; maxOutputTokens: number | null })
      : { model, maxOutputTokens: null };
    return upstream.encodeRequest(neutral, { ...target, stream: true, omit: [] });
  }

  /** What the case's request asks its answer's decoder to undo. */
  function decodeOptions(name: string, request: string): DecodeOptions | undefined {
    const encoded = encode(name, request);
    return isFailure(encoded) ? undefined : encoded.decode;
  }
}

function foldersOf(home: string): string[] {
  const folders = readdirSync(home, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders
    .map(({ name }) => name)
    .filter((name) => readdirSync(join(home, name)).some((file) => /^(request|answer)\./.test(file)));
}

function expectJson(file: string, actual: object): void {
  const text = JSON.stringify(actual, null, 2);
  if (process.env.CULVERT_WRITE_EXPECTED === '1') {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${text}\n`);
  }
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
  return withoutExtras(show(events).completion as JsonObject);
}

/** Members beside the published ones, which our own reader of this format leaves alone. */
function withoutExtras(completion: JsonObject): JsonObject {
  const extras = ['extra_content', 'reasoning_details'];
  return JSON.parse(JSON.stringify(completion), (key, value) => (extras.includes(key) ? undefined : value));
}
