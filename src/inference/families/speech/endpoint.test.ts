import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { FakeClient } from '../../../../test/fake-client.ts';
import { engineFailed } from '../../../engines/engine-error.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import { fault } from '../../../formats/neutral/outcome.ts';
import type { SpeechRequest } from '../../../formats/neutral/speech.ts';
import { systemClock } from '../../../kernel/clock.ts';
import type { RouteAttempt } from '../../../routing/route.ts';
import { soundEngineTarget } from '../../models/engine-target.ts';
import { Answer } from '../../spine/answer.ts';
import { recordAttempt } from '../../spine/attempts/contest.ts';
import { RefusedFormats } from '../../spine/attempts/refused-formats.ts';
import { newProgress } from '../../spine/held-call.ts';
import type { Job } from '../../spine/job.ts';
import { speechTrial } from './endpoint.ts';

const piece = Buffer.alloc(4_800, 1);

/** One try of an engine that speaks as the test says. */
function speak(
  engine: Pick<SpeechEngine, 'speak'>,
  { client = new FakeClient(), firstTokenMs = 60_000 }: { client?: FakeClient; firstTokenMs?: number } = {},
) {
  const usual = soundEngineTarget({ model: 'test' });
  const target = { ...usual, timeouts: { ...usual.timeouts, firstTokenMs } };
  const progress = newProgress();
  const job = {
    endpoint: 'speech',
    trace: null,
    client,
    sink: client,
    attemptsMade: null,
    progress,
    inputTokensEstimate: 3,
    deadlineMs: systemClock.monotonicMs() + 60_000,
    headers: [],
    costMilli: 1_000,
  } as unknown as Job;
  const request = { input: 'Hello.', characters: 6, speed: 1, format: 'pcm', delivery: 'audio' } as SpeechRequest;
  const source = { kind: 'engine', engine: engine as SpeechEngine } as const;
  const plan = { source, voice: { name: 'v', how: 'as asked' }, ask: 'pcm', tempo: null, losses: [] } as const;
  const attempt = { number: 1, target, credential: target.credentials[0]!, probe: false, startedMs: 0 } as RouteAttempt;
  const services = {
    clock: systemClock,
    transport: undefined as never,
    transcoder: { of: () => ({ transcode: () => new PassThrough() }) } as never,
    refusedFormats: new RefusedFormats(),
  };
  const run = { request, plans: new Map([[target, plan]]), form: 'streamed' } as const;
  const claim = () => {
    progress.answeredBy = attempt;
    return true;
  };
  const answer = new Answer({ clock: systemClock, job, route: { firstToken() {} }, claim }, attempt);
  const trial = speechTrial(services, job, run, answer);
  client.onDisconnect(() => trial.stop(fault('cancelled', 'left')));
  const ended = trial.run().then((found) => {
    recordAttempt(job, answer, trial.seen(progress.answeredBy === attempt, found), found, 0);
    return found;
  });
  return { client, progress, ended };
}

test('an engine is heard piece by piece, then the answer ends', async () => {
  const { client, progress, ended } = speak({
    async *speak() {
      yield piece;
      yield Buffer.alloc(0);
      yield piece;
    },
  });
  assert.equal(await ended, null);
  assert.deepEqual(client.chunks, [piece, piece]);
  assert.equal(client.ends, 1);
  assert.deepEqual([progress.delivered, progress.usage?.characters], ['whole', 6]);
});

test('F57: an engine that crashes before any sound leaves the request to the next target', async () => {
  const { client, progress, ended } = speak({
    // biome-ignore lint/correctness/useYield: it never comes to that
    async *speak() {
      throw engineFailed('the engine crashed');
    },
  });
  assert.equal((await ended)?.class, 'transient');
  assert.deepEqual([progress.delivered, client.chunks.length, progress.answeredBy], ['nothing', 0, null]);
});

test('F57: one that crashes in the middle does not end the answer as if it were whole', async () => {
  const { client, progress, ended } = speak({
    async *speak() {
      yield piece;
      throw engineFailed('the engine crashed');
    },
  });
  assert.equal((await ended)?.message, 'the engine crashed');
  assert.deepEqual([progress.delivered, client.ends], ['partial', 0]);
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
  const { client, progress, ended } = speak({
    async *speak({ signal }) {
      yield piece;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      stopped.resolve();
    },
  });
  while (client.chunks.length === 0) await new Promise(setImmediate);
  client.leave();
  assert.equal((await ended)?.class, 'cancelled');
  await stopped.promise;
  assert.equal(progress.usage?.characters, 6);
});

test('an engine makes no more than a slow reader takes', async () => {
  const client = new FakeClient();
  client.behind = true;
  let made = 0;
  const { ended } = speak(
    {
      async *speak() {
        for (; made < 3; made++) yield piece;
      },
    },
    { client },
  );
  while (client.chunks.length === 0) await new Promise(setImmediate);
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  assert.equal(made, 0);
  client.behind = false;
  client.catchUp();
  assert.equal(await ended, null);
  assert.equal(client.chunks.length, 3);
});

test('sound without an end is cut off', async () => {
  const large = Buffer.alloc(64 * 1024 * 1024);
  const { client, ended } = speak({
    async *speak() {
      for (;;) yield large;
    },
  });
  assert.equal((await ended)?.class, 'malformed');
  assert.deepEqual([client.chunks.length, client.ends], [8, 0]);
});
