import type { Reservation } from '../../../books/metering/admission.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import { runAttempts } from '../../spine/attempts/run-attempts.ts';
import { BufferedAnswer } from '../../spine/buffered-answer.ts';
import { bufferedWithin, type WithinCall } from '../../spine/call.ts';
import type { JobProgress } from '../../spine/job.ts';
import type { PlainWay } from '../../spine/plain-request.ts';
import { jobOf } from '../../spine/serve.ts';
import { type EmbeddingBody, embeddingBody } from './embedding-body.ts';
import { embeddingPlan, embeddingTrials } from './endpoint.ts';
import type { EmbeddingServices } from './services.ts';

/** Texts that become vectors for another endpoint than `/v1/embeddings`. */
export interface TextsToEmbed {
  /** Alias. */
  model: string;
  purpose: 'document' | 'query';
  texts: readonly string[];
}

/** One vector for each text. */
export interface EmbeddedTexts {
  /** Length of each. */
  size: number;
  /** Row after row, in the order of the texts. */
  vectors: Float32Array<ArrayBuffer>;
}

/** Texts in the form of a request, for `embeddingWay` and `embedTexts`. */
export function textsBody({ model, purpose, texts }: TextsToEmbed): EmbeddingBody {
  return embeddingBody({
    model,
    inputs: { kind: 'texts', texts },
    dimensions: null,
    inputType: null,
    inputTypeWord: null,
    purpose,
    encoding: 'float',
    answerForm: 'openai',
    user: null,
    extra: {},
  });
}

/**
 * Embeds texts for a call that holds a reservation, by the same routing as `/v1/embeddings`. The reservation stays
 * open: its holder settles it with `progress`.
 */
export async function embedTexts(
  services: EmbeddingServices,
  snapshot: Snapshot,
  call: WithinCall,
  { body, way, reserved }: { body: EmbeddingBody; way: PlainWay; reserved: Reservation },
): Promise<{ outcome: EmbeddedTexts | Failure; progress: JobProgress }> {
  const answer = new BufferedAnswer();
  const runCall = bufferedWithin(call, answer);
  let vectors: EmbeddedTexts | null = null;
  const plan = embeddingPlan(way, body.facts, runCall);
  const job = jobOf(snapshot, 'embeddings', runCall, plan, reserved, { user: null });
  const { trial } = embeddingTrials(services, job, body, way.alias, 'single', async ({ rows, size }) => {
    vectors = { size, vectors: rows as Float32Array<ArrayBuffer> };
    return '';
  });
  await runAttempts(services, job, { trial });
  const { outcome } = answer;
  const failure: Failure = outcome?.kind === 'refused' ? outcome.failure : { kind: 'internal' };
  return { outcome: vectors ?? failure, progress: job.progress };
}
