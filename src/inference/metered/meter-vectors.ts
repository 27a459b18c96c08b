import { type Failure, invalid } from '../../kernel/failure.ts';
import type { Claim, Reservation } from '../../metering/admission.ts';
import { costMilliOf } from '../../metering/quota.ts';
import type { StorageBook } from '../../metering/storage-book.ts';
import {
  type EmbeddedTexts,
  embedTexts,
  type TextsCall,
  type TextsToEmbed,
  textsBody,
} from '../embeddings/embed-texts.ts';
import type { EmbeddingBody } from '../embeddings/embedding-body.ts';
import { type EmbeddingWay, embeddingWay } from '../embeddings/endpoint.ts';
import type { EmbeddingServices } from '../embeddings/services.ts';
import type { Snapshot } from '../models/snapshot.ts';
import { costHeaders } from '../spine/answer.ts';
import { type JobProgress, newProgress } from '../spine/job.ts';
import { settleCall } from '../spine/settle-call.ts';

/** One call of the vector API, its caller known and admitted. */
export type VectorMeterCall = TextsCall;

/** What a vector call holds; must be settled, once. */
export interface VectorCallHold {
  kind: 'held';
  /** Answer headers: limits, cost. Flat name, value… */
  readonly headers: readonly string[];
  /** Once, and only when texts were given. */
  embed(): Promise<EmbeddedTexts | Failure>;
  /** `status`: what the caller gets. A refused call costs nothing. */
  settle(end: { status: number; failure: Failure | null; aborted: boolean }): void;
}

/**
 * What vector calls cost, and how their texts become vectors. A call is charged after its body was found right and before
 * anything is done. The port that `src/vectors/meter.ts` describes. Rejects
 * for a fault of ours alone, which the server tells the log.
 */
export interface VectorCallMeter {
  hold(call: VectorMeterCall, texts: TextsToEmbed | null, effect: VectorCallEffect): Promise<VectorCallHold | Failure>;
}

/** What the call does to what is kept: nothing, more of it, or other and less. */
export type VectorCallEffect = 'reads' | 'adds' | 'changes';

type VectorServices = EmbeddingServices & { storage: StorageBook };

/** Embedded where only the length of a model's vectors must be known, and nobody declares it. */
const probeText = 'How long is a vector?';

export function createVectorMeter(services: VectorServices): VectorCallMeter {
  return { hold: (call, texts, effect) => holdCall(services, call, texts, effect) };
}

/** What of a call must be embedded: `size` is known already where only that was asked for. */
interface Embedding {
  snapshot: Snapshot;
  way: EmbeddingWay;
  body: EmbeddingBody;
  /** The vectors themselves are wanted, or their length alone. */
  wanted: 'vectors' | 'size';
  size: number | null;
}

async function holdCall(
  services: VectorServices,
  call: VectorMeterCall,
  texts: TextsToEmbed | null,
  effect: VectorCallEffect,
): Promise<VectorCallHold | Failure> {
  const full = effect === 'adds' ? await services.storage.mayKeep(call.principal.account) : null;
  if (full !== null) return full;
  const snapshot = services.snapshot();
  const embedding = texts === null ? null : embeddingOf(snapshot, call, texts);
  if (embedding !== null && 'kind' in embedding) return embedding;
  const claim = claimFor(call, snapshot, embedding);
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') {
    const isFree = effect === 'reads' && embedding === null;
    return isFree && reserved.kind === 'quota-unavailable' && reserved.cause === 'disk-full' ? unbooked : reserved;
  }
  return new Hold(services, call, claim, reserved, embedding);
}

/** On a full disk nothing can be booked, and what is kept can be read all the same: within the limits of a minute. */
const unbooked: VectorCallHold = {
  kind: 'held',
  headers: [],
  async embed() {
    throw new Error('there is nothing to embed');
  },
  settle() {},
};

function embeddingOf(snapshot: Snapshot, { principal }: VectorMeterCall, asked: TextsToEmbed): Embedding | Failure {
  const sizeOnly = asked.texts.length === 0;
  const empty = asked.texts.indexOf('');
  if (empty !== -1) return invalid('text', `Text ${empty} of this call is empty: there is nothing to embed.`);
  const body = textsBody(sizeOnly ? { ...asked, texts: [probeText] } : asked);
  const way = embeddingWay(snapshot, body.facts, principal);
  if ('kind' in way) return way;
  const declared = way.alias.dimensions ?? way.candidates[0]?.target.embedding?.dimensions ?? null;
  return { snapshot, way, body, wanted: sizeOnly ? 'size' : 'vectors', size: sizeOnly ? declared : null };
}

/** The call's own cost and that of embedding, as one. */
function claimFor(call: VectorMeterCall, { config }: Snapshot, embedding: Embedding | null): Claim {
  const { requestId, principal, admitted, atMs } = call;
  const runs = embedding !== null && embedding.size === null ? embedding : null;
  const { alias } = runs?.way ?? { alias: null };
  const embeddingMilli = alias === null ? 0 : costMilliOf(config.costs, 'embeddings', alias.cost);
  return {
    requestId,
    principal,
    admitted,
    endpoint: 'vectors',
    alias: alias?.id ?? '',
    tier: alias?.tier ?? null,
    costMilli: costMilliOf(config.costs, 'vectors') + embeddingMilli,
    inputTokensEstimate: runs?.body.facts.needs.inputTokensEstimate ?? 0,
    atMs,
  };
}

class Hold implements VectorCallHold {
  readonly kind = 'held';
  readonly headers: readonly string[];
  readonly #services: VectorServices;
  readonly #call: VectorMeterCall;
  readonly #claim: Claim;
  readonly #reserved: Reservation;
  readonly #embedding: Embedding | null;
  #progress: JobProgress = newProgress();

  constructor(
    services: VectorServices,
    call: VectorMeterCall,
    claim: Claim,
    reserved: Reservation,
    embedding: Embedding | null,
  ) {
    this.#services = services;
    this.#call = call;
    this.#claim = claim;
    this.#reserved = reserved;
    this.#embedding = embedding;
    this.headers = costHeaders(reserved);
  }

  async embed(): Promise<EmbeddedTexts | Failure> {
    const embedding = this.#embedding;
    if (embedding === null) throw new Error('there is nothing to embed');
    const { snapshot, way, body, wanted, size } = embedding;
    if (size !== null) return { size, vectors: new Float32Array(0) };
    const run = { body, way, reserved: this.#reserved };
    const { outcome, progress } = await embedTexts(this.#services, snapshot, this.#call, run);
    this.#progress = progress;
    if ('kind' in outcome) return outcome;
    return wanted === 'vectors' ? outcome : { size: outcome.size, vectors: new Float32Array(0) };
  }

  settle({ status, failure, aborted }: { status: number; failure: Failure | null; aborted: boolean }): void {
    const progress = this.#progress;
    // What was done is done, whether or not its caller waited for the answer.
    const done = failure === null && status < 400;
    progress.delivered = done ? 'whole' : 'nothing';
    progress.status = status;
    progress.class = failure?.kind ?? 'ok';
    if (done && progress.usage === null) progress.usage = { inputTokens: 0, outputTokens: 0 };
    settleCall(this.#services, this.#call, this.#claim, this.#reserved, {
      user: null,
      stream: false,
      progress,
      client: { gone: aborted, committed: done },
    });
  }
}
