import { gemini } from '../dialects/gemini/index.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import { speechDialects } from '../dialects/speech/index.ts';
import { faultOfEngine } from '../engines/engine-error.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { Loss } from '../neutral/loss.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import type { AudioFormat, SpeechRequest } from '../neutral/speech.ts';
import type { Usage } from '../neutral/usage.ts';
import type { Route, RouteAttempt } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import { answerHeaders } from './answer-headers.ts';
import { Attempt } from './attempt.ts';
import { engineTimers, followEngine } from './follow-engine.ts';
import { type Job, newProgress, type PreparedBody } from './job.ts';
import { readGeminiAnswer, readSoundBytes, type SoundReader } from './read-sound.ts';
import { tellAttempt } from './record-attempt.ts';
import type { Services } from './services.ts';
import { SoundCaller } from './sound-caller.ts';
import { createSoundOutlet, type SoundOutlet, SoundTooLong } from './sound-outlet.ts';
import { createSoundWay, type SoundWay } from './sound-way.ts';
import { conversionOf, type SpeechPlan } from './speech-way.ts';

/** What is to be said, and how each target is to say it. */
export interface SpeechRun {
  request: SpeechRequest;
  plans: ReadonlyMap<Target, SpeechPlan>;
  /** `whole`: in one piece, which may be kept for a repeat of the request. */
  form: 'streamed' | 'whole';
}

/** Of one answer: hours of speech. What goes on beyond it never ends. */
const soundBytesMax = 512 * 1024 * 1024;

type AttemptServices = Pick<Services, 'clock' | 'transport' | 'transcoder'>;

/** One try at one target. Until the first sound has gone out another one may follow. */
export async function speakAt(
  services: AttemptServices,
  job: Job,
  run: SpeechRun,
  attempt: RouteAttempt,
  route: Route,
): Promise<Fault | null> {
  return new Trial(services, job, run, attempt, route).run();
}

class Trial {
  readonly #services: AttemptServices;
  readonly #job: Job;
  readonly #run: SpeechRun;
  readonly #attempt: RouteAttempt;
  readonly #route: Route;
  readonly #plan: SpeechPlan;
  readonly #outlet: SoundOutlet;
  readonly #stopped = new AbortController();
  #losses: readonly Loss[];
  #way: SoundWay | null = null;
  #caller: SoundCaller | null = null;
  /** Wakes an engine's loop that waits for the reader. */
  #onDrain: (() => void) | null = null;
  #fault: Fault | null = null;
  #told: Usage | null = null;
  /** Whether it may have cost something. */
  #ran = false;
  #status: number | null = null;
  #bytes = 0;
  #bytesOut = 0;
  #firstMs: number | null = null;

  constructor(services: AttemptServices, job: Job, run: SpeechRun, attempt: RouteAttempt, route: Route) {
    this.#services = services;
    this.#job = job;
    this.#run = run;
    this.#attempt = attempt;
    this.#route = route;
    this.#plan = run.plans.get(attempt.target)!;
    this.#losses = this.#plan.losses;
    this.#outlet = createSoundOutlet(job.caller, run.request, run.form, () => this.#headers());
  }

  async run(): Promise<Fault | null> {
    const { caller } = this.#job;
    caller.onGone(() => this.#stop(fault('cancelled', 'the caller closed the connection')));
    caller.onDrain(() => this.#way?.readerDrained());
    try {
      const { source } = this.#plan;
      const ended = await (source.kind === 'engine' ? this.#askEngine(source.engine) : this.#askUpstream());
      this.#fault ??= ended;
      // What is still being converted when all was said.
      if (this.#fault === null) this.#fault = (await this.#way?.end()) ?? this.#fault;
      if (this.#fault === null) this.#deliver();
    } finally {
      this.#way?.stop();
      this.#stopped.abort();
    }
    this.#record();
    return this.#fault;
  }

  #deliver(): void {
    this.#served();
    this.#outlet.end(this.#usage(), this.#usageSource);
    if (this.#job.caller.gone) {
      this.#fault = fault('cancelled', 'the caller closed the connection');
      return;
    }
    this.#job.progress.delivered = 'whole';
    this.#job.progress.status = 200;
  }

  /** Null when it has said all. */
  async #askUpstream(): Promise<Fault | null> {
    let reader: SoundReader | null = null;
    const caller = new SoundCaller({
      take: (sound) => this.#take(sound, reader!.came),
      ended: () => {
        this.#told = reader?.usage ?? null;
      },
    });
    this.#caller = caller;
    const body = this.#prepare((contentType) => {
      const { answer } = speechDialects[this.#facts().format];
      reader = answer === 'gemini' ? readGeminiAnswer(contentType) : readSoundBytes(contentType, this.#plan.ask);
      // Before the first sound, so that whoever converts is there when it comes.
      this.#open({ format: this.#plan.ask, rateHz: this.#facts().pcmRateHz ?? null });
      return reader;
    });
    const inner: Job = { ...this.#job, stream: true, caller, progress: newProgress() };
    const call = new Attempt(this.#services, inner, this.#route, this.#attempt, body);
    const ended = await call.run();
    const [record] = inner.progress.attempts;
    this.#status = ended?.status ?? record?.status ?? null;
    this.#bytes = call.bytes;
    this.#firstMs = call.firstTokenMs;
    this.#told ??= call.reader?.usage ?? null;
    this.#ran = record?.usageSource !== undefined && record.usageSource !== 'none';
    return ended;
  }

  #facts() {
    const { source } = this.#plan;
    if (source.kind !== 'upstream') throw new Error('an engine has no wire format');
    return source.facts;
  }

  #prepare(answerReader: NonNullable<PreparedBody['answerReader']>): PreparedBody {
    const { target } = this.#attempt;
    const { connection } = this.#job.providers.get(target.provider)!;
    const facts = this.#facts();
    const { ask, voice, losses } = this.#plan;
    const encoded = speechDialects[facts.format].encode({
      model: target.model,
      voice: voice.name,
      format: ask,
      request: this.#run.request,
      facts,
      apiVersion: connection.apiVersion,
    });
    this.#losses = [...losses, ...encoded.losses];
    return {
      bytes: JSON.stringify({ ...encoded.body, ...target.body }),
      losses: this.#losses,
      answer: 'converted',
      unwrapTool: undefined,
      streamed: true,
      upstreamDialect: connection.provider.dialect === 'gemini' ? gemini : openAiChat,
      endpoint: 'speech',
      path: encoded.path,
      answerReader,
    };
  }

  /** Null when it has said all. */
  async #askEngine(engine: SpeechEngine): Promise<Fault | null> {
    const { input: text, speed } = this.#run.request;
    const { signal } = this.#stopped;
    const { deadlineMs } = this.#job;
    const { clock } = this.#services;
    if (deadlineMs <= clock.monotonicMs()) return fault('deadline', 'the deadline passed');
    const limits = { ...this.#attempt.target.timeouts, deadlineMs };
    const timers = engineTimers(clock, limits, 'made no sound', (found) => this.#stop(found));
    this.#ran = true;
    const made = { format: 'pcm', rateHz: null } as const;
    this.#open(made);
    try {
      const ended = await followEngine(
        engine.speak({ tenant: this.#job.tenant, text, voice: this.#plan.voice.name, speed, signal }),
        {
          timers,
          signal,
          take: (sound) => {
            if (sound.length === 0) return 'empty';
            this.#bytes += sound.length;
            this.#noteFirst();
            return this.#take(sound, made) ? 'taken' : 'behind';
          },
          drained: () =>
            new Promise((resolve) => {
              this.#onDrain = resolve;
            }),
        },
      );
      if (ended === 'left') return this.#fault;
      return this.#firstMs === null ? fault('malformed', 'made no sound of the text') : null;
    } catch (error) {
      return this.#fault ?? faultOfEngine(error);
    } finally {
      timers.stop();
    }
  }

  #noteFirst(): void {
    if (this.#firstMs !== null) return;
    const nowMs = this.#services.clock.monotonicMs();
    this.#firstMs = nowMs - this.#attempt.startedMs;
    this.#route.firstToken(this.#attempt, nowMs);
  }

  /** The way that sound of this kind takes. */
  #open(from: { format: AudioFormat; rateHz: number | null }): void {
    this.#opened = from;
    const conversion = conversionOf(from, this.#run.request.format, this.#plan.tempo);
    this.#way = createSoundWay(conversion, {
      transcoder: this.#services.transcoder.of(this.#job.tenant),
      out: (sound) => this.#out(sound),
      onDrain: () => this.#drained(),
      onFault: (found) => this.#stop(found),
    });
  }

  #opened: { format: AudioFormat; rateHz: number | null } | null = null;

  #take(sound: Buffer, came: { format: AudioFormat; rateHz: number | null }): boolean {
    const { format, rateHz } = this.#opened!;
    // Believe what came: some servers have one format alone.
    if (came.format !== format || (came.rateHz !== null && came.rateHz !== rateHz)) {
      this.#way!.stop();
      this.#open(came);
    }
    return this.#way!.write(sound);
  }

  #out(sound: Buffer): boolean {
    if (this.#fault !== null) return true;
    this.#served();
    this.#bytesOut += sound.length;
    if (this.#bytesOut > soundBytesMax) {
      this.#stop(fault('malformed', 'sent over 512 MB of sound'));
      return true;
    }
    try {
      return this.#outlet.write(sound);
    } catch (error) {
      if (!(error instanceof SoundTooLong)) throw error;
      this.#stop(fault('malformed', 'sent more sound than is kept for an answer in one piece'));
      return true;
    } finally {
      if (this.#outlet.started) this.#job.progress.delivered = 'partial';
    }
  }

  #served(): void {
    const { progress } = this.#job;
    progress.answeredBy = this.#attempt;
    progress.losses = this.#losses;
    progress.passThrough = false;
  }

  #drained(): void {
    this.#onDrain?.();
    this.#onDrain = null;
    this.#caller?.drained();
  }

  #stop(found: Fault): void {
    this.#fault ??= found;
    this.#stopped.abort();
    this.#way?.stop();
    this.#caller?.leave();
  }

  #headers(): readonly string[] {
    return answerHeaders(this.#job, this.#attempt, { losses: this.#losses });
  }

  get #usageSource(): 'upstream' | 'counted' {
    return this.#told === null ? 'counted' : 'upstream';
  }

  #usage(): Usage {
    const { characters } = this.#run.request;
    const { inputTokens, outputTokens } = this.#told ?? {
      inputTokens: this.#job.inputTokensEstimate,
      outputTokens: 0,
    };
    return { inputTokens, outputTokens, characters };
  }

  #record(): void {
    const { progress } = this.#job;
    const served = progress.answeredBy === this.#attempt;
    const counted = this.#usageSource;
    const usage = served || this.#ran ? this.#usage() : null;
    if (served) {
      progress.usage = usage;
      progress.usageSource = counted;
      progress.firstTokenMs = this.#firstMs;
    }
    const seen = {
      status: this.#status,
      bytes: this.#bytes,
      firstTokenMs: this.#firstMs,
      usage,
      usageSource: served ? counted : usage === null ? 'none' : 'abandoned',
    } as const;
    tellAttempt(this.#job, this.#attempt, seen, this.#fault, this.#services.clock.monotonicMs());
  }
}
