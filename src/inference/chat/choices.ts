import type { RouteCandidate } from '../routing/route.ts';
import type { ContestParts, Job } from '../spine/job.ts';
import { runAttempts } from '../spine/run-attempts.ts';
import { type Choices, fanOutMax, runFanOut } from './fan-out.ts';

/** How many calls `n` choices may take over these targets, each of which costs: one where all of them give n at once. */
export function callsOf(n: number, candidates: readonly RouteCandidate[]): number {
  if (n === 1 || candidates.every(({ target }) => target.capabilities.nativeN)) return 1;
  return Math.min(n, fanOutMax);
}

/**
 * `n` > 1: targets that give several choices in one call first; when none of them answers, or there is none, the
 * others by one call a choice.
 */
export async function runChoices(parts: ContestParts, job: Job, choices: Choices): Promise<void> {
  const native = job.candidates.filter(({ target }) => target.capabilities.nativeN);
  const single = job.candidates.filter(({ target }) => !target.capabilities.nativeN);
  const fanOut = () =>
    runFanOut(
      parts,
      { ...job, candidates: single, newRoute: () => job.routeOver(single, 1, Number.POSITIVE_INFINITY) },
      choices,
    );
  if (native.length === 0) return fanOut();
  // All in one call.
  job.progress.calls = 1;
  if (single.length === 0) return runAttempts(parts, job);
  await runAttempts(parts, {
    ...job,
    candidates: native,
    costMilli: job.costMilli / callsOf(choices.body.facts.n, job.candidates),
    // Once each: to repeat one is worse than to go on with the others.
    newRoute: () => job.routeOver(native, choices.body.facts.n, native.length),
    lastResort: fanOut,
  });
}
