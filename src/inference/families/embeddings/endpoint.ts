import type { Principal } from '../../../books/auth/principal.ts';
import { engineProvider } from '../../../engines/embedding-engine.ts';
import { faultOfEngine } from '../../../engines/engine-error.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { DecodedEmbeddings, EmbeddingFacts } from '../../../formats/embeddings/format.ts';
import { empty } from '../../../formats/embeddings/read-request.ts';
import { malformed } from '../../../formats/embeddings/read-rows.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { tooLargeForLoop } from '../../../kernel/parse-object.ts';
import { noneCapable } from '../../../routing/capability.ts';
import type { Health } from '../../../routing/health.ts';
import type { RouteAttempt, RouteCandidate } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Alias } from '../../models/alias.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { Answer } from '../../spine/answer.ts';
import { GatheredWhole, UnlikeAnswer } from '../../spine/answer-reader.ts';
import { SplitTrial } from '../../spine/attempts/split-trial.ts';
import type { Trial } from '../../spine/attempts/trial.ts';
import type { Endpoint, Plan, Trials } from '../../spine/endpoint.ts';
import type { Job } from '../../spine/job.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import { type PlainWay, plainQuery, plainWay } from '../../spine/plain-request.ts';
import { readableBody } from '../../spine/readable-input.ts';
import type { RequestFacts } from '../../spine/request-body.ts';
import type { Bytes } from '../../spine/sink.ts';
import { batchesOf, GatheredVectors, type Precision } from './embedding-batches.ts';
import {
  type EmbeddingBody,
  type EmbeddingBodyKind,
  type EmbeddingFactsOfBody,
  type EncodedEmbeddings,
  readEmbeddings,
} from './embedding-body.ts';
import { embeddingFactsOf, encodeEmbeddingCall } from './embedding-call.ts';
import type { EmbeddingServices } from './services.ts';

/** Embeddings: routed and metered like a conversation, over targets of one vector space. */
export function embeddingsEndpoint(
  services: EmbeddingServices,
  kind: EmbeddingBodyKind,
): Endpoint<Buffer, EmbeddingBody> {
  return {
    id: 'embeddings',
    cost: 'embeddings',
    read({ principal }, raw) {
      const here = readEmbeddings(raw, kind);
      return here === tooLargeForLoop ? services.bodies.readInThread(principal.tenant, raw, kind) : here;
    },
    filters: 'nothing',
    keeps: () => 'bytes',
    readable: (call, raw) => readableBody(services.bodies, call, raw, kind, (body) => body),
    content: (raw) => raw,
    plan(snapshot, call, { facts }) {
      const way = embeddingWay(snapshot, facts, call.principal);
      return isFailure(way) ? way : embeddingPlan(way, facts, call);
    },
    trials({ call, request, plan }, job) {
      const { encoding, answerForm, types } = request.facts;
      return embeddingTrials(services, job, request, plan.alias, 'double', (vectors) => {
        const answer = { ...vectors, model: plan.alias.id, encoding, ...(types !== undefined && { types }) };
        return services.embeddingCodec.encode(call.principal.tenant, answer, answerForm);
      });
    },
  };
}

/** The alias and its targets; a 404, 403 or 400 when it is unknown, not allowed, or none of them can do it. */
export function embeddingWay(
  snapshot: Snapshot,
  facts: RequestFacts & Pick<EmbeddingFactsOfBody, 'emptyAt'>,
  principal: Principal,
): PlainWay | Failure {
  const way = plainWay(snapshot, facts.model, principal, {
    name: 'embeddings',
    type: 'embedding',
    does: 'serves /v1/embeddings',
    serves: (target) => embeds(snapshot, target),
  });
  if (isFailure(way)) return way;
  const { alias } = way;
  const candidates = ofOneSpace(way.candidates);
  const { emptyAt } = facts;
  const judging = emptyAt === undefined ? candidates : judgesEmpty(snapshot, candidates);
  if (emptyAt !== undefined && judging.length === 0) return empty(emptyAt);
  return (
    noneCapable(alias, judging, facts.needs, () => snapshot.models.list(principal)) ?? { alias, candidates: judging }
  );
}

/** Candidates for an empty text: services of the caller's format, which judge it. Others refuse it or fail. */
function judgesEmpty({ providers }: Snapshot, candidates: readonly RouteCandidate[]): readonly RouteCandidate[] {
  return candidates.filter(({ target }) => providers.get(target.provider)?.connection.embeds?.format === 'openai');
}

function embeds({ providers }: Snapshot, { provider, embedding }: Target): boolean {
  if (embedding === undefined) return false;
  return provider === engineProvider || providers.get(provider)?.connection.embeds != null;
}

/**
 * Vectors of two spaces cannot be compared: callers of one model must never get both in turn. The configuration is
 * checked for that where it says `type: embedding`; for any other alias, targets outside the first target's space are
 * left out.
 */
function ofOneSpace(candidates: readonly RouteCandidate[]): readonly RouteCandidate[] {
  const space = candidates[0]?.target.embedding?.space ?? null;
  return space === null ? candidates.slice(0, 1) : candidates.filter(({ target }) => target.embedding?.space === space);
}

/** Every input's vector. */
export interface EmbeddedInputs {
  /** Row after row, in the order of the inputs. */
  rows: Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
  size: number;
  inputTokens: number;
}

/** `preferences`: of the caller. */
export function embeddingPlan(
  way: PlainWay,
  facts: RequestFacts,
  { preferences, principal }: Pick<ModelCall, 'preferences' | 'principal'>,
): Plan {
  const query = plainQuery(way, facts, preferences, principal.tenant);
  return { alias: way.alias, charged: way.alias, calls: 1, query, form: 'whole' };
}

/** `write` makes the answer's body of the vectors of all inputs. */
export function embeddingTrials(
  services: EmbeddingServices,
  job: Job,
  body: EmbeddingBody,
  { dimensions }: Pick<Alias, 'dimensions'>,
  precision: Precision,
  write: (vectors: EmbeddedInputs) => Promise<Bytes>,
): Trials {
  const { tokensEach, needs, packed = false } = body.facts;
  const size = packed ? null : (needs.embedding!.dimensions ?? dimensions);
  const gathered = new GatheredVectors(tokensEach.length, size, precision);
  const run: EmbeddingRun = {
    body,
    gathered,
    first: size === null && !packed ? (job.query.targets[0]?.target ?? null) : null,
    write() {
      const { rows, size, inputTokens } = gathered;
      return write({ rows: rows!, size, inputTokens });
    },
  };
  return { trial: (answer) => new EmbeddingTrial(services, job, run, answer) };
}

/** Inputs to embed, and the vectors so far. */
interface EmbeddingRun {
  body: EmbeddingBody;
  gathered: GatheredVectors;
  /** Required length of further vectors; null when their length was requested or declared, or is that of packed bits. */
  first: Target | null;
  /** Every input has its vector: the answer's body. */
  write(): Promise<Bytes>;
}

type TrialServices = Pick<EmbeddingServices, 'clock' | 'health' | 'transport' | 'embeddingCodec' | 'engines'>;

/**
 * One attempt at one target: as many calls as it needs for the inputs that have no vector yet. Vectors are kept when a
 * call fails; the rest is for the next target, whose vectors are of the same space.
 */
class EmbeddingTrial extends SplitTrial<TrialServices> {
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
