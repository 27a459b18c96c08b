import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClient } from '../../../../test/fake-client.ts';
import { queryOf } from '../../../../test/simulation/routing-samples.ts';
import { systemClock } from '../../../kernel/clock.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { AttemptRecord, Route, RouteAttempt, RouteStep, UpstreamLimit } from '../../../routing/route.ts';
import type { SilenceWatch } from '../../../routing/silence.ts';
import { StreamedAnswer } from '../answer.ts';
import { newProgress } from '../held-call.ts';
import type { Job, PreparedBody } from '../job.ts';
import { Attempt } from './attempt.ts';
import type { MakeTrial } from './contest.ts';
import { runAttempts } from './run-attempts.ts';
import type { Trial } from './trial.ts';

test('F17 a caller who leaves while the request is being converted: nothing is sent, the attempt is given back', async () => {
  const ended: string[] = [];
  const client = new FakeClient();
  let converted: (trial: Trial) => void = () => undefined;
  const job = jobWith(client);
  const makeTrial = () =>
    new Promise<Trial>((resolve) => {
      converted = resolve;
    });
  const route = routeOnce((outcome) => ended.push(outcome));
  const running = runAttempts({ clock: systemClock } as never, job, { trial: makeTrial }, route);
  client.leave();
  converted({ run: () => assert.fail('it was sent') } as unknown as Trial);
  await running;
  assert.deepEqual(ended, ['cancelled']);
  assert.equal(job.progress.class, 'aborted');
  assert.equal(job.progress.status, 499);
});

function routeOnce(ended: (outcome: string) => void): Route {
  const attempt = {
    number: 1,
    target: {
      id: 'up/model',
      provider: 'up',
      model: 'model',
      timeouts: { connectMs: 50, firstTokenMs: 50, idleMs: 50, totalMs: 50 },
    },
    credential: { id: 'up' },
    lane: {},
    probe: false,
    atMs: 0,
    startedMs: 0,
  } as unknown as RouteAttempt;
  let asked = 0;
  return {
    next: () =>
      asked++ === 0
        ? { kind: 'attempt', attempt, delayMs: 0 }
        : { kind: 'exhausted', soonestMs: null, reason: 'attempts-spent', unmet: [], limitedBy: null },
    ended: (_, end) => ended(end.class),
    hedge: () => null,
    firstToken() {},
    untried: () => false,
    stalled() {},
    verdicts: () => [],
  };
}

function jobWith(client: FakeClient): Job {
  return {
    requestId: 'req_test',
    endpoint: 'chat',
    trace: null,
    tenant: 'dev/test',
    query: queryOf([]),
    user: null,
    client,
    sink: client,
    bound: null,
    given: null,
    attemptsMade: null,
    stream: true,
    inputTokensEstimate: 1,
    atMs: 0,
    startedMs: systemClock.monotonicMs(),
    isCallersDeadline: false,
    deadlineMs: systemClock.monotonicMs() + 1_000,
    headers: [],
    costMilli: 0,
    callerHeaders: {},
    providers: new Map([['up', { connection: { provider: { id: 'openai' } } } as never]]),
    progress: newProgress(),
  };
}

test('F56 an error of ours before anything is sent ends that request, and leaves no timer behind', async () => {
  const timersBefore = timersRunning();
  const ended: string[] = [];
  const parts = { clock: systemClock, transport: {}, silence: unwatched } as never;
  const job = jobWith(new FakeClient());
  // The fake connection holds no credentials, so that addressing the request throws.
  const makeTrial: MakeTrial = (answer) => {
    const body = { bytes: '{}', streamed: true } as unknown as PreparedBody;
    const sink = new StreamedAnswer(answer, { losses: [], answer: 'pass-through' });
    return new Attempt(parts, job, answer.attempt, body, sink);
  };
  const route = routeOnce((outcome) => ended.push(outcome));
  await assert.rejects(runAttempts(parts, job, { trial: makeTrial }, route), TypeError);
  assert.deepEqual([...new Set(ended)], ['cancelled']);
  assert.equal(job.progress.status, 500);
  assert.equal(timersRunning(), timersBefore);
});

const unwatched: SilenceWatch = {
  began: (entry) => ({ entry, signs: 0, hedged: false, stalled: false, contentAtMs: -1, longestGapMs: 0, at: 0 }),
  ended() {},
  look() {},
};

function timersRunning(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

/** The caller's refusal when the route gives up at once, after attempts of these classes. */
async function refusedWith(
  soonestMs: number | null,
  classes: readonly string[] = [],
  limitedBy: readonly UpstreamLimit[] | null = null,
): Promise<Failure> {
  const client = new FakeClient();
  const exhausted: RouteStep = { kind: 'exhausted', soonestMs, reason: 'unavailable', unmet: [], limitedBy };
  const job = jobWith(client);
  const route = { ...routeOnce(() => {}), next: () => exhausted };
  for (const outcome of classes)
    job.progress.attempts.push({ provider: 'up', class: outcome, message: outcome } as AttemptRecord);
  await runAttempts({ clock: systemClock } as never, job, { trial: () => assert.fail('nothing is sent') }, route);
  assert.equal(client.ends, 1);
  return client.failed!.failure;
}

test('503 with the exact time only when nothing could be tried, or all of it was rate-limited', async () => {
  for (const classes of [[], ['rate_limited', 'rate_limited']]) {
    const failure = await refusedWith(1_400, classes);
    assert.deepEqual([failure.kind, (failure as { retryAfterMs?: number }).retryAfterMs], ['no-target', 1_400]);
    assert.match((failure as { message: string }).message, /Retry in 2 s/);
  }
  assert.equal((await refusedWith(1_400, ['rate_limited', 'unreachable'])).kind, 'upstreams-failed');
  assert.equal((await refusedWith(null, ['rate_limited'])).kind, 'upstreams-failed', 'it can be tried again now');
});

test('429 when providers alone say so, and 503 for what this machine waits for', async () => {
  const limits = [
    { provider: 'up', message: 'answered 429: slow down' },
    { provider: 'down', message: null },
  ];
  for (const classes of [[], ['rate_limited'], ['caller_fault', 'rate_limited']]) {
    const failure = await refusedWith(1_400, classes, limits);
    assert.ok(failure.kind === 'upstreams-limited' && failure.retryAfterMs === 1_400);
    assert.match(failure.message, /\(up: answered 429: slow down; down: rate-limited\).*Try again in 2s\./);
  }
  const own = [...limits, { provider: 'culvert', message: '40 % of the voice are here' }];
  assert.equal((await refusedWith(1_400, [], own)).kind, 'no-target');
  assert.equal((await refusedWith(1_400, ['rate_limited', 'transient'], limits)).kind, 'upstreams-failed');
});
