/**
 * CPU of one route in the common case: created, first target, first token, ended well, verdicts told.
 * `node bench/routing/next.ts` prints ns a request, collections included.
 */

import { systemClock } from '../../src/kernel/clock.ts';
import { seededRandom } from '../../src/kernel/random.ts';
import { createRoute } from '../../src/routing/create-route.ts';
import { createHealth } from '../../src/routing/health.ts';
import { createRetryBudget } from '../../src/routing/rolling-counts.ts';
import type { RouteQuery } from '../../src/routing/route.ts';
import { queryOf, targetOf } from '../../test/simulation/routing-samples.ts';

const rounds = 5;
const requests = 200_000;

const random = seededRandom(1);
const health = createHealth({ clock: systemClock });
const retryBudget = createRetryBudget();

const queries: Record<string, RouteQuery> = {
  '1 target': queryOf([targetOf('a/m')]),
  '2 targets': queryOf([targetOf('a/m'), targetOf('b/m')]),
  '3 targets, 2 tiers': queryOf([targetOf('a/m'), targetOf('b/m'), targetOf('c/m', { priority: 2 })]),
  '3 targets, affinity': queryOf([targetOf('a/m'), targetOf('b/m'), targetOf('c/m')], { conversation: 'hello' }),
  '2 targets, 3 credentials each': queryOf([
    targetOf('d/m', { credentials: ['d#0', 'd#1', 'd#2'] }),
    targetOf('e/m', { credentials: ['e#0', 'e#1', 'e#2'] }),
  ]),
};

/** Ms of monotonic time; moves a little with each request, as under load. */
let nowMs = 1_000;

function oneRequest(query: RouteQuery): number {
  nowMs += 0.2;
  const route = createRoute(query, { health, retryBudget, random, nowMs });
  const step = route.next(nowMs);
  if (step.kind !== 'attempt') throw new Error(step.kind);
  route.firstToken(step.attempt, nowMs + 1);
  route.ended(step.attempt, { class: 'ok', retryAfterMs: null }, nowMs + 1);
  return route.verdicts().length;
}

for (const [name, query] of Object.entries(queries)) {
  for (let i = 0; i < requests; i++) oneRequest(query);
  let bestNs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const startNs = process.hrtime.bigint();
    for (let i = 0; i < requests; i++) oneRequest(query);
    bestNs = Math.min(bestNs, Number(process.hrtime.bigint() - startNs) / requests);
  }
  console.log(`${name.padEnd(30)} ${bestNs.toFixed(0).padStart(6)} ns`);
}
