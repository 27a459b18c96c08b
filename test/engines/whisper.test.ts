import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { extrasFolderAt } from '../../src/engines/extras/extras-folder.ts';
import { runtimeInstalled } from '../../src/engines/extras/install-runtime.ts';
import { createLocalEngines } from '../../src/engines/local-engines.ts';
import type { TranscribedSegment, TranscriptionInput } from '../../src/engines/transcription-engine.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { testRuntime, tinyWhisper } from '../onnx/tiny-models.ts';
import { writeTinyWhisper } from '../onnx/tiny-whisper.ts';

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) taken.push(item);
  return taken;
}

const needsRuntime = {
  skip: !runtimeInstalled({ ...extrasFolderAt(''), runtime: testRuntime })
    ? 'the packages that run models are not there (npm run setup:test-tools)'
    : false,
};

/** Three seconds. */
const loud = Float32Array.from({ length: 48_000 }, (_, at) => Math.sin(at * at * 1e-4) * 0.8);
const silent = new Float32Array(48_000);

function whisper(t: TestContext, sound: Float32Array) {
  const dataDir = mkdtempSync(join(tmpdir(), 'culvert-whisper-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  writeTinyWhisper(extrasFolderAt(dataDir));
  const local = createLocalEngines({
    dataDir,
    clock: systemClock,
    async *decode() {
      for (let at = 0; at < sound.length; at += 10_000) yield sound.subarray(at, at + 10_000);
    },
    runtime: testRuntime,
    manifests: [tinyWhisper],
  });
  t.after(() => local.close());
  const engine = local.look().transcription.get('tiny-whisper')!;
  return async (options: Partial<TranscriptionInput> = {}): Promise<TranscribedSegment[]> =>
    all(
      engine.transcribe({
        tenant: 'a',
        path: '/nowhere',
        language: 'en',
        prompt: null,
        task: 'as-spoken',
        words: 'not-needed',
        signal: new AbortController().signal,
        ...options,
      }),
    );
}

test('Whisper says what was said and when', needsRuntime, async (t) => {
  const heard = await whisper(t, loud)();
  assert.deepEqual(heard, [{ startS: 0, endS: 2, text: ' hello world.', words: null, language: 'en' }]);
});

test('it times words where they are wanted', needsRuntime, async (t) => {
  const [segment, ...others] = await whisper(t, loud)({ words: 'wanted' });
  assert.deepEqual(others, []);
  assert.equal(segment!.text, ' hello world.');
  assert.deepEqual(
    segment!.words!.map(({ word }) => word),
    ['hello', 'world.'],
  );
  const times = segment!.words!.flatMap(({ startS, endS }) => [startS, endS]);
  assert.deepEqual(
    times,
    times.toSorted((one, other) => one - other),
  );
  assert.ok(times.every((seconds) => seconds >= 0 && seconds <= 3));
});

test('it says it in English where that is asked', needsRuntime, async (t) => {
  const heard = await whisper(t, loud)({ language: 'de', task: 'english' });
  assert.deepEqual(heard, [{ startS: 0.2, endS: 1, text: ' in English', words: null, language: 'de' }]);
});

test('it finds out the language from the sound, which the package alone would not', needsRuntime, async (t) => {
  assert.equal((await whisper(t, loud)({ language: null }))[0]!.language, 'de');
  assert.equal((await whisper(t, silent)({ language: null }))[0]!.language, 'en');
});
