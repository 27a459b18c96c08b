import assert from 'node:assert/strict';
import type { OutcomeClass } from '../../src/inference/neutral/outcome.ts';
import { createRoute } from '../../src/inference/routing/create-route.ts';
import { createHealth, type Health } from '../../src/inference/routing/health.ts';
import { createRetryBudget } from '../../src/inference/routing/rolling-counts.ts';
import type { Route, RouteAttempt, RouteQuery } from '../../src/inference/routing/route.ts';
import { fakeClock } from '../../src/kernel/clock.ts';
import { type Random, seededRandom } from '../../src/kernel/random.ts';

/** End of one upstream call. */
export interface Ending {
  class: OutcomeClass;
  /** From dispatch. */
  afterMs: number;
  /** Null: no content before the end. */
  firstTokenMs?: number | null;
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
    goOn({ route, tenant, atMs, attempts: 0 });
    const nextMs = atMs - Math.log(1 - random.next()) * (1_000 / scenario.requestsPerSecond);
    if (nextMs < startMs + scenario.durationMs) at(nextMs, arrive);
  }

  interface Running {
    route: Route;
    tenant: string;
    atMs: number;
    attempts: number;
  }

  function finish(request: Running, result: 'ok' | 'failed', reason: string | null): void {
    requests.push({
      tenant: request.tenant,
      atMs: request.atMs - startMs,
      endedMs: now() - startMs,
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
    request.attempts++;
    assert.ok(request.attempts <= scenario.query.attemptsMax, `attempt ${request.attempts}`);
    running.add(step.attempt);
    at(now() + step.delayMs, () => dispatch(request, step.attempt));
  }

  function dispatch(request: Running, attempt: RouteAttempt): void {
    const atMs = now();
    const ending = scenario.upstream(attempt, atMs - startMs, random, request.tenant);
    const { target, credential, probe } = attempt;
    calls.push({ target: target.id, credential: credential.id, atMs: atMs - startMs, probe, class: ending.class });
    const firstTokenMs = ending.firstTokenMs ?? null;
    if (firstTokenMs !== null) at(atMs + firstTokenMs, () => request.route.firstToken(attempt, now()));
    at(atMs + ending.afterMs, () => {
      running.delete(attempt);
      request.route.ended(attempt, { class: ending.class, retryAfterMs: ending.retryAfterMs ?? null }, now());
      // Neither a missing ability nor a lack of room is an attempt.
      if (ending.class === 'not_capable' || ending.class === 'too_long') request.attempts--;
      if (ending.class === 'ok') finish(request, 'ok', null);
      else goOn(request);
    });
  }

  function check(): void {
    const probes = new Set<string>();
    const inFlight = new Map<string, number>();
    for (const { target, credential, probe } of running) {
      const lane = `${target.id} ${credential.id}`;
      inFlight.set(lane, (inFlight.get(lane) ?? 0) + 1);
      // A probe whose first content has come is over; the scenarios' probes show content only as they end.
      if (!probe) continue;
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

  at(startMs, arrive);
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
