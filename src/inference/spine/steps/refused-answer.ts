import type { FinishReason, NeutralEvent } from '../../../formats/neutral/event.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { type Failure, statusOf } from '../../../kernel/failure.ts';
import type { Answer } from '../answer.ts';
import type { Job } from '../job.ts';
import type { HeaderList, Sink } from '../sink.ts';
import { withCost } from './changed-headers.ts';

/** Waits for the answer of a model and its texts, and notes in the job whether they were refused. */
export async function passed(ran: Promise<void>, job: Pick<Job, 'progress'>, sink: Sink): Promise<void> {
  await ran;
  await sink.finished;
  noteRefusal(job, sink);
}

/** Writes a refusal of the sink into the job: without a part that has gone on, nothing was delivered. */
export function noteRefusal({ progress }: Pick<Job, 'progress'>, { refusal = null }: Sink): void {
  if (refusal === null) return;
  progress.delivered = refusal.begun ? 'partial' : 'nothing';
  progress.class = refusal.failure.kind;
  progress.status = refusal.begun ? 200 : statusOf(refusal.failure);
}

/** Headers that are true of the answer alone; a refusal has its own type. */
const ofAnswerAlone = new Set(['x-culvert-cost-usd', 'content-type', 'content-disposition']);

/** The headers of an answer for its refusal, which costs nothing. */
export function headersOfRefusal(headers: HeaderList): HeaderList {
  const free = withCost(headers, 0);
  return free.filter((_, at) => !ofAnswerAlone.has(free[at - (at % 2)] ?? ''));
}

/** The fault of an answer that a step refuses before its first content. */
export function gatewayFault(failure: Failure): Fault {
  const message = 'message' in failure && typeof failure.message === 'string' ? failure.message : failure.kind;
  return { ...fault('filtered', message, statusOf(failure)), failure };
}

/** The end of an answer that a step refuses after its first content, with the usage so far, reported or estimated. */
export function cutEvents(choices: Iterable<number>, { trial }: Pick<Answer, 'trial'>): NeutralEvent[] {
  const reason: FinishReason = 'content-filter';
  const finishes = Array.from(choices, (choice) => ({ type: 'finish' as const, choice, reason, stopSequence: null }));
  const usage = trial?.seen(true, null).usage ?? null;
  return [...finishes, ...(usage === null ? [] : [{ type: 'usage' as const, usage }]), { type: 'end' }];
}
