// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TranscribedWindow, TranscribeOrder } from './child/transcribe-whisper.ts';
import type { EngineChild } from './engine-child.ts';
import { createWhisperTranscription } from './whisper-transcription.ts';

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) taken.push(item);
  return taken;
}

const rateHz = 16_000;

/** An engine whose sound says, in every sample, at which second it is; `hear` is the model. */
function over(
  seconds: number,
  transcribe: (fromS: number, seconds: number, order: TranscribeOrder) => TranscribedWindow,
) {
  const windows: { fromS: number; seconds: number; language: string | null }[] = [];
  const sound = Float32Array.from({ length: seconds * rateHz }, (_, at) => at / rateHz);
  let ended = false;
  const child: Pick<EngineChild, 'ask'> = {
    async ask<Answer>(_tenant: string, given: object): Promise<Answer> {
      const order = given as TranscribeOrder;
      const window = { fromS: order.samples[0] ?? 0, seconds: order.samples.length / rateHz };
      windows.push({ ...window, language: order.language });
      return transcribe(window.fromS, window.seconds, order) as Answer;
    },
  };
  const engine = createWhisperTranscription({
    model: 'whisper',
    ready() {},
    child: child as EngineChild,
    async *decode() {
      try {
        for (let at = 0; at < sound.length; at += 7_000) yield sound.subarray(at, at + 7_000);
      } finally {
        ended = true;
      }
    },
  });
  const signal = new AbortController().signal;
  const file = { tenant: 'a', path: '', prompt: null, task: 'as-spoken', words: 'not-needed', signal } as const;
  return {
    windows,
    transcribe: (language: string | null = 'en') => all(engine.transcribe({ ...file, language })),
    engine,
    file,
    ended: () => ended,
  };
}

const segment = (startS: number, endS: number, text: string) => ({ startS, endS, text, words: null });

test('a segment that the end of a window cuts is heard again, whole, by the next', async () => {
  const { windows, transcribe } = over(45, (fromS) =>
    fromS === 0
      ? { language: 'en', segments: [segment(0, 12, ' One.'), segment(12, 26, ' Two.'), segment(26, 30, ' Thr')] }
      : { language: 'en', segments: [segment(0, 9, ' Three.'), segment(9, 19, ' Four.')] },
  );
  assert.deepEqual(
    (await transcribe()).map(({ startS, endS, text }) => [startS, endS, text]),
    [
      [0, 12, ' One.'],
      [12, 26, ' Two.'],
      [26, 35, ' Three.'],
      [35, 45, ' Four.'],
    ],
  );
  assert.deepEqual(
    windows.map(({ fromS, seconds }) => [fromS, seconds]),
    [
      [0, 30],
      [26, 19],
    ],
  );
});

test('windows go on through silence, and through one long segment', async () => {
  const { windows, transcribe } = over(95, (fromS) => ({
    language: 'en',
    segments: fromS === 30 ? [] : [segment(0, 30, ` from ${fromS}`)],
  }));
  assert.deepEqual(
    (await transcribe()).map(({ startS, text }) => [startS, text]),
    [
      [0, ' from 0'],
      [60, ' from 60'],
      [90, ' from 90'],
    ],
  );
  assert.equal(windows.length, 4);
});

test('a sound of exactly one window is asked once', async () => {
  const { windows, transcribe } = over(30, () => ({
    language: 'en',
    segments: [segment(0, 5, ' One.'), segment(5, 30, ' Two.')],
  }));
  assert.equal((await transcribe()).length, 2);
  assert.equal(windows.length, 1);
});

test('the language that the first window was found to be in is that of the file', async () => {
  const { windows, transcribe } = over(70, (fromS, _, { language }) => ({
    language: language ?? 'de',
    segments: [segment(0, 30, ` from ${fromS}`)],
  }));
  const segments = await transcribe(null);
  assert.deepEqual(
    windows.map(({ language }) => language),
    [null, 'de', 'de'],
  );
  assert.ok(segments.every(({ language }) => language === 'de'));
});

test('whoever takes no more segments ends the decoding', async () => {
  const { engine, file, ended } = over(200, (fromS) => ({
    language: 'en',
    segments: [segment(0, 30, ` from ${fromS}`)],
  }));
  for await (const _ of engine.transcribe({ ...file, language: 'en' })) break;
  assert.equal(ended(), true);
});
