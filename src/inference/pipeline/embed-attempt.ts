import { usdOf } from '../../metering/price.ts';
import type { DecodedEmbeddings, EmbeddingFacts } from '../dialects/embeddings/format.ts';
import { gemini } from '../dialects/gemini/index.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import { faultOfEngine } from '../engines/engine-error.ts';
import type { Loss } from '../neutral/loss.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import type { Usage } from '../neutral/usage.ts';
import type { Route, RouteAttempt } from '../routing/route.ts';
import { answerHeaders } from './answer-headers.ts';
import { Attempt } from './attempt.ts';
import { BatchCaller } from './batch-caller.ts';
import type { HeaderList } from './caller.ts';
import type { ConversationBody, EncodedBody } from './conversation-body.ts';
import { batchesOf, type GatheredVectors } from './embedding-batches.ts';
import { embeddingFactsOf, encodeEmbeddingCall } from './embedding-call.ts';
import { type Job, newProgress } from './job.ts';
import type { Services } from './services.ts';

/** Calls of one request that run at one time. */
const callsMax = 4;

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
  const trial = new Trial(services, job, run, attempt, route);
  const ended = await trial.run();
  if (ended === null) {
    job.progress.losses = trial.losses;
    job.progress.answeredBy = attempt;
    await run.deliver(answerHeaders(job, attempt, trial));
    // Whoever left meanwhile has no answer.
    if (job.caller.gone) trial.failed ??= fault('cancelled', 'the caller closed the connection');
  }
  trial.record();
  if (trial.failed !== null) return trial.failed;
  job.progress.delivered = 'whole';
  job.progress.status = 200;
  return null;
}

class Trial {
  losses: readonly Loss[] = [];
  failed: Fault | null = null;
  readonly #services: AttemptServices;
  readonly #job: Job;
  readonly #run: EmbeddingRun;
  readonly #attempt: RouteAttempt;
  readonly #route: Route;
  readonly #facts: EmbeddingFacts;
  readonly #waiting: number[][];
  readonly #calls = new Set<BatchCaller>();
  #bytes = 0;
  #status: number | null = null;
  #firstMs: number | null = null;
  /** Of what was answered; `counted` when some of it had to be estimated. */
  #inputTokens = 0;
  #counted = false;
  #answered = 0;
  /** Of calls that failed and may have cost something. */
  #abandoned: Usage | null = null;

  constructor(services: AttemptServices, job: Job, run: EmbeddingRun, attempt: RouteAttempt, route: Route) {
    this.#services = services;
    this.#job = job;
    this.#run = run;
    this.#attempt = attempt;
    this.#route = route;
    const { target } = attempt;
    this.#facts = embeddingFactsOf(job.providers, target);
    this.#waiting = batchesOf(run.gathered.missing(), this.#tokensEach, target.embedding!).reverse();
  }

  get #tokensEach(): readonly number[] {
    return this.#run.body.facts.embedding!.tokensEach;
  }

  async run(): Promise<Fault | null> {
    this.#job.caller.onGone(() => this.#fail(fault('cancelled', 'the caller closed the connection')));
    const lines = Array.from({ length: Math.min(callsMax, this.#waiting.length) }, () => this.#line());
    await Promise.all(lines);
    return this.failed;
  }

  /** One of the calls that run side by side, and those after it. */
  async #line(): Promise<void> {
    while (this.failed === null) {
      const places = this.#waiting.pop();
      if (places === undefined) return;
      try {
        await this.#call(places);
      } catch (error) {
        // A fault of ours ends the request: no call may go on beside it.
        this.#fail(fault('cancelled', 'stopped'));
        throw error;
      }
    }
  }

  async #call(places: readonly number[]): Promise<void> {
    const encoded = await encodeEmbeddingCall(this.#run.body, this.#attempt.target, this.#facts, places);
    if (this.failed !== null) return;
    this.losses = encoded.losses;
    const answered = await (this.#facts.format === 'engine'
      ? this.#askEngine(encoded, places)
      : this.#askUpstream(encoded, places));
    if (answered === null) return;
    const wrong = 'class' in answered ? answered : this.#run.gathered.add(places, answered);
    if (wrong !== null) return this.#fail(wrong);
    this.#took(places, (answered as DecodedEmbeddings).inputTokens);
  }

  /** Null when the call failed, and said so. */
  async #askUpstream(encoded: EncodedBody, places: readonly number[]): Promise<DecodedEmbeddings | Fault | null> {
    const { connection } = this.#job.providers.get(this.#attempt.target.provider)!;
    const caller = new BatchCaller();
    const call: Job = {
      ...this.#job,
      stream: false,
      inputTokensEstimate: this.#estimate(places),
      caller,
      progress: newProgress(),
    };
    const upstreamDialect = connection.provider.dialect === 'gemini' ? gemini : openAiChat;
    this.#calls.add(caller);
    try {
      const body = { ...encoded, upstreamDialect, endpoint: 'embeddings' } as const;
      const ended = await new Attempt(this.#services, call, untold, this.#attempt, body).run();
      const [record] = call.progress.attempts;
      this.#bytes += record?.bytes ?? 0;
      this.#status = ended?.status ?? record?.status ?? this.#status;
      if (ended === null) {
        return await this.#services.embeddingCodec.decode(caller.bytes!, this.#facts.format, places.length);
      }
      this.#abandon(record?.usage ?? null);
      this.#fail(ended);
      return null;
    } finally {
      this.#calls.delete(caller);
    }
  }

  async #askEngine(encoded: EncodedBody, places: readonly number[]): Promise<DecodedEmbeddings | Fault | null> {
    const engine = this.#services.engines.get(this.#attempt.target.model);
    if (engine === undefined) return fault('model_unavailable', 'there is no such model in this process');
    if (this.#services.clock.monotonicMs() >= this.#job.deadlineMs) return fault('deadline', 'the deadline passed');
    const { texts } = JSON.parse(encoded.bytes.toString()) as { texts: string[] };
    try {
      const rows = Float64Array.from(await engine.embed(texts));
      return rows.length === places.length * engine.dimensions
        ? { rows, size: engine.dimensions, inputTokens: null }
        : fault('malformed', 'made another number of vectors than it was asked for');
    } catch (error) {
      return faultOfEngine(error);
    }
  }

  #took(places: readonly number[], told: number | null): void {
    const nowMs = this.#services.clock.monotonicMs();
    if (this.#firstMs === null) {
      this.#firstMs = nowMs - this.#attempt.startedMs;
      this.#route.firstToken(this.#attempt, nowMs);
    }
    const inputTokens = told ?? this.#estimate(places);
    this.#answered += places.length;
    this.#inputTokens += inputTokens;
    this.#run.gathered.inputTokens += inputTokens;
    if (told === null) this.#counted = true;
  }

  #abandon(usage: Usage | null): void {
    if (usage === null) return;
    const inputTokens = (this.#abandoned?.inputTokens ?? 0) + usage.inputTokens;
    this.#abandoned = { inputTokens, outputTokens: 0 };
  }

  /** The first one counts; the calls beside it are stopped. */
  #fail(reason: Fault): void {
    if (this.failed !== null) return;
    this.failed = reason;
    this.#status = reason.status ?? this.#status;
    for (const call of this.#calls) call.leave();
  }

  #estimate(places: readonly number[]): number {
    return places.reduce((sum, place) => sum + this.#tokensEach[place]!, 0);
  }

  /** All calls as one attempt of the explanation; what was answered is the request's, whoever answers the rest. */
  record(): void {
    const { target, credential, startedMs } = this.#attempt;
    const { progress } = this.#job;
    const served = this.#answered > 0;
    const own = served ? { inputTokens: this.#inputTokens, outputTokens: 0 } : null;
    if (own !== null) {
      progress.usage = { inputTokens: this.#run.gathered.inputTokens, outputTokens: 0 };
      if (progress.usageSource !== 'counted') progress.usageSource = this.#counted ? 'counted' : 'upstream';
      progress.firstTokenMs ??= this.#firstMs;
    }
    const usage = own ?? this.#abandoned;
    progress.attempts.push({
      target: target.id,
      provider: target.provider,
      model: target.model,
      credential: credential.id,
      class: this.failed?.class ?? 'ok',
      status: this.#status,
      ms: this.#services.clock.monotonicMs() - startedMs,
      firstTokenMs: this.#firstMs,
      bytes: this.#bytes,
      usage,
      usageSource: served ? (this.#counted ? 'counted' : 'upstream') : usage === null ? 'none' : 'abandoned',
      costUsd: usage === null ? null : usdOf(usage, target.price),
      message: this.failed?.message ?? null,
    });
  }
}

/** The attempt's own first vectors are told, not those of each call. */
const untold: Pick<Route, 'firstToken'> = { firstToken() {} };
