import { usdOf } from '../../metering/charge.ts';
import type { Fault } from '../neutral/outcome.ts';
import type { Usage } from '../neutral/usage.ts';
import type { Answer } from './answer.ts';
import type { AnswerReader } from './answer-reader.ts';
import type { Job } from './job.ts';
import type { AttemptSeen } from './trial.ts';

/** Adds one ended attempt to the explanation; what it used is the request's if it served the client. */
export function recordAttempt<C>(
  { progress }: Pick<Job<C>, 'progress'>,
  { attempt, firstTokenMs }: Pick<Answer<C>, 'attempt' | 'firstTokenMs'>,
  seen: AttemptSeen,
  outcome: Fault | null,
  nowMs: number,
): void {
  const { usage, usageSource, status, bytes } = seen;
  if (progress.answeredBy === attempt || (seen.kept === true && usage !== null)) {
    progress.usage = usage === null ? null : sumOf(progress.usage, usage);
    if (progress.usageSource !== 'counted') progress.usageSource = usageSource;
    progress.firstTokenMs ??= firstTokenMs;
    progress.malformedLines += seen.malformedLines ?? 0;
  } else if (seen.told === true && outcome?.class === 'cancelled' && progress.answeredBy === null) {
    // The client left before any content: what it may have to pay is known, where our estimate would be a guess.
    progress.usage = usage;
    progress.usageSource = 'upstream';
  }
  const { target, credential, startedMs } = attempt;
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

/** Of several calls. What is told of the last alone, such as searches, is told of none. */
export function sumOf(before: Usage | null, own: Usage): Usage {
  if (before === null) return own;
  const { images } = own;
  return {
    inputTokens: before.inputTokens + own.inputTokens,
    outputTokens: before.outputTokens + own.outputTokens,
    ...(images !== undefined && { images: (before.images ?? 0) + images }),
  };
}

/** What the upstream said; else, for an answer that ran, our count of what passed over the estimated input. */
export function usageOf(
  inputTokensEstimate: number,
  reader: AnswerReader | null,
  served: boolean,
  outcome: Fault | null,
): Pick<AttemptSeen, 'usage' | 'usageSource' | 'told'> {
  // Searches are all that some rerankers tell: the tokens are ours to count.
  if (reader?.usage?.searchUnits !== undefined && reader.usage.inputTokens === 0) {
    const usage = { ...reader.usage, inputTokens: inputTokensEstimate };
    return { usage, usageSource: served ? 'counted' : 'abandoned' };
  }
  if (reader?.usage != null) {
    const { usage } = reader;
    return served ? { usage, usageSource: 'upstream' } : { usage, usageSource: 'abandoned', told: true };
  }
  // It answered 200 or was left while it ran: the provider may well charge its input, so the books say so.
  const ran = served || reader !== null || outcome?.class === 'cancelled' || outcome?.class.startsWith('stall_');
  if (!ran) return { usage: null, usageSource: 'none' };
  const usage = { inputTokens: inputTokensEstimate, outputTokens: reader?.outputTokensSeen ?? 0 };
  return { usage, usageSource: served ? 'counted' : 'abandoned' };
}
