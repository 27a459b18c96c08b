import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainNeeds } from '../../../test/simulation/routing-samples.ts';
import { systemClock } from '../../kernel/clock.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Lane } from '../routing/lane.ts';
import type { AttemptRecord, Route, RouteAttempt, RouteStep } from '../routing/route.ts';
import type { SilenceWatch } from '../routing/silence.ts';
import type { UpstreamRequest } from '../transport/upstream-call.ts';
import type { Caller } from './caller.ts';
import { type Job, newProgress, type PreparedBody } from './job.ts';
import { nothingFetched } from './request-media.ts';
import { runAttempts } from './run-attempts.ts';

test('F17 a caller who leaves while the request is being converted: nothing is sent, the attempt is given back', async () => {
  const sent: UpstreamRequest[] = [];
  const ended: string[] = [];
  const caller = fakeCaller();
  let converted: (body: PreparedBody) => void = () => undefined;
  const job = jobWith(caller, {
    route: routeOnce((outcome) => ended.push(outcome)),
    prepare: () =>
      new Promise((resolve) => {
        converted = resolve;
      }),
  });
  const running = runAttempts(
    { clock: systemClock, transport: { send: (request: UpstreamRequest) => record(sent, request) } } as never,
    job,
  );
  caller.leave();
  converted({ bytes: '{}', streamed: true, answer: 'pass-through', losses: [] } as unknown as PreparedBody);
  await running;
  assert.deepEqual(sent, []);
  assert.deepEqual(ended, ['cancelled']);
  assert.equal(job.progress.class, 'aborted');
  assert.equal(job.progress.status, 499);
});

function record(sent: UpstreamRequest[], request: UpstreamRequest) {
  sent.push(request);
  return { abort() {}, pause() {}, resume() {} };
}

function fakeCaller(): Caller & { leave(): void } {
  let listener = () => {};
  const caller = {
    gone: false,
    committed: false,
    onGone(next: () => void) {
      listener = next;
    },
    onDrain() {},
    answer() {},
    refuse(_: Failure) {},
    expectStream() {},
    startStream() {},
    write: () => true,
    endStream() {},
    failStream() {},
    leave() {
      caller.gone = true;
      listener();
    },
  };
  return caller;
}

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
    probe: false,
    startedMs: 0,
  } as unknown as RouteAttempt;
  let asked = 0;
  return {
    next: () =>
      asked++ === 0
        ? { kind: 'attempt', attempt, delayMs: 0 }
        : { kind: 'exhausted', soonestMs: null, reason: 'attempts-spent', unmet: [] },
    ended: (_, end) => ended(end.class),
    hedge: () => null,
    laneOf: () => ({}) as Lane,
    firstToken() {},
    verdicts: () => [],
  };
}

function jobWith(caller: Caller, parts: { route: Route; prepare: Job['prepare'] }): Job {
  return {
    requestId: 'req_1',
    tenant: 'dev/test',
    alias: 'chat',
    user: null,
    caller,
    newRoute: () => parts.route,
    lastResort: null,
    bound: null,
    candidates: [],
    routeOver: () => parts.route,
    needs: plainNeeds,
    hedgeAfter: null,
    stream: true,
    includeUsage: false,
    inputTokensEstimate: 1,
    deadlineMs: systemClock.monotonicMs() + 1_000,
    headers: [],
    costMilli: 0,
    callerHeaders: {},
    providers: new Map([['up', { connection: { provider: { id: 'openai' } } } as never]]),
    prepare: parts.prepare,
    media: nothingFetched,
    sink: () => ({ add: () => '', result: () => '' }),
    progress: newProgress(),
    attemptsMade: () => 0,
  };
}

test('F56 an error of ours before anything is sent ends that request, and leaves no timer behind', async () => {
  const timersBefore = timersRunning();
  const ended: string[] = [];
  const job = jobWith(fakeCaller(), {
    route: routeOnce((outcome) => ended.push(outcome)),
    // The fake connection holds no credentials, so that addressing the request throws.
    prepare: () => ({ bytes: '{}', streamed: true, answer: 'pass-through', losses: [] }) as unknown as PreparedBody,
  });
  await assert.rejects(runAttempts({ clock: systemClock, transport: {}, silence: unwatched } as never, job), TypeError);
  assert.deepEqual([...new Set(ended)], ['cancelled']);
  assert.equal(job.progress.status, 500);
  assert.equal(timersRunning(), timersBefore);
});

const unwatched: SilenceWatch = { began: (entry) => ({ entry, signs: 0, asked: false, at: 0 }), ended() {}, look() {} };

function timersRunning(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

/** What the caller is refused with when the route gives up so at once, after attempts of these classes. */
async function refusedWith(soonestMs: number | null, classes: readonly string[] = []): Promise<Failure> {
  const found: Failure[] = [];
  const caller = { ...fakeCaller(), refuse: (failure: Failure) => void found.push(failure) };
  const exhausted: RouteStep = { kind: 'exhausted', soonestMs, reason: 'unavailable', unmet: [] };
  const job = jobWith(caller, {
    route: { ...routeOnce(() => {}), next: () => exhausted },
    prepare: () => assert.fail('nothing is sent'),
  });
  for (const outcome of classes)
    job.progress.attempts.push({ provider: 'up', class: outcome, message: outcome } as AttemptRecord);
  await runAttempts({ clock: systemClock, transport: {}, silence: unwatched } as never, job);
  assert.equal(found.length, 1);
  return found[0]!;
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
