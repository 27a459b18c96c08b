import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpeechDetector, sampleRateHz } from './speech-detector.ts';

/** Sound of one loudness, of 1 at most. */
function soundOf(ms: number, loudness: number): Buffer {
  const samples = (ms * sampleRateHz) / 1_000;
  const sound = Buffer.alloc(samples * 2);
  for (let at = 0; at < samples; at++)
    sound.writeInt16LE(Math.round((at % 2 === 0 ? 1 : -1) * loudness * 32_767), at * 2);
  return sound;
}

const quiet = (ms: number) => soundOf(ms, 0.011);
const loud = (ms: number) => soundOf(ms, 0.013);
const msOf = ({ length }: Buffer) => length / 48;

/** What is detected in sound that comes in pieces of so many bytes. */
function detectedIn(parts: Buffer[], { prefixMs = 40, soundMaxMs = 10_000, pieceBytes = 1_001 } = {}) {
  const detector = new SpeechDetector({ silenceMs: 100, prefixMs }, soundMaxMs);
  const bytes = Buffer.concat(parts);
  const found: unknown[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes)
    for (const one of detector.push(bytes.subarray(at, at + pieceBytes)))
      found.push(one.kind === 'begins' ? ['begins', one.atMs] : ['ends', one.atMs, msOf(one.sound)]);
  return found;
}

test('speech begins after 60 ms of sound, and ends with its silence; the sound before it belongs to it', () => {
  const parts = [quiet(200), loud(300), quiet(400), loud(80), quiet(100)];
  for (const pieceBytes of [2, 959, 960, 1_001, 1_000_000])
    assert.deepEqual(detectedIn(parts, { pieceBytes }), [
      ['begins', 200],
      ['ends', 600, 440],
      ['begins', 900],
      ['ends', 1_080, 220],
    ]);
  assert.deepEqual(detectedIn([quiet(200), loud(100), quiet(100)], { prefixMs: 0 }).at(-1), ['ends', 400, 200]);
});

test('a click and a quiet room are no speech, and a short pause is no end', () => {
  assert.deepEqual(detectedIn([loud(40), quiet(20), loud(40), quiet(500)]), []);
  assert.deepEqual(detectedIn([loud(100), quiet(80), loud(20), quiet(80), loud(20)]), [['begins', 0]]);
});

test('speech that is too long ends too, and goes on as the next', () => {
  assert.deepEqual(detectedIn([loud(1_000)], { soundMaxMs: 400 }), [
    ['begins', 0],
    ['ends', 400, 400],
    ['begins', 400],
    ['ends', 800, 400],
    ['begins', 800],
  ]);
});
