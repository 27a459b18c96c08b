import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { EngineError } from './engine-error.ts';
import { extrasFolderAt, markInstalled, reportProgress } from './extras/extras-folder.ts';
import { runtimePackage, runtimeVersion } from './extras/install-runtime.ts';
import { createLocalEngines } from './local-engines.ts';

function world(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), 'culvert-local-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  const clock = fakeClock();
  const bin = join(dataDir, 'bin');
  mkdirSync(bin);
  const local = createLocalEngines({
    dataDir,
    clock,
    decode: () => assert.fail('nothing is decoded here'),
    searchPath: bin,
  });
  t.after(() => local.close());
  const folder = extrasFolderAt(dataDir);
  return {
    local,
    clock,
    folder,
    installEspeak() {
      writeFileSync(join(bin, 'espeak-ng'), '#!/bin/sh\n');
      chmodSync(join(bin, 'espeak-ng'), 0o755);
    },
    install: (id: string) => markInstalled(folder, { id, repository: 'x/y', commit: null, files: [] }),
    installRuntime() {
      const file = join(folder.runtime, 'node_modules', runtimePackage, 'package.json');
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify({ version: runtimeVersion }));
    },
  };
}

const fault = (check: (fault: EngineError['fault']) => void) => (error: unknown) => {
  assert.ok(error instanceof EngineError);
  check(error.fault);
  return true;
};

test('a bare machine has the lexical model and nothing else; espeak-ng is found once it is installed', (t) => {
  const { local, installEspeak } = world(t);
  const before = local.look();
  assert.deepEqual([...before.embedding.keys()], ['culvert-lexical-1024']);
  assert.equal(before.speech.size + before.transcription.size, 0);
  installEspeak();
  assert.deepEqual([...local.look().speech.keys()], ['espeak-ng']);
});

test('what was added is found, before what was there, and its objects stay the same', (t) => {
  const { local, install, installEspeak } = world(t);
  installEspeak();
  install('kokoro-82m');
  install('bge-m3');
  install('whisper-base');
  const engines = local.look();
  assert.deepEqual([...engines.speech.keys()], ['kokoro-82m', 'espeak-ng']);
  assert.deepEqual([...engines.embedding.keys()], ['culvert-lexical-1024', 'bge-m3']);
  assert.deepEqual([...engines.transcription.keys()], ['whisper-base']);
  assert.equal(local.look().speech.get('kokoro-82m'), engines.speech.get('kokoro-82m'));
});

test('while a model is downloaded, it is busy: how much is there, and when to come again', async (t) => {
  const { local, folder, clock } = world(t);
  const wallMs = clock.wallMs();
  reportProgress(folder, 'bge-m3', { doneBytes: 430, totalBytes: 1_000, bytesPerS: 57, wallMs, pid: 1 });
  const engine = local.look().embedding.get('bge-m3')!;
  await assert.rejects(
    engine.embed('a', ['hello']),
    fault(({ class: is, status, message, retryAfterMs }) => {
      assert.deepEqual([is, status, retryAfterMs], ['rate_limited', 503, 10_000]);
      assert.match(message, /bge-m3 is being downloaded: 43% has arrived/);
    }),
  );
});

test('one that is neither there nor on its way says how to get it', async (t) => {
  const { local, folder, clock } = world(t);
  reportProgress(folder, 'bge-m3', { doneBytes: 0, totalBytes: 1_000, bytesPerS: 0, wallMs: clock.wallMs(), pid: 1 });
  const engine = local.look().embedding.get('bge-m3')!;
  reportProgress(folder, 'bge-m3', null);
  await assert.rejects(
    engine.embed('a', ['hello']),
    fault(({ class: is, message }) => {
      assert.equal(is, 'model_unavailable');
      assert.match(message, /culvert add embeddings --model bge-m3/);
    }),
  );
  assert.equal(local.look().embedding.has('bge-m3'), false);
});

test('Kokoro without espeak-ng says what to install', async (t) => {
  const { local, install, installRuntime } = world(t);
  install('kokoro-82m');
  installRuntime();
  const engine = local.look().speech.get('kokoro-82m')!;
  const spoken = { tenant: 'a', text: 'Hello.', voice: 'af_alloy', speed: 1, signal: new AbortController().signal };
  await assert.rejects(async () => {
    for await (const _ of engine.speak(spoken)) assert.fail('it spoke');
  }, /needs espeak-ng .*apt install espeak-ng/);
});
