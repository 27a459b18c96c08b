import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClient } from '../../../../test/fake-client.ts';
import { AudioFault } from '../../../engines/audio/audio-fault.ts';
import { engineBusy } from '../../../engines/engine-error.ts';
import type {
  TranscribedSegment,
  TranscriptionEngine,
  TranscriptionInput,
} from '../../../engines/transcription-engine.ts';
import { readTranscriptionRequest } from '../../../formats/media/transcription/read-request.ts';
import { fault as faultOf } from '../../../formats/neutral/outcome.ts';
import { systemClock } from '../../../kernel/clock.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { RouteAttempt } from '../../../routing/route.ts';
import { soundEngineTarget } from '../../models/engine-target.ts';
import { Answer } from '../../spine/answer.ts';
import { newProgress } from '../../spine/held-call.ts';
import type { Job } from '../../spine/job.ts';
import { TranscriptionEngineTrial } from './endpoint.ts';
import type { UploadedSound } from './uploaded-sound.ts';

const spoken: TranscribedSegment[] = [
  {
    startS: 0,
    endS: 1.25,
    text: ' Hello',
    words: [{ word: ' Hello', startS: 0.1, endS: 1.25 }],
    language: 'en',
  },
  { startS: 1.25, endS: 2, text: ' there. ', words: [{ word: ' there.', startS: 1.25, endS: 2 }], language: 'en' },
];

test('what an engine finds is told in every form; what it does not tell is null', async () => {
  assert.deepEqual(await answered({}), { text: 'Hello there.' });
  assert.equal(await answered({ response_format: 'text' }), 'Hello there.\n');
  assert.equal(
    await answered({ response_format: 'srt' }),
    '1\n00:00:00,000 --> 00:00:01,250\nHello\n\n2\n00:00:01,250 --> 00:00:02,000\nthere.\n\n',
  );
  const verbose = await answered({ response_format: 'verbose_json', 'timestamp_granularities[]': 'word' });
  assert.deepEqual(verbose, {
    task: 'transcribe',
    language: 'en',
    duration: 2.5,
    text: 'Hello there.',
    words: [
      { word: ' Hello', start: 0.1, end: 1.25 },
      { word: ' there.', start: 1.25, end: 2 },
    ],
    usage: { type: 'duration', seconds: 2.5 },
  });
});

test('an engine is told the language, the prompt and whether words are wanted', async () => {
  const { asked } = await ask({ language: 'de', prompt: 'names' }, speaks(spoken), 'transcribe');
  const { signal: _, tenant: __, ...told } = asked[0]!;
  assert.deepEqual(told, { path: '/sound', language: 'de', prompt: 'names', task: 'as-spoken', words: 'not-needed' });
  const english = await ask(
    { response_format: 'verbose_json', 'timestamp_granularities[]': 'word' },
    speaks(spoken),
    'translate',
  );
  assert.deepEqual([english.asked[0]!.task, english.asked[0]!.words], ['english', 'wanted']);
});

test('a stream has each segment as it is found; together they are the whole text', async () => {
  const { frames, fault, job } = await ask({ stream: 'true' }, speaks(spoken));
  assert.equal(fault, null);
  const events = frames.map((frame) => JSON.parse(frame.slice(6)) as { type: string; delta?: string; text?: string });
  assert.deepEqual(
    events.map(({ type, delta, text }) => [type, delta ?? text]),
    [
      ['transcript.text.delta', 'Hello'],
      ['transcript.text.delta', ' there.'],
      ['transcript.text.done', 'Hello there.'],
    ],
  );
  assert.equal(job.progress.delivered, 'whole');
});

test('an engine that fails before any text leaves the caller to the next target, and its own reason stays', async () => {
  const busy = await ask({}, fails(engineBusy('whisper is being downloaded: 40 % has come', 5_000)));
  assert.deepEqual([busy.fault?.class, busy.fault?.retryAfterMs], ['rate_limited', 5_000]);
  assert.equal(busy.job.progress.delivered, 'nothing');
  const damaged = await ask({}, fails(new AudioFault('unreadable', 'has no audio in it')));
  assert.deepEqual([damaged.fault?.class, damaged.fault?.status, damaged.fault?.param], ['caller_fault', 400, 'file']);
  const crashed = await ask({ stream: 'true' }, fails(new Error('it died'), spoken.slice(0, 1)));
  assert.deepEqual([crashed.fault?.class, crashed.job.progress.delivered], ['transient', 'partial']);
});

test('F57 an engine that hangs is left behind when its caller leaves, and told so', async () => {
  const told = Promise.withResolvers<void>();
  const hangs: TranscriptionEngine['transcribe'] = ({ signal }) => ({
    [Symbol.asyncIterator]: () => ({
      next: () => {
        signal.addEventListener('abort', () => told.resolve());
        return new Promise(() => {});
      },
    }),
  });
  const { fault } = await ask({}, hangs, 'transcribe', 'leaves');
  assert.equal(fault?.class, 'cancelled');
  await told.promise;
});

test('F57 an engine that hangs is left behind at the deadline', async () => {
  const hangs: TranscriptionEngine['transcribe'] = () => ({
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
  });
  const { fault } = await ask({}, hangs, 'transcribe', 'waits', 20);
  assert.equal(fault?.class, 'deadline');
});

async function answered(fields: Record<string, string>): Promise<unknown> {
  const { body, fault } = await ask(fields, speaks(spoken));
  assert.equal(fault, null);
  return body.startsWith('{') ? JSON.parse(body) : body;
}

function speaks(segments: readonly TranscribedSegment[]): TranscriptionEngine['transcribe'] {
  return async function* () {
    yield* segments;
  };
}

function fails(error: Error, before: readonly TranscribedSegment[] = []): TranscriptionEngine['transcribe'] {
  return async function* () {
    yield* before;
    throw error;
  };
}

async function ask(
  fields: Record<string, string>,
  transcribe: TranscriptionEngine['transcribe'],
  task: 'transcribe' | 'translate' = 'transcribe',
  patience: 'waits' | 'leaves' = 'waits',
  deadlineMs = 60_000,
) {
  const asked: TranscriptionInput[] = [];
  const client = new FakeClient();
  const read = readTranscriptionRequest(
    Object.entries({ model: 'm', ...fields }).map(([name, value]) => ({ name, value })),
    task,
  );
  assert.ok(!isFailure(read), JSON.stringify(read));
  const engine: TranscriptionEngine = {
    model: 'm',
    translates: true,
    transcribe(file) {
      asked.push(file);
      if (patience === 'leaves') setImmediate(() => trial.stop(faultOf('cancelled', 'left')));
      return transcribe(file);
    },
  };
  const job = {
    client,
    sink: client,
    attemptsMade: null,
    progress: newProgress(),
    deadlineMs: systemClock.monotonicMs() + deadlineMs,
    headers: [],
    costMilli: 1_000,
    inputTokensEstimate: 0,
  } as unknown as Job;
  const target = soundEngineTarget({ model: 'm' });
  const attempt = { target, credential: target.credentials[0], startedMs: systemClock.monotonicMs() } as RouteAttempt;
  const sound = { path: '/sound', durationMs: async () => 2_500 } as UploadedSound;
  const run = { request: read, sound, plans: new Map() };
  const answer = new Answer({ clock: systemClock, job, route: { firstToken() {} }, claim: () => true }, attempt);
  const trial = new TranscriptionEngineTrial({ services: { clock: systemClock }, job, run, engine, answer });
  const fault = await trial.run();
  return { asked, frames: client.chunks.map(String), body: client.text, fault, job };
}
