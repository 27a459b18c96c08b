import { lossHeader } from '../neutral/loss.ts';
import type { RouteAttempt } from '../routing/route.ts';
import type { AnswerFacts } from './answer.ts';
import type { Job } from './job.ts';
import type { HeaderList } from './sink.ts';

/** The headers that say who answered, over how many attempts, for how much and with what left out (design §6). */
export function answerHeaders(
  job: Pick<Job, 'headers' | 'costMilli' | 'attemptsMade'>,
  attempt: RouteAttempt,
  facts: Omit<AnswerFacts, 'answer'>,
): HeaderList {
  const { target } = attempt;
  const headers = [
    'x-culvert-provider',
    headerSafe(target.provider),
    'x-culvert-model',
    headerSafe(target.model),
    'x-culvert-attempts',
    String(job.attemptsMade() + 1),
    ...costHeaders(job),
  ];
  const dropped = lossHeader(facts.losses);
  if (dropped !== null) headers.push('x-culvert-dropped', dropped);
  if (facts.answerType !== undefined) headers.push('content-type', facts.answerType);
  if (target.simulated) headers.push('x-culvert-simulated', 'true');
  return headers;
}

/** What is known before anybody has answered: limits, and what an answer will cost. */
export function costHeaders(job: Pick<Job, 'headers' | 'costMilli'>): HeaderList {
  return ['x-culvert-cost', String(job.costMilli / 1_000), ...job.headers];
}

/** With a refusal instead of an answer: how much was tried, and that it was for nothing. */
export function refusalHeaders(job: Pick<Job, 'headers' | 'attemptsMade'>): HeaderList {
  return ['x-culvert-attempts', String(job.attemptsMade()), 'x-culvert-cost', '0', ...job.headers];
}

/** Model ids come from upstreams: nothing but printable ASCII may stand in a header. */
function headerSafe(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}
