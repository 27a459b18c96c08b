import { usdOf } from '../../metering/price.ts';
import type { Fault } from '../neutral/outcome.ts';
import type { Usage, UsageSource } from '../neutral/usage.ts';
import type { RouteAttempt } from '../routing/route.ts';
import type { AnswerReader } from './answer-reader.ts';
import type { Job } from './job.ts';

/** What an attempt came to, as the explanation tells it. */
export interface AttemptSeen {
  status: number | null;
  bytes: number;
  firstTokenMs: number | null;
  usage: Usage | null;
  usageSource: UsageSource;
}

/** Adds one ended attempt to the explanation. */
export function tellAttempt(
  { progress }: Pick<Job, 'progress'>,
  { target, credential, startedMs }: RouteAttempt,
  { status, bytes, firstTokenMs, usage, usageSource }: AttemptSeen,
  outcome: Fault | null,
  nowMs: number,
): void {
  progress.attempts.push({
    target: target.id,
    provider: target.provider,
    model: target.model,
    credential: credential.id,
    class: outcome?.class ?? 'ok',
    status,
    ms: nowMs - startedMs,
    firstTokenMs,
    bytes,
    usage,
    usageSource,
    costUsd: usage === null ? null : usdOf(usage, target.price),
    message: outcome?.message ?? null,
  });
}

/** The same of an attempt whose answer was read for its usage, which is the request's if it served the caller. */
export function recordAttempt(
  job: Job,
  attempt: RouteAttempt,
  seen: { status: number | null; bytes: number; firstTokenMs: number | null; reader: AnswerReader | null },
  outcome: Fault | null,
  nowMs: number,
): void {
  const { progress } = job;
  const served = progress.answeredBy === attempt;
  const { usage, usageSource } = usageOf(job, seen.reader, served, outcome);
  if (served) {
    progress.usage = usage;
    progress.usageSource = usageSource;
    progress.firstTokenMs = seen.firstTokenMs;
    if (outcome !== null) progress.mark = seen.reader?.mark;
    progress.malformedLines += seen.reader?.malformedLines ?? 0;
  }
  const { status, bytes, firstTokenMs } = seen;
  tellAttempt(job, attempt, { status, bytes, firstTokenMs, usage, usageSource }, outcome, nowMs);
}

/** What the upstream said; else, for an answer that ran, our count of what passed over the estimated input. */
function usageOf(
  job: Job,
  reader: AnswerReader | null,
  served: boolean,
  outcome: Fault | null,
): { usage: Usage | null; usageSource: UsageSource } {
  // Searches are all that some rerankers tell: the tokens are ours to count.
  if (reader?.usage?.searchUnits !== undefined && reader.usage.inputTokens === 0) {
    const usage = { ...reader.usage, inputTokens: job.inputTokensEstimate };
    return { usage, usageSource: served ? 'counted' : 'abandoned' };
  }
  if (reader?.usage != null) return { usage: reader.usage, usageSource: served ? 'upstream' : 'abandoned' };
  if (served) {
    return {
      usage: { inputTokens: job.inputTokensEstimate, outputTokens: reader?.outputTokensSeen ?? 0 },
      usageSource: 'counted',
    };
  }
  // It answered 200 or was left while it ran: the provider may well charge its input, so the books say so.
  const ran = reader !== null || outcome?.class === 'cancelled' || outcome?.class.startsWith('stall_');
  return ran
    ? {
        usage: { inputTokens: job.inputTokensEstimate, outputTokens: reader?.outputTokensSeen ?? 0 },
        usageSource: 'abandoned',
      }
    : { usage: null, usageSource: 'none' };
}
