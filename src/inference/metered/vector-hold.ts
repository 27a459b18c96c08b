import type { Failure } from '../../kernel/failure.ts';
import type { StorageBook } from '../../metering/storage-book.ts';
import type { StorageHold } from '../../metering/storage-hold.ts';
import type { TextRank } from '../dialects/forwarded/rerank.ts';
import type { TextsCall } from '../embeddings/embed-texts.ts';
import { type EmbeddedTexts, embedTexts } from '../embeddings/embed-texts.ts';
import type { EmbeddingBody } from '../embeddings/embedding-body.ts';
import type { EmbeddingWay } from '../embeddings/endpoint.ts';
import type { EmbeddingServices } from '../embeddings/services.ts';
import { type RankedBy, rankTexts } from '../forwarded/rank-texts.ts';
import type { ForwardedServices } from '../forwarded/services.ts';
import type { Snapshot } from '../models/snapshot.ts';
import { sumOf } from '../neutral/usage.ts';
import { costHeaders } from '../spine/answer.ts';
import { besideUsd } from '../spine/beside-usd.ts';
import type { Plan } from '../spine/endpoint.ts';
import type { HeldCall } from '../spine/held-call.ts';
import { type JobProgress, newProgress } from '../spine/job.ts';

export type VectorServices = EmbeddingServices & ForwardedServices & { storage: StorageBook };

/** One call of the vector API, its caller known and admitted. */
export type VectorMeterCall = TextsCall;

/** Reservation of a vector call; must be settled, once. */
export interface VectorCallHold {
  kind: 'held';
  /** Answer headers: limits, and the cost so far or to come. Flat name, value… */
  readonly headers: readonly string[];
  /** Once, and only when texts were given. */
  embed(): Promise<EmbeddedTexts | Failure>;
  /** Once at most, and only with `rerank`; without it reranking is not charged. `texts`: at least one. */
  rank(texts: readonly string[]): Promise<readonly TextRank[] | Failure>;
  /** `status`: what the caller gets. A refused call costs nothing. */
  settle(end: { status: number; failure: Failure | null; aborted: boolean }): void;
}

/** What of a call must be embedded: `size` is known already where only that was asked for. */
export interface Embedding {
  snapshot: Snapshot;
  way: EmbeddingWay;
  body: EmbeddingBody;
  /** The vectors themselves are wanted, or their length alone. */
  wanted: 'vectors' | 'size';
  size: number | null;
}

/** Model that ranks the results of a call. */
export interface Ranking {
  snapshot: Snapshot;
  by: RankedBy;
  plan: Plan;
  /** Milli-units of the call's that are its own. */
  costMilli: number;
}

/** A vector call whose cost is held. */
export class Hold implements VectorCallHold {
  readonly kind = 'held';
  readonly #services: VectorServices;
  readonly #call: VectorMeterCall;
  readonly #held: HeldCall;
  readonly #embedding: Embedding | null;
  readonly #ranking: Ranking | null;
  readonly #room: StorageHold | null;
  #embedded: JobProgress | null = null;
  #ranked: JobProgress | null = null;

  constructor(
    services: VectorServices,
    call: VectorMeterCall,
    held: HeldCall,
    { embedding, ranking, room }: { embedding: Embedding | null; ranking: Ranking | null; room: StorageHold | null },
  ) {
    this.#services = services;
    this.#call = call;
    this.#held = held;
    this.#embedding = embedding;
    this.#ranking = ranking;
    this.#room = room;
  }

  get headers(): readonly string[] {
    return costHeaders({ headers: this.#held.reserved.headers, costMilli: this.#doneMilli });
  }

  /** When no text was found, none was ranked. */
  get #doneMilli(): number {
    const { costMilli } = this.#held.reserved;
    return this.#ranked === null ? costMilli - (this.#ranking?.costMilli ?? 0) : costMilli;
  }

  async embed(): Promise<EmbeddedTexts | Failure> {
    const embedding = this.#embedding;
    if (embedding === null) throw new Error('there is nothing to embed');
    const { snapshot, way, body, wanted, size } = embedding;
    if (size !== null) return { size, vectors: new Float32Array(0) };
    const run = { body, way, reserved: this.#held.reserved };
    const { outcome, progress } = await embedTexts(this.#services, snapshot, this.#call, run);
    this.#embedded = progress;
    if ('kind' in outcome) return outcome;
    return wanted === 'vectors' ? outcome : { size: outcome.size, vectors: new Float32Array(0) };
  }

  async rank(texts: readonly string[]): Promise<readonly TextRank[] | Failure> {
    if (this.#ranking === null) throw new Error('there is nothing to rank');
    const { snapshot, by, plan } = this.#ranking;
    const run = { by, plan, reserved: this.#held.reserved };
    const { outcome, progress } = await rankTexts(this.#services, snapshot, this.#call, run, texts);
    this.#ranked = progress;
    return outcome;
  }

  settle({ status, failure, aborted }: { status: number; failure: Failure | null; aborted: boolean }): void {
    this.#room?.release();
    const parts = [this.#embedded, this.#ranked].filter((part) => part !== null);
    const progress = parts.reduce(joined, null) ?? newProgress();
    if (parts.length > 1) progress.besideUsd = besideUsd(parts, progress, this.#held.claim.atMs);
    // The work is done, whether or not its caller waited for the answer.
    const done = failure === null && status < 400;
    progress.delivered = done ? 'whole' : 'nothing';
    progress.status = status;
    progress.class = failure?.kind ?? 'ok';
    if (done && progress.usage === null) progress.usage = { inputTokens: 0, outputTokens: 0 };
    const ended = {
      user: null,
      stream: false,
      progress,
      client: { gone: aborted, committed: done },
    };
    this.#held.settle(ended, this.#doneMilli);
  }
}

/** The attempts at both models, and what both used; told as the first's answer. */
function joined(first: JobProgress | null, then: JobProgress): JobProgress {
  if (first === null) return then;
  return {
    ...first,
    attempts: [...first.attempts, ...then.attempts],
    losses: [...first.losses, ...then.losses],
    verdicts: [...first.verdicts, ...then.verdicts],
    usage: then.usage === null ? first.usage : sumOf(first.usage, then.usage),
    usageSource: then.usageSource === 'upstream' || then.usage === null ? first.usageSource : then.usageSource,
  };
}
