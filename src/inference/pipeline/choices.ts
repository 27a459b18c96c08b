import type { AnswerHead, CallerDialect } from '../dialects/dialect.ts';
import type { ConversationBody } from './conversation-body.ts';
import { runFanOut } from './fan-out.ts';
import type { AttemptParts, Job } from './job.ts';
import { runAttempts } from './run-attempts.ts';

/**
 * `n` > 1: targets that give several choices in one call first; when none of them answers, or there is none, the
 * others by one call a choice.
 */
export async function runChoices(
  parts: AttemptParts,
  job: Job,
  body: ConversationBody,
  answer: { dialect: CallerDialect; head: AnswerHead },
): Promise<void> {
  const native = job.candidates.filter(({ target }) => target.capabilities.nativeN);
  const single = job.candidates.filter(({ target }) => !target.capabilities.nativeN);
  const fanOut = () =>
    runFanOut(
      parts,
      { ...job, candidates: single, newRoute: () => job.routeOver(single, 1, Number.POSITIVE_INFINITY) },
      body,
      answer,
    );
  if (native.length === 0) return fanOut();
  if (single.length === 0) return runAttempts(parts, job);
  await runAttempts(parts, {
    ...job,
    candidates: native,
    // Once each: to repeat one is worse than to go on with the others.
    newRoute: () => job.routeOver(native, body.facts.n, native.length),
    lastResort: fanOut,
  });
}
