import { seededRandom } from '../../src/kernel/random.ts';
import { createRoute } from '../../src/routing/create-route.ts';
import { createHealth } from '../../src/routing/health.ts';
import { createRetryBudget } from '../../src/routing/rolling-counts.ts';
import type { Route } from '../../src/routing/route.ts';
import { fakeClock } from '../fake-clock.ts';
import { queryOf, targetOf } from './routing-samples.ts';

/** How one target fails over the time of a run. */
export interface TargetFaults {
  credentials: number;
  /** Part of its calls that fail whenever it is up, 0 to 1. */
  share: number;
  /** Times in which every call fails. */
  outages: readonly { fromMs: number; forMs: number }[];
  /** Up and down in turns of so long; `odd` is down first. */
  turns: { windowMs: number; down: 'even' | 'odd' } | null;
  /** How it fails. */
  as: 'transient' | 'unreachable';
}

export interface FaultSchedule {
  targets: readonly TargetFaults[];
  requestsPerSecond: number;
  durationMs: number;
}

export interface Compared {
  requests: number;
  answered: number;
  /** How many the best possible policy answers, with as many attempts and the same luck. */
  bestAnswered: number;
  calls: number;
}

const attemptsMax = 4;
/** A target that fails more often need not be asked at all. */
const deadFrom = 0.8;
/** When everything fails more often, more attempts only multiply an outage. */
const hopelessFrom = 0.85;
const tenants = ['dev/laptop', 'dev/server', 'other/laptop'];
const answersAfterMs = 200;
const failsAfterMs = 40;

/**
 * Real routing on a clock of its own, beside a policy that knows how likely each target fails at each instant. Chance is
 * drawn once for each attempt of a request and serves both, so that only choices differ.
 */
export function againstBest(schedule: FaultSchedule, seed: number): Compared {
  const { targets, requestsPerSecond, durationMs } = schedule;
  const clock = fakeClock(1_000_000);
  const startMs = clock.monotonicMs();
  const now = () => clock.monotonicMs();
  const random = seededRandom(seed);
  const deps = { health: createHealth({ clock }), retryBudget: createRetryBudget(), random };
  const bestBudget = createRetryBudget();
  const asked = targets.map((one, index) =>
    targetOf(`p${index}/m`, { credentials: Array.from({ length: one.credentials }, (_, i) => `p${index}#${i}`) }),
  );
  const queries = tenants.map((tenant) => queryOf(asked, { tenant, attemptsMax }));
  const result: Compared = { requests: 0, answered: 0, bestAnswered: 0, calls: 0 };
  const agenda: { atMs: number; run: () => void }[] = [];

  function at(atMs: number, run: () => void): void {
    let i = agenda.length;
    while (i > 0 && agenda[i - 1]!.atMs <= atMs) i--;
    agenda.splice(i, 0, { atMs, run });
  }

  function arrive(): void {
    const query = queries[Math.floor(random.next() * queries.length)]!;
    const luck = Array.from({ length: attemptsMax }, () => random.next());
    result.requests++;
    if (bestAnswers(luck)) result.bestAnswered++;
    goOn(createRoute(query, { ...deps, nowMs: now() }), luck);
    const nextMs = now() - Math.log(1 - random.next()) * (1_000 / requestsPerSecond);
    if (nextMs < startMs + durationMs) at(nextMs, arrive);
  }

  /**
   * A target that answers now and then is asked before another is repeated: as a rule, failures of one request have a
   * cause that asking again does not remove. When hardly anything answers, further attempts draw on a budget.
   */
  function bestAnswers(luck: readonly number[]): boolean {
    bestBudget.requested('smart', now());
    const failing = targets.map((one) => failsAt(one, now() - startMs)).sort((a, b) => a - b);
    const lowest = failing[0]!;
    const fresh = failing.filter((share) => share <= deadFrom);
    return luck.some((one, index) => {
      if (index > 0 && lowest > hopelessFrom && !bestBudget.take('smart', now())) return false;
      return one >= (fresh[index] ?? lowest);
    });
  }

  function goOn(route: Route, luck: readonly number[]): void {
    const step = route.next(now());
    if (step.kind === 'exhausted') return;
    if (step.kind === 'wait') return at(now() + step.ms, () => goOn(route, luck));
    const { attempt, delayMs } = step;
    at(now() + delayMs, () => {
      result.calls++;
      const target = targets[asked.indexOf(attempt.target)]!;
      if (luck[attempt.number - 1]! >= failsAt(target, now() - startMs)) {
        at(now() + answersAfterMs, () => {
          result.answered++;
          route.firstToken(attempt, now());
          route.ended(attempt, { class: 'ok', retryAfterMs: null }, now());
        });
      } else {
        at(now() + failsAfterMs, () => {
          route.ended(attempt, { class: target.as, retryAfterMs: null }, now());
          goOn(route, luck);
        });
      }
    });
  }

  at(startMs, arrive);
  while (agenda.length > 0) {
    const { atMs, run } = agenda.pop()!;
    clock.advance(Math.max(0, atMs - now()));
    run();
  }
  return result;
}

/** 0 to 1. */
function failsAt({ share, outages, turns }: TargetFaults, sinceMs: number): number {
  if (turns !== null && (Math.floor(sinceMs / turns.windowMs) % 2 === 1) === (turns.down === 'odd')) return 1;
  return outages.some(({ fromMs, forMs }) => sinceMs >= fromMs && sinceMs < fromMs + forMs) ? 1 : share;
}
