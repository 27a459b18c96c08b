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
function over(seconds: number, hear: (fromS: number, seconds: number, order: TranscribeOrder) => TranscribedWindow) {
  const asked: { fromS: number; seconds: number; language: string | null }[] = [];
  const sound = Float32Array.from({ length: seconds * rateHz }, (_, at) => at / rateHz);
  let ended = false;
  const child: Pick<EngineChild, 'ask'> = {
    async ask<Answer>(_tenant: string, given: object): Promise<Answer> {
      const order = given as TranscribeOrder;
      const window = { fromS: order.samples[0] ?? 0, seconds: order.samples.length / rateHz };
      asked.push({ ...window, language: order.language });
      return hear(window.fromS, window.seconds, order) as Answer;
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
    asked,
    hear: (language: string | null = 'en') => all(engine.transcribe({ ...file, language })),
    engine,
    file,
    ended: () => ended,
  };
}

const said = (startS: number, endS: number, text: string) => ({ startS, endS, text, words: null });

test('a segment that the end of a window cuts is heard again, whole, by the next', async () => {
  const { asked, hear } = over(45, (fromS) =>
    fromS === 0
      ? { language: 'en', segments: [said(0, 12, ' One.'), said(12, 26, ' Two.'), said(26, 30, ' Thr')] }
      : { language: 'en', segments: [said(0, 9, ' Three.'), said(9, 19, ' Four.')] },
  );
  assert.deepEqual(
    (await hear()).map(({ startS, endS, text }) => [startS, endS, text]),
    [
      [0, 12, ' One.'],
      [12, 26, ' Two.'],
      [26, 35, ' Three.'],
      [35, 45, ' Four.'],
    ],
  );
  assert.deepEqual(
    asked.map(({ fromS, seconds }) => [fromS, seconds]),
    [
      [0, 30],
      [26, 19],
    ],
  );
});

test('windows go on through silence, and through one long segment', async () => {
  const { asked, hear } = over(95, (fromS) => ({
    language: 'en',
    segments: fromS === 30 ? [] : [said(0, 30, ` from ${fromS}`)],
  }));
  assert.deepEqual(
    (await hear()).map(({ startS, text }) => [startS, text]),
    [
      [0, ' from 0'],
      [60, ' from 60'],
      [90, ' from 90'],
    ],
  );
  assert.equal(asked.length, 4);
});

test('a sound of exactly one window is asked once', async () => {
  const { asked, hear } = over(30, () => ({ language: 'en', segments: [said(0, 5, ' One.'), said(5, 30, ' Two.')] }));
  assert.equal((await hear()).length, 2);
  assert.equal(asked.length, 1);
});

test('the language that the first window was found to be in is that of the file', async () => {
  const { asked, hear } = over(70, (fromS, _, { language }) => ({
    language: language ?? 'de',
    segments: [said(0, 30, ` from ${fromS}`)],
  }));
  const segments = await hear(null);
  assert.deepEqual(
    asked.map(({ language }) => language),
    [null, 'de', 'de'],
  );
  assert.ok(segments.every(({ language }) => language === 'de'));
});

test('whoever takes no more segments ends the decoding', async () => {
  const { engine, file, ended } = over(200, (fromS) => ({ language: 'en', segments: [said(0, 30, ` from ${fromS}`)] }));
  for await (const _ of engine.transcribe({ ...file, language: 'en' })) break;
  assert.equal(ended(), true);
});
