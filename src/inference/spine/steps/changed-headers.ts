import { type Loss, lossHeader, lossHeaderName } from '../../../formats/neutral/loss.ts';
import type { Job } from '../job.ts';
import type { HeaderList } from '../sink.ts';

/* Headers of what is no usual answer: of refusals, and of answers that are kept or joined. A plain request enters none. */

/** Headers with another cost: the reserved amount is not always what a call costs, and a refused one costs nothing. */
export function withCost(headers: HeaderList, units: number): HeaderList {
  return headers.map((value, at) => (headers[at - 1] === 'x-culvert-cost' && at % 2 === 1 ? String(units) : value));
}

/** Headers with losses in addition to those that they name. */
export function withLosses(headers: HeaderList, losses: readonly Loss[]): HeaderList {
  const at = headers.indexOf(lossHeaderName);
  const named = at < 0 ? [] : (headers[at + 1] ?? '').split(', ');
  const added = lossHeader(losses)
    .split(', ')
    .filter((name) => name !== '' && !named.includes(name));
  if (added.length === 0) return headers;
  return at < 0
    ? [...headers, lossHeaderName, added.join(', ')]
    : headers.with(at + 1, [...named, ...added].join(', '));
}

/**
 * With a refusal instead of an answer: how much was tried, and that it was for nothing. `callersLimits`: headers with the
 * limits of the caller's credential.
 */
export function refusalHeaders(
  job: Pick<Job, 'headers' | 'attemptsMade' | 'progress'>,
  callersLimits: HeaderList = [],
): HeaderList {
  const limits = withoutNames(callersLimits, job.headers);
  return ['x-culvert-attempts', String(attemptsMade(job)), 'x-culvert-cost', '0', ...job.headers, ...limits];
}

/** The headers of a list whose names another one does not have. */
export function withoutNames(list: HeaderList, others: HeaderList): HeaderList {
  return list.filter((_, at) => !others.some((name, place) => place % 2 === 0 && name === list[at - (at % 2)]));
}

function attemptsMade(job: Pick<Job, 'attemptsMade' | 'progress'>): number {
  return job.attemptsMade?.() ?? job.progress.attempts.length;
}
