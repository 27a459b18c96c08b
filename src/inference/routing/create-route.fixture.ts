import assert from 'node:assert/strict';
import { fakeClock } from '../../kernel/clock.ts';
import { seededRandom } from '../../kernel/random.ts';
import type { OutcomeClass } from '../neutral/outcome.ts';
import { createRoute } from './create-route.ts';
import { createHealth } from './health.ts';
import { createRetryBudget } from './rolling-counts.ts';
import type { AttemptEnd, Route, RouteAttempt, RouteQuery, RouteStep } from './route.ts';

export function setUp() {
  const clock = fakeClock();
  const health = createHealth({ clock });
  const deps = { health, retryBudget: createRetryBudget(), random: seededRandom(11) };
  const now = () => clock.monotonicMs();
  const route = (query: RouteQuery) => createRoute(query, { ...deps, nowMs: now() });
  const end = (of: Route, attempt: RouteAttempt, outcome: OutcomeClass, more: Partial<AttemptEnd> = {}) =>
    of.ended(attempt, { class: outcome, retryAfterMs: null, ...more }, now());
  function fails(of: Route, outcome: OutcomeClass = 'transient', more: Partial<AttemptEnd> = {}): RouteAttempt {
    const attempt = attemptOf(of.next(now()));
    end(of, attempt, outcome, more);
    return attempt;
  }
  /** One request of one attempt each. */
  function failTimes(count: number, query: RouteQuery, outcome: OutcomeClass = 'transient'): void {
    for (let i = 0; i < count; i++) fails(route({ ...query, alias: 'failing', attemptsMax: 1 }), outcome);
  }
  /** Ten failures of this target alone close it out for 1 s. */
  const open = (query: RouteQuery) => failTimes(10, query);
  return { clock, health, now, route, end, fails, failTimes, open, next: (of: Route) => of.next(now()) };
}

export function attemptOf(step: RouteStep): RouteAttempt {
  assert.equal(step.kind, 'attempt');
  return (step as Extract<RouteStep, { kind: 'attempt' }>).attempt;
}

export const ids = (attempts: readonly RouteAttempt[]) => attempts.map(({ target }) => target.id);
