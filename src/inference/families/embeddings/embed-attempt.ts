import { faultOfEngine } from '../../../engines/engine-error.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { DecodedEmbeddings, EmbeddingFacts } from '../../../formats/dialects/embeddings/format.ts';
import { malformed } from '../../../formats/dialects/embeddings/read-rows.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import type { Health } from '../../../routing/health.ts';
import type { RouteAttempt } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Answer } from '../../spine/answer.ts';
import { GatheredWhole, UnlikeAnswer } from '../../spine/answer-reader.ts';
import { SplitTrial } from '../../spine/attempts/split-trial.ts';
import type { Trial } from '../../spine/attempts/trial.ts';
import type { Job } from '../../spine/job.ts';
import type { Bytes } from '../../spine/sink.ts';
import { batchesOf, type GatheredVectors } from './embedding-batches.ts';
import type { EmbeddingBody, EncodedEmbeddings } from './embedding-body.ts';
import { embeddingFactsOf, encodeEmbeddingCall } from './embedding-call.ts';
import type { EmbeddingServices } from './services.ts';

/** Inputs to embed, and the vectors so far. */
export interface EmbeddingRun {
  body: EmbeddingBody;
  gathered: GatheredVectors;
  /** Required length of further vectors; null when their length was requested or declared. */
  first: Target | null;
  /** Every input has its vector: the answer's body. */
  write(): Promise<Bytes>;
}

type TrialServices = Pick<EmbeddingServices, 'clock' | 'health' | 'transport' | 'embeddingCodec' | 'engines'>;

/**
 * One attempt at one target: as many calls as it needs for the inputs that have no vector yet. Vectors are kept when a
 * call fails; the rest is for the next target, whose vectors are of the same space.
 */
export class EmbeddingTrial extends SplitTrial<TrialServices> {
  readonly shows: Trial['shows'];
  readonly #run: EmbeddingRun;
  readonly #facts: EmbeddingFacts;
  readonly #waiting: number[][];

  constructor(services: TrialServices, job: Job, run: EmbeddingRun, answer: Answer) {
    super(services, job, answer);
    this.#run = run;
    const { target } = answer.attempt;
    this.#facts = embeddingFactsOf(job.providers, target);
    this.shows = this.#facts.format === 'engine' ? null : 'whole';
    this.#waiting = batchesOf(run.gathered.missing(), this.#tokensEach, target.embedding!).reverse();
  }

  protected get calls(): number {
    return this.#waiting.length;
  }

  protected body(): Promise<Bytes> {
    return this.#run.write();
  }

  get #tokensEach(): readonly number[] {
    return this.#run.body.facts.tokensEach;
  }

  protected async callNext(): Promise<boolean> {
    const places = this.#waiting.pop();
    if (places === undefined) return false;
    const encoded = await encodeEmbeddingCall(this.#run.body, this.attempt.target, this.#facts, places);
    if (this.failed) return false;
    this.losses = encoded.losses;
    const answered = await (this.#facts.format === 'engine'
      ? this.#askEngine(encoded, places)
      : this.#askUpstream(encoded, places));
    if (answered === null) return false;
    if ('class' in answered) {
      this.fail(answered);
      return true;
    }
    // A concurrent attempt may have been faster, and have had some of them in other calls.
    const { gathered } = this.#run;
    const fresh = gathered.missing(places);
    // Texts are no 0 tokens: such a server counts nothing.
    const reported = fresh.length === places.length ? answered.inputTokens || null : null;
    const inputTokens = reported ?? this.#estimate(fresh);
    if (fresh.length === 0) {
      this.leave(answered.inputTokens ?? this.#estimate(places));
      return true;
    }
    const wrong = this.#otherLength(answered.size) ?? gathered.add(places, answered);
    if (wrong !== null) {
      this.fail(wrong);
      return true;
    }
    gathered.inputTokens += inputTokens;
    this.took({ inputTokens, outputTokens: 0 }, reported !== null);
    return true;
  }

  #otherLength(size: number): Fault | null {
    const { first } = this.#run;
    return first === null ? null : otherLength(this.services.health, first, this.attempt, size);
  }

  /** Null when the call failed, and reported it. */
  async #askUpstream(encoded: EncodedEmbeddings, places: readonly number[]): Promise<DecodedEmbeddings | Fault | null> {
    const { connection } = knownEntry(this.job.providers, this.attempt.target.provider);
    const bytes = await this.ask({
      bytes: encoded.bytes,
      streamed: false,
      upstreamDialect: dialects[connection.provider.dialect],
      endpoint: 'embeddings',
      inputTokensEstimate: this.#estimate(places),
      reader: (contentType) =>
        contentType.startsWith('text/event-stream') ? new UnlikeAnswer(false) : new GatheredWhole(),
    });
    return bytes === null
      ? null
      : this.services.embeddingCodec.decode(this.job.tenant, bytes, this.#facts.format, places.length);
  }

  async #askEngine(encoded: EncodedEmbeddings, places: readonly number[]): Promise<DecodedEmbeddings | Fault | null> {
    const engine = this.services.engines.get(this.attempt.target.model);
    if (engine === undefined) return fault('model_unavailable', 'there is no such model in this process');
    if (this.services.clock.monotonicMs() >= this.job.deadlineMs) return fault('deadline', 'the deadline passed');
    const { texts } = JSON.parse(encoded.bytes.toString()) as { texts: string[] };
    try {
      const rows = Float64Array.from(await engine.embed(this.job.tenant, texts));
      return rows.length === places.length * engine.dimensions
        ? { rows, size: engine.dimensions, inputTokens: null }
        : fault('malformed', 'returned a different number of vectors than it was asked for');
    } catch (error) {
      return faultOfEngine(error);
    }
  }

  #estimate(places: readonly number[]): number {
    return places.reduce((sum, place) => sum + (this.#tokensEach[place] ?? 0), 0);
  }
}

/**
 * A Fault when the target of `attempt` answers vectors of another length than its model's first target, by the last
 * vectors that this process or another knows of: callers have those already, and two lengths cannot be compared. The
 * first target itself may change; until it has answered, any length is right.
 */
function otherLength(
  health: Pick<Health, 'stateOf'>,
  first: Target,
  { target, lane }: RouteAttempt,
  size: number,
): Fault | null {
  if (target === first) {
    lane.state.vectorLength = size;
    return null;
  }
  // Of several credentials, the one that answered last here knows what the model gives now.
  const states = first.credentials
    .map(({ id }) => health.stateOf(first.healthId ?? first.id, id))
    .sort((one, other) => other.respondedAtMs - one.respondedAtMs);
  const usual = states.find(({ vectorLength }) => vectorLength !== null)?.vectorLength;
  return usual === undefined || usual === size
    ? null
    : malformed(`returned vectors of ${size} dimensions, but the first target of the model gives ${usual}`);
}
