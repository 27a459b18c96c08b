import { AudioFault } from '../audio/audio-fault.ts';
import { deltaEvent, doneEvent, TextPieces } from '../dialects/transcription/events.ts';
import { faultOfEngine } from '../engines/engine-error.ts';
import type { TranscribedSegment, TranscriptionEngine } from '../engines/transcription-engine.ts';
import type { Loss } from '../neutral/loss.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import type { Transcript, TranscriptionRequest } from '../neutral/transcript.ts';
import type { Route, RouteAttempt } from '../routing/route.ts';
import { type AttemptTimers, createAttemptTimers, type ExpiredTimer } from '../transport/timers.ts';
import { answerHeaders } from './answer-headers.ts';
import type { AttemptParts, Job } from './job.ts';
import { recordAttempt } from './record-attempt.ts';
import type { TranscriptionRun } from './transcription-attempt.ts';
import { typeOfTranscript, writeTranscript } from './write-transcript.ts';

/** One try at an engine of this machine. One that answers nothing any more is left behind. */
export async function askTranscriptionEngine(
  parts: Pick<AttemptParts, 'clock'>,
  job: Job,
  run: TranscriptionRun,
  engine: TranscriptionEngine,
  attempt: RouteAttempt,
  route: Pick<Route, 'firstToken'>,
): Promise<Fault | null> {
  const trial = new EngineTrial(parts, job, run, engine, attempt, route);
  const ended = await trial.run();
  const seen = { status: null, bytes: 0, firstTokenMs: trial.firstMs, reader: null };
  recordAttempt(job, attempt, seen, ended, parts.clock.monotonicMs());
  return ended;
}

class EngineTrial {
  firstMs: number | null = null;
  readonly #parts: Pick<AttemptParts, 'clock'>;
  readonly #job: Job;
  readonly #run: TranscriptionRun;
  readonly #engine: TranscriptionEngine;
  readonly #attempt: RouteAttempt;
  readonly #route: Pick<Route, 'firstToken'>;
  readonly #segments: TranscribedSegment[] = [];
  readonly #pieces = new TextPieces();
  readonly #left = new AbortController();
  #fault: Fault | null = null;
  #onDrain: (() => void) | null = null;

  constructor(
    parts: Pick<AttemptParts, 'clock'>,
    job: Job,
    run: TranscriptionRun,
    engine: TranscriptionEngine,
    attempt: RouteAttempt,
    route: Pick<Route, 'firstToken'>,
  ) {
    this.#parts = parts;
    this.#job = job;
    this.#run = run;
    this.#engine = engine;
    this.#attempt = attempt;
    this.#route = route;
  }

  async run(): Promise<Fault | null> {
    const { caller, deadlineMs } = this.#job;
    caller.onGone(() => this.#stop(fault('cancelled', 'the caller closed the connection')));
    caller.onDrain(() => this.#onDrain?.());
    const nowMs = this.#parts.clock.monotonicMs();
    if (deadlineMs <= nowMs) return fault('deadline', 'the deadline passed');
    const { timeouts } = this.#attempt.target;
    const timers = createAttemptTimers(
      {
        // A whole answer shows nothing until its end: only the total counts.
        firstTokenMs: this.#run.request.stream ? timeouts.firstTokenMs : timeouts.totalMs,
        idleMs: this.#run.request.stream ? timeouts.idleMs : timeouts.totalMs,
        totalDeadlineMs: Math.min(nowMs + timeouts.totalMs, deadlineMs),
      },
      (kind) => this.#stop(this.#expired(kind)),
    );
    try {
      this.#fault ??= await this.#listen(timers);
      if (this.#fault === null) await this.#deliver();
    } finally {
      timers.stop();
      this.#left.abort();
    }
    return this.#fault;
  }

  async #listen(timers: AttemptTimers): Promise<Fault | null> {
    const { request, sound } = this.#run;
    const { signal } = this.#left;
    const left = new Promise<'left'>((resolve) => signal.addEventListener('abort', () => resolve('left')));
    const segments = this.#engine
      .transcribe({
        path: sound.path,
        language: request.language,
        prompt: request.prompt,
        task: request.task === 'translate' ? 'english' : 'as-spoken',
        words: request.lists.words ? 'wanted' : 'not-needed',
        signal,
      })
      [Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await Promise.race([segments.next(), left]);
        if (next === 'left') return this.#fault;
        if (next.done === true) return null;
        timers.content();
        this.#noteFirst();
        this.#segments.push(next.value);
        if (!request.stream || this.#write(this.#pieces.add(next.value.text))) continue;
        timers.pause();
        const drained = new Promise<void>((resolve) => {
          this.#onDrain = resolve;
        });
        await Promise.race([drained, left]);
        timers.resume();
      }
    } catch (error) {
      return this.#fault ?? faultOf(error);
    } finally {
      // Told, not waited for: an engine that hangs would hang its caller too.
      void segments.return?.().catch(() => {});
    }
  }

  #noteFirst(): void {
    if (this.firstMs !== null) return;
    const nowMs = this.#parts.clock.monotonicMs();
    this.firstMs = nowMs - this.#attempt.startedMs;
    this.#route.firstToken(this.#attempt, nowMs);
  }

  /** False: the reader is behind. */
  #write(piece: string): boolean {
    if (piece === '') return true;
    this.#commit();
    return this.#job.caller.write(deltaEvent(piece));
  }

  #commit(): void {
    const { progress, caller } = this.#job;
    if (progress.delivered !== 'nothing') return;
    this.#served();
    progress.delivered = 'partial';
    caller.startStream(this.#headers());
  }

  async #deliver(): Promise<void> {
    const { caller, progress } = this.#job;
    const { request, sound } = this.#run;
    this.#noteFirst();
    if (request.stream) {
      this.#commit();
      caller.write(doneEvent(this.#pieces.text, null));
      caller.endStream();
    } else {
      const durationMs = request.format === 'verbose_json' ? await sound.durationMs() : null;
      // Whoever left meanwhile has no answer.
      if (this.#fault !== null) return;
      this.#served();
      const body = writeTranscript(request, transcriptOf(this.#segments, request, durationMs));
      caller.answer(200, [...this.#headers(), 'content-type', typeOfTranscript[request.format]], body);
    }
    progress.delivered = 'whole';
    progress.status = 200;
  }

  #served(): void {
    const { progress } = this.#job;
    progress.answeredBy = this.#attempt;
    progress.losses = lossesOf(this.#run.request);
    progress.passThrough = false;
  }

  #headers(): readonly string[] {
    return answerHeaders(this.#job, this.#attempt, { losses: lossesOf(this.#run.request) });
  }

  #stop(found: Fault): void {
    this.#fault ??= found;
    this.#left.abort();
  }

  #expired(kind: ExpiredTimer): Fault {
    const { timeouts } = this.#attempt.target;
    if (kind === 'first-token')
      return fault('stall_first_token', `found no text within ${timeouts.firstTokenMs / 1_000} s`);
    if (kind === 'idle') return fault('stall_idle', `went silent for ${timeouts.idleMs / 1_000} s`);
    const overall = this.#job.deadlineMs <= this.#parts.clock.monotonicMs() + 1;
    return fault(overall ? 'deadline' : 'stall_idle', 'did not finish within the total timeout');
  }
}

function faultOf(error: unknown): Fault {
  if (error instanceof AudioFault && (error.reason === 'unreadable' || error.reason === 'too-long')) {
    return { ...fault('caller_fault', `the audio ${error.message}`, 400), param: 'file' };
  }
  return faultOfEngine(error);
}

function transcriptOf(
  segments: readonly TranscribedSegment[],
  { lists }: TranscriptionRequest,
  durationMs: number | null,
): Transcript {
  const words = segments.flatMap((segment) => segment.words ?? []);
  return {
    text: segments
      .map(({ text }) => text)
      .join('')
      .trim(),
    language: segments.find(({ language }) => language !== null)?.language ?? null,
    durationS: durationMs === null ? null : durationMs / 1_000,
    segments,
    words: lists.words && words.length > 0 ? words : null,
    told: null,
  };
}

function lossesOf({ temperature, include, extra }: TranscriptionRequest): Loss[] {
  const losses: Loss[] = extra.map(({ name }) => ({ field: name, why: 'unknown' }));
  if (temperature !== null) losses.push({ field: 'temperature', why: 'unsupported' });
  if (include.length > 0) losses.push({ field: 'include', why: 'unsupported' });
  return losses;
}
