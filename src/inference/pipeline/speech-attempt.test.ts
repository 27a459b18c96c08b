import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { systemClock } from '../../kernel/clock.ts';
import { engineFailed } from '../engines/engine-error.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { SpeechRequest } from '../neutral/speech.ts';
import type { RouteAttempt } from '../routing/route.ts';
import type { Caller } from './caller.ts';
import { soundEngineTarget } from './engine-target.ts';
import { type Job, newProgress } from './job.ts';
import { speakAt } from './speech-attempt.ts';

const piece = Buffer.alloc(4_800, 1);

/** A caller who keeps what it gets. */
function listener(): Caller & { heard: Buffer[]; ended: boolean; leave(): void; catchUp(): void; behind: boolean } {
  let gone: () => void = () => {};
  let drain: () => void = () => {};
  return {
    gone: false,
    committed: false,
    heard: [],
    ended: false,
    behind: false,
    onGone: (told) => {
      gone = told;
    },
    onDrain: (told) => {
      drain = told;
    },
    leave: () => gone(),
    catchUp: () => drain(),
    startStream() {},
    write(sound) {
      this.heard.push(sound as Buffer);
      return !this.behind;
    },
    endStream() {
      this.ended = true;
    },
    answer() {},
    refuse() {},
    expectStream() {},
    failStream() {},
  };
}

/** One try of an engine that speaks as the test says. */
function speak(
  engine: Pick<SpeechEngine, 'speak'>,
  { caller = listener(), firstTokenMs = 60_000 }: { caller?: ReturnType<typeof listener>; firstTokenMs?: number } = {},
) {
  const usual = soundEngineTarget({ model: 'test' });
  const target = { ...usual, timeouts: { ...usual.timeouts, firstTokenMs } };
  const progress = newProgress();
  const job = {
    caller,
    progress,
    inputTokensEstimate: 3,
    deadlineMs: systemClock.monotonicMs() + 60_000,
    headers: [],
    costMilli: 1_000,
    attemptsMade: () => progress.attempts.length,
  } as unknown as Job;
  const request = { input: 'Hello.', characters: 6, speed: 1, format: 'pcm', delivery: 'audio' } as SpeechRequest;
  const source = { kind: 'engine', engine: engine as SpeechEngine } as const;
  const plan = { source, voice: { name: 'v', how: 'as asked' }, ask: 'pcm', tempo: null, losses: [] } as const;
  const attempt = { number: 1, target, credential: target.credentials[0]!, probe: false, startedMs: 0 } as RouteAttempt;
  const services = {
    clock: systemClock,
    transport: undefined as never,
    transcoder: { of: () => ({ transcode: () => new PassThrough() }) } as never,
  };
  const run = { request, plans: new Map([[target, plan]]), form: 'streamed' } as const;
  const route = { firstToken() {} } as never;
  return { caller, progress, ended: speakAt(services, job, run, attempt, route) };
}

test('an engine is heard piece by piece, then the answer ends', async () => {
  const { caller, progress, ended } = speak({
    async *speak() {
      yield piece;
      yield Buffer.alloc(0);
      yield piece;
    },
  });
  assert.equal(await ended, null);
  assert.deepEqual(caller.heard, [piece, piece]);
  assert.equal(caller.ended, true);
  assert.deepEqual([progress.delivered, progress.usage?.characters], ['whole', 6]);
});

test('F57: an engine that crashes before any sound leaves the request to the next target', async () => {
  const { caller, progress, ended } = speak({
    // biome-ignore lint/correctness/useYield: it never comes to that
    async *speak() {
      throw engineFailed('the engine crashed');
    },
  });
  assert.equal((await ended)?.class, 'transient');
  assert.deepEqual([progress.delivered, caller.heard.length, progress.answeredBy], ['nothing', 0, null]);
});

test('F57: one that crashes in the middle does not end the answer as if it were whole', async () => {
  const { caller, progress, ended } = speak({
    async *speak() {
      yield piece;
      throw engineFailed('the engine crashed');
    },
  });
  assert.equal((await ended)?.message, 'the engine crashed');
  assert.deepEqual([progress.delivered, caller.ended], ['partial', false]);
});

test('F57: one that hangs is left behind, though it hears no signal', async () => {
  let told = false;
  const { ended } = speak(
    {
      speak({ signal }) {
        signal.addEventListener('abort', () => {
          told = true;
        });
        return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
      },
    },
    { firstTokenMs: 5 },
  );
  assert.equal((await ended)?.class, 'stall_first_token');
  assert.equal(told, true);
});

test('an engine that says nothing at all is malformed', async () => {
  const { ended } = speak({ async *speak() {} });
  assert.equal((await ended)?.class, 'malformed');
});

test('a caller who leaves stops the engine', async () => {
  const stopped = Promise.withResolvers<void>();
  const { caller, progress, ended } = speak({
    async *speak({ signal }) {
      yield piece;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      stopped.resolve();
    },
  });
  while (caller.heard.length === 0) await new Promise(setImmediate);
  caller.leave();
  assert.equal((await ended)?.class, 'cancelled');
  await stopped.promise;
  assert.equal(progress.usage?.characters, 6);
});

test('an engine makes no more than a slow reader takes', async () => {
  const caller = listener();
  caller.behind = true;
  let made = 0;
  const { ended } = speak(
    {
      async *speak() {
        for (; made < 3; made++) yield piece;
      },
    },
    { caller },
  );
  while (caller.heard.length === 0) await new Promise(setImmediate);
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  assert.equal(made, 0);
  caller.behind = false;
  caller.catchUp();
  assert.equal(await ended, null);
  assert.equal(caller.heard.length, 3);
});

test('sound without an end is cut off', async () => {
  const large = Buffer.alloc(64 * 1024 * 1024);
  const { caller, ended } = speak({
    async *speak() {
      for (;;) yield large;
    },
  });
  assert.equal((await ended)?.class, 'malformed');
  assert.deepEqual([caller.heard.length, caller.ended], [8, false]);
});
