import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { EngineError } from './engine-error.ts';
import { createEspeak, findEspeak } from './espeak.ts';
import { createEspeakSpeech } from './espeak-speech.ts';
import type { SpeechEngine } from './speech-engine.ts';

const found = findEspeak();
const needsEspeak = { skip: found === null ? 'espeak-ng is not installed (npm run setup:test-tools)' : false };

const never = new AbortController().signal;

async function sound(engine: SpeechEngine, text: string, options: { voice?: string; speed?: number } = {}) {
  const pieces: Buffer[] = [];
  for await (const piece of engine.speak({ tenant: 'a', text, voice: 'en-us', speed: 1, signal: never, ...options })) {
    assert.equal(piece.length % 2, 0);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

const seconds = (pcm: Buffer) => pcm.length / 2 / 22_050;

function loudness(pcm: Buffer): number {
  let sum = 0;
  for (let at = 0; at < pcm.length; at += 2) sum += pcm.readInt16LE(at) ** 2;
  return Math.sqrt(sum / (pcm.length / 2));
}

test('a sentence is heard, at 22.05 kHz, as long as somebody would take to say it', needsEspeak, async () => {
  const engine = createEspeakSpeech(createEspeak(found!));
  const pcm = await sound(engine, 'The quick brown fox jumps over the lazy dog.');
  assert.ok(seconds(pcm) > 1.5 && seconds(pcm) < 5, `${seconds(pcm)} s`);
  assert.ok(loudness(pcm) > 500);
});

test('speed makes it shorter and longer', needsEspeak, async () => {
  const engine = createEspeakSpeech(createEspeak(found!));
  const text = 'The quick brown fox jumps over the lazy dog.';
  const [slow, usual, fast] = [
    seconds(await sound(engine, text, { speed: 0.5 })),
    seconds(await sound(engine, text)),
    seconds(await sound(engine, text, { speed: 2 })),
  ];
  assert.ok(slow! > 1.5 * usual! && usual! > 1.5 * fast!, `${slow} ${usual} ${fast}`);
});

test('all its voices speak, and the six standard ones are among them', needsEspeak, async () => {
  const engine = createEspeakSpeech(createEspeak(found!));
  assert.deepEqual(Object.keys(engine.standardVoices), ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']);
  for (const voice of engine.voices) {
    assert.ok(loudness(await sound(engine, '1, 2, 3.', { voice })) > 300, `${voice} is silent`);
  }
});

test('the first sentence is heard before the second is made', needsEspeak, async () => {
  const made: string[] = [];
  const real = createEspeak(found!);
  const engine = createEspeakSpeech({
    run(tenant, args, text, signal) {
      made.push(text);
      return real.run(tenant, args, text, signal);
    },
  });
  const text = 'This is the first sentence of two. And this one is the second of them.';
  const speaking = engine.speak({ tenant: 'a', text, voice: 'en-us', speed: 1, signal: never })[Symbol.asyncIterator]();
  await speaking.next();
  assert.deepEqual(made, ['This is the first sentence of two.']);
  await speaking.return?.();
});

test('text that looks like an option or like phonemes is read as text', needsEspeak, async () => {
  const engine = createEspeakSpeech(createEspeak(found!));
  for (const text of ['--version', '-f /etc/hostname', '[[h@l@U]]', 'a\u0000b']) {
    assert.ok(seconds(await sound(engine, text)) > 0.2, text);
  }
});

test('a text without a word in it is a fault and no empty file', needsEspeak, async () => {
  const engine = createEspeakSpeech(createEspeak(found!));
  await assert.rejects(sound(engine, ' \n '), EngineError);
});

test('another voice than those that it has is a fault', async () => {
  const engine = createEspeakSpeech({ run: async () => Buffer.alloc(0) });
  await assert.rejects(sound(engine, 'Hello.', { voice: 'af_heart' }), /no voice 'af_heart'/);
});

/** An espeak-ng that does something else. */
function scripted(t: TestContext, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-espeak-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'espeak-ng');
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

test('57: an espeak-ng that hangs is killed and is a fault', async (t) => {
  let ring = () => {};
  const espeak = createEspeak(scripted(t, 'exec sleep 1000'), (_, then) => {
    ring = then;
    return () => {};
  });
  const run = espeak.run('a', [], 'Hello.', never);
  // Its turn comes in a tick.
  await new Promise((resolve) => setImmediate(resolve));
  ring();
  await assert.rejects(run, /hung for 20 s and was killed/);
});

test('57: an espeak-ng that is killed, or fails, is a fault', async (t) => {
  await assert.rejects(createEspeak(scripted(t, 'kill -9 $$')).run('a', [], 'Hello.', never), /SIGKILL/);
  await assert.rejects(createEspeak(scripted(t, 'exit 3')).run('a', [], 'Hello.', never), /exit code 3/);
  await assert.rejects(createEspeak('/nowhere/espeak-ng').run('a', [], 'Hello.', never), /apt install espeak-ng/);
});

test('57: only so many wait for espeak-ng; the next is refused at once', async (t) => {
  const espeak = createEspeak(scripted(t, 'exec sleep 1000'));
  const leaving = new AbortController();
  const runs = Array.from({ length: 4 + 64 }, () => espeak.run('a', [], 'Hello.', leaving.signal));
  for (const run of runs) run.catch(() => {});
  await assert.rejects(espeak.run('a', [], 'Hello.', never), /as many as one key may have/);
  leaving.abort(new Error('left'));
  for (const run of runs) await assert.rejects(run, /left/);
});

test('whoever leaves stops it', async (t) => {
  const leaving = new AbortController();
  const run = createEspeak(scripted(t, 'exec sleep 1000')).run('a', [], 'Hello.', leaving.signal);
  leaving.abort(new Error('left'));
  await assert.rejects(run, /left/);
});

test('it is found where PATH says, and nowhere else', (t) => {
  const file = scripted(t, 'exit 0');
  assert.equal(findEspeak(`/nowhere::${join(file, '..')}`), file);
  assert.equal(findEspeak('/nowhere'), null);
  assert.equal(findEspeak(''), null);
});
