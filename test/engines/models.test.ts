import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { findEspeak } from '../../src/engines/espeak.ts';
import { extrasFolderAt } from '../../src/engines/extras/extras-folder.ts';
import { runtimeInstalled } from '../../src/engines/extras/install-runtime.ts';
import { createLocalEngines, type LocalEnginesOptions } from '../../src/engines/local-engines.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import {
  kokoroSamplesAToken,
  testRuntime,
  tinyEmbedding,
  tinyKokoro,
  writeTinyEmbedding,
  writeTinyKokoro,
} from '../onnx/tiny-models.ts';

const missing = !runtimeInstalled({ ...extrasFolderAt(''), runtime: testRuntime })
  ? 'the packages that run models are not there (npm run setup:test-tools)'
  : false;
const needsRuntime = { skip: missing };
const needsEspeak = { skip: missing || (findEspeak() === null ? 'espeak-ng is not installed' : false) };

function engines(t: TestContext, options: Partial<LocalEnginesOptions> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'culvert-models-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const local = createLocalEngines({
    dataDir,
    clock: systemClock,
    decode: () => assert.fail('nothing is decoded here'),
    runtime: testRuntime,
    manifests: [tinyEmbedding, tinyKokoro],
    ...options,
  });
  t.after(() => local.close());
  return { local, folder: extrasFolderAt(dataDir) };
}

const signal = new AbortController().signal;
const rounded = (rows: Float32Array) => [...rows].map((value) => Math.round(value * 1_000) / 1_000);

test(
  'an added model makes vectors in a child process: the mean of its tokens, of length 1',
  needsRuntime,
  async (t) => {
    const { local, folder } = engines(t);
    writeTinyEmbedding(folder);
    const engine = local.look().embedding.get('tiny-embedding')!;
    assert.equal(engine.dimensions, 4);
    const rows = await engine.embed('a', ['red', 'Red blue', 'green green blue', 'what']);
    const half = Math.round(Math.SQRT1_2 * 1_000) / 1_000;
    assert.deepEqual(rounded(rows), [1, 0, 0, 0, half, 0, half, 0, 0, 0.894, 0.447, 0, 0, 0, 0, 1]);
    // Padding of a batch must not show: alone it is the same.
    assert.deepEqual(rounded(await engine.embed('a', ['red'])), [1, 0, 0, 0]);
    const many = await engine.embed(
      'a',
      Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? 'red' : 'blue')),
    );
    assert.equal(many.length, 200);
    assert.deepEqual(rounded(many.subarray(196)), [0, 0, 1, 0]);
  },
);

test('Kokoro speaks phonemes of espeak-ng, with the row of its voice that fits the length', needsEspeak, async (t) => {
  const { local, folder } = engines(t);
  writeTinyKokoro(folder);
  const engine = local.look().speech.get('kokoro-82m')!;
  assert.ok(Object.values(engine.standardVoices).every((voice) => engine.voices.includes(voice)));
  const pieces: Buffer[] = [];
  const text = 'The first sentence is this one. And the second sentence is this.';
  for await (const piece of engine.speak({ tenant: 'a', text, voice: 'af_alloy', speed: 2, signal }))
    pieces.push(piece);
  // One piece for each sentence.
  assert.equal(pieces.length, 2);
  for (const piece of pieces) {
    const tokens = piece.length / 2 / kokoroSamplesAToken;
    assert.ok(Number.isInteger(tokens) && tokens > 20, `${tokens} tokens`);
    // Two of them frame the text; the row says how high, the speed halves it.
    assert.equal(piece.readInt16LE(0), Math.round(((tokens - 2) / 1_000 / 2) * 32_767));
  }
});

test('a model that is damaged fails its orders, with a sentence', needsRuntime, async (t) => {
  const { local, folder } = engines(t);
  writeTinyEmbedding(folder);
  rmSync(folder.file('tiny-embedding', 'onnx/model.onnx'));
  const engine = local.look().embedding.get('tiny-embedding')!;
  await assert.rejects(engine.embed('a', ['red']), /tiny-embedding could not be loaded: /);
});
