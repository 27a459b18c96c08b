import { faultOfEngine } from '../../../engines/engine-error.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import { speechDialects } from '../../../formats/media/speech/index.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { AudioFormat, SpeechRequest } from '../../../formats/neutral/speech.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import type { Target } from '../../../routing/target.ts';
import type { Answer } from '../../spine/answer.ts';
import { Attempt } from '../../spine/attempts/attempt.ts';
import { engineTimers, followEngine } from '../../spine/attempts/follow-engine.ts';
import { otherFormat, otherFormatsMax, refusesFormat } from '../../spine/attempts/refused-formats.ts';
import type { AttemptSeen, Trial } from '../../spine/attempts/trial.ts';
import type { Job, PreparedBody } from '../../spine/job.ts';
import { readGeminiAnswer, readOpenAiAnswer, type SoundReader } from './read-sound.ts';
import type { SpeechServices } from './services.ts';
import { type SoundForm, SpeechAnswer } from './speech-answer.ts';
import { bestToConvert, conversionOf, type SpeechPlan, type SpeechSource } from './speech-way.ts';

/** The text to speak, and the way for each target. */
export interface SpeechRun {
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
  return source.kind === 'engine'
    ? new SpeechEngineTrial(services, job, run, plan, source.engine, answer)
    : new SpeechTrial(services, job, run, plan, source, answer);
}

type UpstreamSource = Extract<SpeechSource, { kind: 'upstream' }>;

class SpeechTrial implements Trial {
  /** Some servers make all of it before they say anything. */
  readonly shows = null;
  readonly #services: TrialServices;
  readonly #job: TrialJob;
  readonly #run: SpeechRun;
  readonly #source: UpstreamSource;
  readonly #answer: Answer;
  #plan: SpeechPlan;
  #stopped: Fault | null = null;
  #speech!: SpeechAnswer;
  #call!: Attempt;

  constructor(
    services: TrialServices,
    job: TrialJob,
    run: SpeechRun,
    plan: SpeechPlan,
    source: UpstreamSource,
    answer: Answer,
  ) {
    this.#services = services;
    this.#job = job;
    this.#run = run;
    this.#plan = plan;
    this.#source = source;
    this.#answer = answer;
    this.#prepare();
  }

  get signs(): number {
    return this.#call.signs;
  }

  async run(): Promise<Fault | null> {
    const { target } = this.#answer.attempt;
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
    if (outcome === null && refused.length > 0) this.#services.refusedFormats.remember('speech', target.id, refused);
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
    const { request } = this.#run;
    const rateHz = this.#source.facts.pcmRateHz ?? null;
    const conversion = conversionOf({ format, rateHz }, request.format, this.#plan.tempo);
    return conversion === null || this.#services.transcoder.refusal(conversion) === null;
  }

  #prepare(): void {
    const { request, form } = this.#run;
    const { transcoder } = this.#services;
    const plan = this.#plan;
    const { facts } = this.#source;
    const requested: SoundForm = { format: plan.ask, rateHz: facts.pcmRateHz ?? null };
    const { tenant, inputTokensEstimate } = this.#job;
    let reader: SoundReader | null = null;
    const speechAnswer = new SpeechAnswer(this.#answer, {
      transcoder,
      tenant,
      request,
      plan,
      form,
      came: () => reader?.came ?? requested,
      reportedUsage: () => reader?.usage ?? null,
      inputTokensEstimate,
    });
    const { attempt } = this.#answer;
    const { body, losses } = prepared(this.#job, request, plan, this.#source, attempt.target, (contentType) => {
      const { answer } = speechDialects[facts.format];
      reader = answer === 'gemini' ? readGeminiAnswer(contentType) : readOpenAiAnswer(contentType, plan.ask);
      speechAnswer.open(requested);
      return reader;
    });
    speechAnswer.losses = [...plan.losses, ...losses];
    this.#speech = speechAnswer;
    this.#call = new Attempt(this.#services, this.#job, attempt, body, speechAnswer);
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
  readonly #services: TrialServices;
  readonly #job: TrialJob;
  readonly #request: SpeechRequest;
  readonly #voice: string;
  readonly #engine: SpeechEngine;
  readonly #made: SoundForm;
  readonly #answer: Answer;
  readonly #speech: SpeechAnswer;
  readonly #stopped = new AbortController();
  /** Wakes the engine's loop that waits for the reader. */
  #onDrain: (() => void) | null = null;
  #fault: Fault | null = null;
  #ran = false;
  #bytes = 0;

  constructor(
    services: TrialServices,
    job: TrialJob,
    { request, form }: SpeechRun,
    plan: SpeechPlan,
    engine: SpeechEngine,
    answer: Answer,
  ) {
    this.#services = services;
    this.#job = job;
    this.#request = request;
    this.#voice = plan.voice.name;
    this.#engine = engine;
    this.#made = { format: 'pcm', rateHz: engine.sampleRateHz };
    this.#answer = answer;
    const { tenant, inputTokensEstimate } = job;
    const { transcoder } = services;
    const sound = { came: () => this.#made, reportedUsage: () => null };
    this.#speech = new SpeechAnswer(answer, { transcoder, tenant, request, plan, form, ...sound, inputTokensEstimate });
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
    const { input: text, speed } = this.#request;
    const { signal } = this.#stopped;
    const { deadlineMs, tenant } = this.#job;
    const { clock } = this.#services;
    if (deadlineMs <= clock.monotonicMs()) return fault('deadline', 'the deadline passed');
    const limits = { ...this.#answer.attempt.target.timeouts, deadlineMs };
    const timers = engineTimers(clock, limits, 'made no audio', (found) => this.stop(found));
    this.#ran = true;
    this.#speech.open(this.#made);
    try {
      const ended = await followEngine(this.#engine.speak({ tenant, text, voice: this.#voice, speed, signal }), {
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
