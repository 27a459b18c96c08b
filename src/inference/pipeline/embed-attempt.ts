import type { DecodedEmbeddings, EmbeddingFacts } from '../dialects/embeddings/format.ts';
import { gemini } from '../dialects/gemini/index.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import { faultOfEngine } from '../engines/engine-error.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import type { Route, RouteAttempt } from '../routing/route.ts';
import type { HeaderList } from './caller.ts';
import type { ConversationBody, EncodedBody } from './conversation-body.ts';
import { batchesOf, type GatheredVectors } from './embedding-batches.ts';
import { embeddingFactsOf, encodeEmbeddingCall } from './embedding-call.ts';
import type { Job } from './job.ts';
import type { Services } from './services.ts';
import { runSplit, SplitAttempt } from './split-attempt.ts';

/** What is to be embedded, and what has been so far. */
export interface EmbeddingRun {
  body: ConversationBody;
  gathered: GatheredVectors;
  /** Every input has its vector: gives the answer out. */
  deliver(headers: HeaderList): Promise<void>;
}

type AttemptServices = Pick<Services, 'clock' | 'transport' | 'embeddingCodec' | 'engines'>;

/**
 * One try at one target: as many calls as it needs for the inputs that have no vector yet. What was answered is kept
 * when a call fails; the rest is for the next target, whose vectors are of the same space.
 */
export async function embedAt(
  services: AttemptServices,
  job: Job,
  run: EmbeddingRun,
  attempt: RouteAttempt,
  route: Route,
): Promise<Fault | null> {
  const trial = new EmbeddingAttempt(services, job, run, attempt, route);
  return runSplit(trial, trial.calls, { job, attempt, deliver: run.deliver });
}

class EmbeddingAttempt extends SplitAttempt {
  readonly #services: AttemptServices;
  readonly #run: EmbeddingRun;
  readonly #facts: EmbeddingFacts;
  readonly #waiting: number[][];

  constructor(services: AttemptServices, job: Job, run: EmbeddingRun, attempt: RouteAttempt, route: Route) {
    super(services, job, attempt, route);
    this.#services = services;
    this.#run = run;
    const { target } = attempt;
    this.#facts = embeddingFactsOf(job.providers, target);
    this.#waiting = batchesOf(run.gathered.missing(), this.#tokensEach, target.embedding!).reverse();
  }

  get calls(): number {
    return this.#waiting.length;
  }

  get #tokensEach(): readonly number[] {
    return this.#run.body.facts.embedding!.tokensEach;
  }

  protected async callNext(): Promise<boolean> {
    const places = this.#waiting.pop();
    if (places === undefined) return false;
    const encoded = await encodeEmbeddingCall(this.#run.body, this.attempt.target, this.#facts, places);
    if (this.failed !== null) return false;
    this.losses = encoded.losses;
    const answered = await (this.#facts.format === 'engine'
      ? this.#askEngine(encoded, places)
      : this.#askUpstream(encoded, places));
    if (answered === null) return false;
    const wrong = 'class' in answered ? answered : this.#run.gathered.add(places, answered);
    if (wrong !== null) this.fail(wrong);
    else this.#keep(places, (answered as DecodedEmbeddings).inputTokens);
    return true;
  }

  /** Null when the call failed, and said so. */
  async #askUpstream(encoded: EncodedBody, places: readonly number[]): Promise<DecodedEmbeddings | Fault | null> {
    const { connection } = this.job.providers.get(this.attempt.target.provider)!;
    const upstreamDialect = connection.provider.dialect === 'gemini' ? gemini : openAiChat;
    const body = { ...encoded, upstreamDialect, endpoint: 'embeddings' } as const;
    const bytes = await this.ask(body, this.#estimate(places));
    return bytes === null
      ? null
      : this.#services.embeddingCodec.decode(this.job.tenant, bytes, this.#facts.format, places.length);
  }

  async #askEngine(encoded: EncodedBody, places: readonly number[]): Promise<DecodedEmbeddings | Fault | null> {
    const engine = this.#services.engines.get(this.attempt.target.model);
    if (engine === undefined) return fault('model_unavailable', 'there is no such model in this process');
    if (this.#services.clock.monotonicMs() >= this.job.deadlineMs) return fault('deadline', 'the deadline passed');
    const { texts } = JSON.parse(encoded.bytes.toString()) as { texts: string[] };
    try {
      const rows = Float64Array.from(await engine.embed(this.job.tenant, texts));
      return rows.length === places.length * engine.dimensions
        ? { rows, size: engine.dimensions, inputTokens: null }
        : fault('malformed', 'made another number of vectors than it was asked for');
    } catch (error) {
      return faultOfEngine(error);
    }
  }

  #keep(places: readonly number[], told: number | null): void {
    const inputTokens = told ?? this.#estimate(places);
    this.#run.gathered.inputTokens += inputTokens;
    this.took({ inputTokens, outputTokens: 0 }, told !== null);
  }

  #estimate(places: readonly number[]): number {
    return places.reduce((sum, place) => sum + this.#tokensEach[place]!, 0);
  }
}
