import assert from 'node:assert/strict';
import { renameSync, symlinkSync } from 'node:fs';
import { after, type TestContext, test } from 'node:test';
import { findEspeak } from '../../src/engines/espeak.ts';
import { extrasFolderAt, reportProgress } from '../../src/engines/extras/extras-folder.ts';
import { runtimeInstalled } from '../../src/engines/extras/install-runtime.ts';
import { testRuntime } from '../onnx/tiny-models.ts';
import { writeTinyWhisper } from '../onnx/tiny-whisper.ts';
import { startGateway } from '../start-gateway.ts';

const gateway = await startGateway({ after: after as TestContext['after'] }, {}, { env: { PATH: process.env.PATH } });
const folder = extrasFolderAt(gateway.dataDir);

const needsEspeak = { skip: findEspeak() === null ? 'espeak-ng is not installed (npm run setup:test-tools)' : false };
const needsRuntime = {
  skip:
    needsEspeak.skip ||
    (runtimeInstalled({ ...folder, runtime: testRuntime })
      ? false
      : 'the packages that run models are not there (npm run setup:test-tools)'),
};

const say = (input: string) =>
  gateway.fetch('/v1/audio/speech', {
    method: 'POST',
    json: { model: 'espeak-ng', voice: 'alloy', input, response_format: 'wav' },
  });

test('espeak-ng speaks through the gateway, and says that it did', needsEspeak, async () => {
  const answer = await say('Hello world.');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'audio/wav');
  const wav = Buffer.from(await answer.arrayBuffer());
  assert.equal(wav.toString('latin1', 0, 4), 'RIFF');
  assert.ok(wav.length > 24_000);
});

test('while a model comes, its capability answers 503 with the percentage and when to come again', async () => {
  reportProgress(folder, 'bge-m3', { doneBytes: 43, totalBytes: 100, bytesPerS: 10, wallMs: Date.now(), pid: 1 });
  await gateway.reload({});
  const answer = await gateway.fetch('/v1/embeddings', { method: 'POST', json: { model: 'bge-m3', input: 'hello' } });
  const { error } = (await answer.json()) as { error: { message: string } };
  assert.equal(answer.status, 503, error.message);
  assert.match(error.message, /bge-m3 is being downloaded: 43% has arrived/);
  assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  reportProgress(folder, 'bge-m3', null);
});

test('speech of espeak-ng is written down by a model that was added while the server ran', needsRuntime, async () => {
  writeTinyWhisper(folder);
  // Its name when its decoder has 8 bits.
  renameSync(folder.model('tiny-whisper'), folder.model('whisper-base'));
  renameSync(
    folder.file('whisper-base', 'onnx/decoder_model_merged.onnx'),
    folder.file('whisper-base', 'onnx/decoder_model_merged_quantized.onnx'),
  );
  symlinkSync(testRuntime, folder.runtime);
  await gateway.reload({});

  const form = new FormData();
  form.set('model', 'whisper-base');
  form.set('response_format', 'verbose_json');
  form.set('language', 'en');
  for (const one of ['word', 'segment']) form.append('timestamp_granularities[]', one);
  form.set('file', new Blob([await (await say('Hello world.')).arrayBuffer()]), 'speech.wav');
  const answer = await gateway.fetch('/v1/audio/transcriptions', { method: 'POST', body: form });
  assert.equal(answer.status, 200, await answer.clone().text());
  const { text, words, segments, language } = (await answer.json()) as Record<string, unknown> & {
    words: { word: string }[];
    segments: { start: number; end: number }[];
  };
  assert.equal(text, 'hello world.');
  assert.deepEqual(
    words.map(({ word }) => word),
    ['hello', 'world.'],
  );
  assert.equal(segments.length, 1);
  assert.ok(['en', 'english'].includes(language as string));
});
