import { statusOf } from '../../../kernel/failure.ts';
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
