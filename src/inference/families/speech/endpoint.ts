import { faultOfEngine } from '../../../engines/engine-error.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import { speechDialects } from '../../../formats/media/speech/index.ts';
import { tooLong } from '../../../formats/media/speech/read-request.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { AudioFormat, SpeechRequest } from '../../../formats/neutral/speech.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { tooLargeForLoop } from '../../../kernel/parse-object.ts';
import type { Target } from '../../../routing/target.ts';
import type { Answer } from '../../spine/answer.ts';
import { Attempt } from '../../spine/attempts/attempt.ts';
import { engineTimers, followEngine } from '../../spine/attempts/follow-engine.ts';
import { otherFormat, otherFormatsMax, refusesFormat } from '../../spine/attempts/refused-formats.ts';
import type { AttemptSeen, Trial } from '../../spine/attempts/trial.ts';
import type { Endpoint, Plan } from '../../spine/endpoint.ts';
import type { Job, PreparedBody } from '../../spine/job.ts';
import { plainQuery } from '../../spine/plain-request.ts';
import { readableBody } from '../../spine/readable-input.ts';
import { readBase64Answer, readOpenAiAnswer, type SoundReader } from './read-sound.ts';
import type { SpeechServices } from './services.ts';
import { type SoundForm, SpeechAnswer } from './speech-answer.ts';
import { readSpeech, type SpeechBody } from './speech-body.ts';
import { bestToConvert, conversionOf, type SpeechPlan, type SpeechSource, speechWay } from './speech-way.ts';

interface SpeechCallPlan extends Plan {
  plans: ReadonlyMap<Target, SpeechPlan>;
}

/** Speech: the answer is the sound. */
export function speechEndpoint(services: SpeechServices): Endpoint<Buffer, SpeechBody, SpeechCallPlan> {
  return {
    id: 'speech',
    cost: 'speech',
    read({ principal }, raw) {
      const here = readSpeech(raw);
      return here === tooLargeForLoop ? services.bodies.readInThread(principal.tenant, raw, 'speech') : here;
    },
    readable: (call, raw) => readableBody(services.bodies, call, raw, 'speech', (body) => body),
    content: (raw) => raw,
    keeps: () => 'bytes',
    async plan(snapshot, { principal, preferences, idempotencyKey }, { facts }) {
      const { request } = facts;
      const wrong = tooLong(request, snapshot.config.limits.speech_chars);
      if (wrong !== null) return wrong;
      const way = await speechWay(services, snapshot, request, principal);
      if (isFailure(way)) return way;
      const query = plainQuery(way, facts, preferences, principal.tenant);
      // In one piece where it may be kept for a repeat.
      const streamed = idempotencyKey === null ? 'bytes' : 'whole';
      const form = request.delivery === 'events' ? 'events' : streamed;
      return { alias: way.alias, charged: way.alias, calls: 1, query, form, plans: way.plans };
    },
    trials({ request, plan }, job) {
      const run = {
        request: request.facts.request,
        plans: plan.plans,
        form: plan.form === 'whole' ? ('whole' as const) : ('streamed' as const),
      };
      return { trial: (answer) => speechTrial(services, job, run, answer) };
    },
  };
}

/** The text to speak, and the way for each target. */
interface SpeechRun {
  request: SpeechRequest;
  plans: ReadonlyMap<Target, SpeechPlan>;
  /** `whole`: in one piece, which may be kept for a repeat of the request. */
  form: 'streamed' | 'whole';
}

type TrialServices = Pick<SpeechServices, 'clock' | 'transport' | 'transcoder' | 'refusedFormats'>;
type TrialJob = Pick<
  Job,
  'tenant' | 'deadlineMs' | 'inputTokensEstimate' | 'providers' | 'callerHeaders' | 'bound' | 'given' | 'trace'
>;

/** One attempt at one target. Until the first audio has gone out another one may follow. */
export function speechTrial(services: TrialServices, job: TrialJob, run: SpeechRun, answer: Answer): Trial {
  const plan = knownEntry(run.plans, answer.attempt.target);
  const { source } = plan;
  const parts = { services, job, run, plan, answer };
  return source.kind === 'engine'
    ? new SpeechEngineTrial({ ...parts, engine: source.engine })
    : new SpeechTrial({ ...parts, source });
}

type UpstreamSource = Extract<SpeechSource, { kind: 'upstream' }>;

interface TrialParts {
  services: TrialServices;
  job: TrialJob;
  run: SpeechRun;
  plan: SpeechPlan;
  answer: Answer;
}

class SpeechTrial implements Trial {
  /** Some servers make all of it before they say anything. */
  readonly shows = null;
  readonly #parts: TrialParts & { source: UpstreamSource };
  #plan: SpeechPlan;
  #stopped: Fault | null = null;
  #speech!: SpeechAnswer;
  #call!: Attempt;

  constructor(parts: TrialParts & { source: UpstreamSource }) {
    this.#parts = parts;
    this.#plan = parts.plan;
    this.#prepare();
  }

  get signs(): number {
    return this.#call.signs;
  }

  async run(): Promise<Fault | null> {
    const { answer, services } = this.#parts;
    const refused: AudioFormat[] = [];
    const first = await this.#call.run();
    let outcome = first;
    while (outcome !== null && this.#stopped === null && refusesFormat(outcome) && refused.length < otherFormatsMax) {
      refused.push(this.#plan.ask);
      const ask = otherFormat(
        outcome,
        bestToConvert.filter((one) => this.#converts(one)),
        refused,
      );
      if (ask === null) break;
      this.#plan = { ...this.#plan, ask };
      this.#prepare();
      outcome = await this.#call.run();
    }
    if (outcome === null && refused.length > 0) {
      services.refusedFormats.remember('speech', answer.attempt.target.id, refused);
    }
    // Its first refusal was of the caller's own wish.
    return outcome !== null && refusesFormat(outcome) ? first : outcome;
  }

  stop(why: Fault): void {
    this.#stopped ??= why;
    this.#speech.stop(why);
    this.#call.stop(why);
  }

  seen(served: boolean, outcome: Fault | null): AttemptSeen {
    const { status: answered, bytes, usageSource } = this.#call.seen(false, outcome);
    // Of a conversion that this machine cannot do, its status tells why.
    const status = (outcome?.class === 'gateway_fault' ? outcome.status : null) ?? answered;
    return { status, bytes, ...this.#speech.seen(served, usageSource !== 'none') };
  }

  /** Whether this machine can convert it into the requested format. */
  #converts(format: AudioFormat): boolean {
    const { services, run, source } = this.#parts;
    const rateHz = source.facts.pcmRateHz ?? null;
    const conversion = conversionOf({ format, rateHz }, run.request.format, this.#plan.tempo);
    return conversion === null || services.transcoder.refusal(conversion) === null;
  }

  #prepare(): void {
    const { services, job, run, source, answer } = this.#parts;
    const plan = this.#plan;
    const { facts } = source;
    const requested: SoundForm = { format: plan.ask, rateHz: facts.pcmRateHz ?? null };
    const { tenant, inputTokensEstimate } = job;
    let reader: SoundReader | null = null;
    const speechAnswer = new SpeechAnswer(answer, {
      transcoder: services.transcoder,
      tenant,
      ...run,
      plan,
      came: () => reader?.came ?? requested,
      reportedUsage: () => reader?.usage ?? null,
      inputTokensEstimate,
    });
    const { attempt } = answer;
    const { body, losses } = prepared(job, run.request, plan, source, attempt.target, (contentType) => {
      const of = speechDialects[facts.format].answer;
      reader = of === 'bytes' ? readOpenAiAnswer(contentType, plan.ask) : readBase64Answer(of, contentType, plan.ask);
      speechAnswer.open(requested);
      return reader;
    });
    speechAnswer.losses = [...plan.losses, ...losses];
    this.#speech = speechAnswer;
    this.#call = new Attempt(services, job, attempt, body, speechAnswer);
  }
}

function prepared(
  { providers, inputTokensEstimate }: TrialJob,
  request: SpeechRequest,
  { ask, voice }: SpeechPlan,
  { facts }: UpstreamSource,
  target: Target,
  reader: PreparedBody['reader'],
): { body: PreparedBody; losses: readonly Loss[] } {
  const { connection } = knownEntry(providers, target.provider);
  const { model } = target;
  const { apiVersion } = connection;
  const order = { model, voice: voice.name, format: ask, request, facts, apiVersion };
  const encoded = speechDialects[facts.format].encode(order);
  return {
    losses: encoded.losses,
    body: {
      bytes: JSON.stringify({ ...encoded.body, ...target.body }),
      streamed: true,
      upstreamDialect: dialects[connection.provider.dialect],
      endpoint: 'speech',
      path: encoded.path,
      header: encoded.header,
      inputTokensEstimate,
      reader,
    },
  };
}

class SpeechEngineTrial implements Trial {
  readonly shows = null;
  readonly signs = 0;
  readonly #parts: TrialParts & { engine: SpeechEngine };
  readonly #made: SoundForm;
  readonly #speech: SpeechAnswer;
  readonly #stopped = new AbortController();
  /** Wakes the engine's loop that waits for the reader. */
  #onDrain: (() => void) | null = null;
  #fault: Fault | null = null;
  #ran = false;
  #bytes = 0;

  constructor(parts: TrialParts & { engine: SpeechEngine }) {
    this.#parts = parts;
    const { services, job, run, plan, engine, answer } = parts;
    this.#made = { format: 'pcm', rateHz: engine.sampleRateHz };
    const { tenant, inputTokensEstimate } = job;
    const { transcoder } = services;
    const sound = { came: () => this.#made, reportedUsage: () => null };
    this.#speech = new SpeechAnswer(answer, { transcoder, tenant, ...run, plan, ...sound, inputTokensEstimate });
  }

  async run(): Promise<Fault | null> {
    const resume = () => {
      this.#onDrain?.();
      this.#onDrain = null;
    };
    this.#speech.start({ resume, stop: (why) => this.stop(why) });
    try {
      const ended = await this.#speak();
      this.#fault ??= ended;
      this.#fault = await this.#speech.end(this.#fault);
    } finally {
      this.#stopped.abort();
    }
    return this.#fault;
  }

  stop(why: Fault): void {
    this.#fault ??= why;
    this.#stopped.abort();
    this.#speech.stop(why);
  }

  seen(served: boolean): AttemptSeen {
    return { status: null, bytes: this.#bytes, ...this.#speech.seen(served, this.#ran) };
  }

  /** Null when it has spoken all. */
  async #speak(): Promise<Fault | null> {
    const { services, job, run, plan, engine, answer } = this.#parts;
    const { input: text, speed } = run.request;
    const { signal } = this.#stopped;
    const { deadlineMs, tenant } = job;
    const { clock } = services;
    if (deadlineMs <= clock.monotonicMs()) return fault('deadline', 'the deadline passed');
    const limits = { ...answer.attempt.target.timeouts, deadlineMs };
    const timers = engineTimers(clock, limits, 'made no audio', (found) => this.stop(found));
    this.#ran = true;
    this.#speech.open(this.#made);
    try {
      const ended = await followEngine(engine.speak({ tenant, text, voice: plan.voice.name, speed, signal }), {
        timers,
        signal,
        take: (sound) => {
          if (sound.length === 0) return 'empty';
          if (this.#bytes === 0) this.#speech.content();
          this.#bytes += sound.length;
          return this.#speech.chunk(sound) === 'ready' ? 'taken' : 'behind';
        },
        drained: () =>
          new Promise((resolve) => {
            this.#onDrain = resolve;
          }),
      });
      if (ended === 'left') return this.#fault;
      return this.#bytes === 0 ? fault('malformed', 'made no audio from the text') : null;
    } catch (error) {
      return this.#fault ?? faultOfEngine(error);
    } finally {
      timers.stop();
    }
  }
}
