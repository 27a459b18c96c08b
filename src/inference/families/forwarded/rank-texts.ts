import type { Principal } from '../../../books/auth/principal.ts';
import type { Reservation } from '../../../books/metering/admission.ts';
import { ranksIn, rerankOf, type TextRank } from '../../../formats/dialects/forwarded/rerank.ts';
import { noNeeds } from '../../../formats/neutral/request.ts';
import { estimatedTokens } from '../../../formats/neutral/usage.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { tooLargeForLoop } from '../../../kernel/parse-object.ts';
import { defaultPreferences } from '../../../routing/route.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import { runAttempts } from '../../spine/attempts/run-attempts.ts';
import { BufferedAnswer } from '../../spine/buffered-answer.ts';
import { bufferedWithin, type WithinCall } from '../../spine/call.ts';
import type { Plan } from '../../spine/endpoint.ts';
import { newProgress } from '../../spine/held-call.ts';
import type { JobProgress } from '../../spine/job.ts';
import { jobOf } from '../../spine/serve.ts';
import { forwardPlan, forwardTrial } from './endpoint.ts';
import { readForwarded } from './forwarded-body.ts';
import type { ForwardedServices } from './services.ts';

/** Ranks texts for another endpoint than `/v1/rerank`. */
export interface RankedBy {
  /** Alias. */
  model: string;
  query: string;
}

/** Candidates to rank, before the texts are known; 404, 403 or 400 for a model unknown, forbidden, or of no use. */
export function rankPlan(snapshot: Snapshot, principal: Principal, { model, query }: RankedBy): Plan | Failure {
  const needs = { ...noNeeds, inputTokensEstimate: estimatedTokens(query.length) };
  const facts = { model, stream: false, user: null, needs, includeUsage: false, conversationStart: '' };
  return forwardPlan(snapshot, { principal, preferences: defaultPreferences }, 'rerank', facts);
}

/**
 * Ranks texts for a call that holds a reservation, by the same routing as `/v1/rerank`. The reservation stays open: its
 * holder settles it with `progress`. `texts`: at least one.
 */
export async function rankTexts(
  services: ForwardedServices,
  snapshot: Snapshot,
  call: WithinCall,
  { by, plan, reserved }: { by: RankedBy; plan: Plan; reserved: Reservation },
  texts: readonly string[],
): Promise<{ outcome: readonly TextRank[] | Failure; progress: JobProgress }> {
  const raw = Buffer.from(JSON.stringify({ model: by.model, query: by.query, documents: texts }));
  const here = readForwarded(raw, 'rerank');
  const body =
    here === tooLargeForLoop ? await services.bodies.readInThread(call.principal.tenant, raw, 'rerank') : here;
  if (isFailure(body)) return { outcome: body, progress: newProgress() };
  try {
    const answer = new BufferedAnswer();
    const runCall = bufferedWithin(call, answer);
    const query = { ...plan.query, needs: body.facts.needs };
    const job = jobOf(snapshot, 'rerank', runCall, { ...plan, query }, reserved, { user: null });
    const format = rerankOf(texts.length);
    await runAttempts(services, job, { trial: (answer) => forwardTrial(services, job, body, format, answer) });
    return { outcome: ranksOf(answer, texts.length), progress: job.progress };
  } finally {
    await body.release();
  }
}

function ranksOf({ outcome }: BufferedAnswer, count: number): readonly TextRank[] | Failure {
  if (outcome?.kind === 'refused') return outcome.failure;
  const ranks = outcome === null ? null : ranksIn(JSON.parse(outcome.body.toString()), count);
  return ranks ?? { kind: 'internal' };
}
