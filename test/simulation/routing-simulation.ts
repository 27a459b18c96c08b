import assert from 'node:assert/strict';
import type { OutcomeClass } from '../../src/formats/neutral/outcome.ts';
import { type Random, seededRandom } from '../../src/kernel/random.ts';
import { createRoute } from '../../src/routing/create-route.ts';
import { createHealth, type Health } from '../../src/routing/health.ts';
import { answerKindOf } from '../../src/routing/lane.ts';
import { createRetryBudget } from '../../src/routing/rolling-counts.ts';
import type { AttemptEnd, Route, RouteAttempt, RouteQuery } from '../../src/routing/route.ts';
import { createSilenceWatch, type Seen, type Watched } from '../../src/routing/silence.ts';
import { fakeClock } from '../fake-clock.ts';

/** End of one upstream call. */
export interface Ending {
  class: OutcomeClass;
  /** From dispatch. */
  afterMs: number;
  /** Null: no content before the end. */
  firstTokenMs?: number | null;
  /** From dispatch to its last chunk; null: chunks come until the end. */
  quietAfterMs?: number | null;
  retryAfterMs?: number;
}

export interface CallSeen {
  target: string;
  credential: string;
  atMs: number;
  probe: boolean;
  class: OutcomeClass;
}

export interface RequestSeen {
  tenant: string;
  atMs: number;
  endedMs: number;
  /** From its arrival to its first content; null: none came. */
  firstTokenMs: number | null;
  result: 'ok' | 'failed';
  attempts: number;
  /** The route's last word when it gave up. */
  reason: string | null;
}

export interface Simulation {
  /** Since the start of the run. */
  calls: CallSeen[];
  requests: RequestSeen[];
  health: Health;
}

export interface Scenario {
  query: RouteQuery;
  /** Requests come at random, this many a second on average. */
  requestsPerSecond: number;
  durationMs: number;
  /** The silence watch looks at running attempts, four times a second. */
  watched?: boolean;
  /** A request's overall time, by which attempts beside it begin; 10 min by default. */
  totalMs?: number;
  /** The caller; default: the query's tenant. `sinceMs` counts from the start of the run. */
  tenantOf?(sinceMs: number, random: Random): string;
  upstream(attempt: RouteAttempt, sinceMs: number, random: Random, tenant: string): Ending;
}

/**
 * Real routing on a clock of its own with scripted upstreams: everything follows from the seed. The rules of every step
 * are asserted here; a scenario's promises are for its test.
 */
export function simulate(scenario: Scenario, seed: number): Simulation {
  const clock = fakeClock(1_000_000);
  const startMs = clock.monotonicMs();
  const random = seededRandom(seed);
  const health = createHealth({ clock });
  const deps = { health, retryBudget: createRetryBudget(), random };
  const calls: CallSeen[] = [];
  const requests: RequestSeen[] = [];
  const running = new Set<RouteAttempt>();
  const spoken = new WeakSet<RouteAttempt>();
  const watch = createSilenceWatch(health);
  const agenda: { atMs: number; run: () => void }[] = [];

  function at(atMs: number, run: () => void): void {
    let i = agenda.length;
    while (i > 0 && agenda[i - 1]!.atMs <= atMs) i--;
    agenda.splice(i, 0, { atMs, run });
  }

  const now = () => clock.monotonicMs();

  function arrive(): void {
    const atMs = now();
    const tenant = scenario.tenantOf?.(atMs - startMs, random) ?? scenario.query.tenant;
    const route = createRoute({ ...scenario.query, tenant }, { ...deps, nowMs: atMs });
    goOn({ route, tenant, atMs, attempts: 0, firstTokenMs: null, answeredBy: null, live: new Set() });
    const nextMs = atMs - Math.log(1 - random.next()) * (1_000 / scenario.requestsPerSecond);
    if (nextMs < startMs + scenario.durationMs) at(nextMs, arrive);
  }

  interface Running {
    route: Route;
    tenant: string;
    atMs: number;
    attempts: number;
    firstTokenMs: number | null;
    answeredBy: Live | null;
    live: Set<Live>;
  }

  /** One upstream call that runs. */
  interface Live extends Watched {
    attempt: RouteAttempt;
    seen: Seen | null;
  }

  function finish(request: Running, result: 'ok' | 'failed', reason: string | null): void {
    requests.push({
      tenant: request.tenant,
      atMs: request.atMs - startMs,
      endedMs: now() - startMs,
      firstTokenMs: request.firstTokenMs,
      result,
      attempts: request.attempts,
      reason,
    });
  }

  function goOn(request: Running): void {
    const step = request.route.next(now());
    if (step.kind === 'exhausted') {
      finish(request, 'failed', step.reason);
      return;
    }
    if (step.kind === 'wait') {
      assert.ok(step.ms > 0 && step.ms <= 2_000, `a wait of ${step.ms} ms`);
      at(now() + step.ms, () => goOn(request));
      return;
    }
    begins(request, step.attempt);
    at(now() + step.delayMs, () => dispatch(request, step.attempt));
  }

  function begins(request: Running, attempt: RouteAttempt): void {
    request.attempts++;
    assert.ok(request.attempts <= scenario.query.attemptsMax, `attempt ${request.attempts}`);
    running.add(attempt);
  }

  /** As the silence watch sees it: a chunk every 50 ms from its first content to the instant at which it falls quiet. */
  function liveOf(request: Running, attempt: RouteAttempt, ending: Ending): Live {
    const atMs = now();
    const { firstTokenMs = null, quietAfterMs, afterMs } = ending;
    const live: Live = {
      attempt,
      seen: null,
      paused: false,
      get awaiting() {
        return request.answeredBy !== live;
      },
      get signs() {
        const spokenMs = Math.min(now() - atMs, quietAfterMs ?? afterMs) - (firstTokenMs ?? Number.POSITIVE_INFINITY);
        return spokenMs < 0 ? 0 : 1 + Math.floor(spokenMs / 50);
      },
    };
    request.live.add(live);
    if (!scenario.watched) return live;
    live.seen = watch.began({
      lane: attempt.lane,
      kind: answerKindOf(scenario.query.needs),
      startedMs: atMs,
      probe: attempt.probe,
      hedgeAfter: scenario.query.hedge.after,
      halfwayMs: atMs + (scenario.totalMs ?? 600_000) / 2,
      maxFirstTokenMs: attempt.target.maxFirstTokenMs ?? null,
      attempt: live,
      observer: {
        overdue(reason) {
          if (request.answeredBy !== null) return true;
          const beside = request.route.hedge(reason, now());
          if (beside === null) return false;
          begins(request, beside);
          dispatch(request, beside);
          return true;
        },
        stalled: () => request.route.stalled(attempt, now()),
      },
    });
    return live;
  }

  function ended(request: Running, live: Live, end: AttemptEnd): void {
    running.delete(live.attempt);
    request.live.delete(live);
    if (live.seen !== null) watch.ended(live.seen);
    request.route.ended(live.attempt, end, now());
  }

  function answers(request: Running, live: Live): void {
    if (request.answeredBy !== null) return;
    request.answeredBy = live;
    request.firstTokenMs = now() - request.atMs;
    spoken.add(live.attempt);
    request.route.firstToken(live.attempt, now());
    for (const other of request.live) {
      if (other !== live) ended(request, other, { class: 'cancelled', retryAfterMs: null, lost: true });
    }
  }

  function dispatch(request: Running, attempt: RouteAttempt): void {
    const atMs = now();
    const ending = scenario.upstream(attempt, atMs - startMs, random, request.tenant);
    const { target, credential, probe } = attempt;
    calls.push({ target: target.id, credential: credential.id, atMs: atMs - startMs, probe, class: ending.class });
    const firstTokenMs = ending.firstTokenMs ?? null;
    const live = liveOf(request, attempt, ending);
    if (firstTokenMs !== null) {
      at(atMs + firstTokenMs, () => {
        if (request.live.has(live)) answers(request, live);
      });
    }
    at(atMs + ending.afterMs, () => {
      if (!request.live.has(live)) return;
      ended(request, live, { class: ending.class, retryAfterMs: ending.retryAfterMs ?? null });
      // Neither a missing ability nor a lack of room is an attempt.
      if (ending.class === 'not_capable' || ending.class === 'too_long') request.attempts--;
      if (ending.class === 'ok') finish(request, 'ok', null);
      else if (request.answeredBy === live) finish(request, 'failed', 'broke off');
      else if (request.live.size === 0) goOn(request);
    });
  }

  function check(): void {
    const probes = new Set<string>();
    const inFlight = new Map<string, number>();
    for (const attempt of running) {
      const { target, credential, probe } = attempt;
      const lane = `${target.id} ${credential.id}`;
      inFlight.set(lane, (inFlight.get(lane) ?? 0) + 1);
      // A probe that has shown content may go on for long: another one may begin then.
      if (!probe || spoken.has(attempt)) continue;
      assert.ok(!probes.has(lane), `two probes at once of ${lane}`);
      probes.add(lane);
    }
    for (const lane of health.snapshot(now())) {
      assert.equal(
        lane.inFlight,
        inFlight.get(`${lane.target} ${lane.credential}`) ?? 0,
        `in flight on ${lane.target}`,
      );
    }
  }

  function look(): void {
    watch.look(now());
    if (now() < startMs + scenario.durationMs || running.size > 0) at(now() + 250, look);
  }

  at(startMs, arrive);
  if (scenario.watched) at(startMs, look);
  let steps = 0;
  while (agenda.length > 0) {
    const { atMs, run } = agenda.pop()!;
    clock.advance(Math.max(0, atMs - now()));
    run();
    check();
    assert.ok(steps++ < 500_000, 'the run does not come to an end');
  }
  assert.equal(running.size, 0);
  for (const lane of health.snapshot(now())) assert.equal(lane.inFlight, 0, 'in flight at idle');
  return { calls, requests, health };
}

/** Runs the promise for each of `count` seeds, or for `SIMULATION_SEED` alone; a failure names its seed. */
export function forEachSeed(count: number, promised: (seed: number) => void): void {
  const one = process.env.SIMULATION_SEED;
  const seeds = one === undefined ? Array.from({ length: count }, (_, i) => i + 1) : [Number(one)];
  for (const seed of seeds) {
    try {
      promised(seed);
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      throw new Error(`SIMULATION_SEED=${seed} replays this: ${what}`, { cause: error });
    }
  }
}
