import { AudioFault } from '../audio/audio-fault.ts';
import { deltaEvent, doneEvent, TextPieces } from '../dialects/transcription/events.ts';
import { faultOfEngine } from '../engines/engine-error.ts';
import type { TranscribedSegment, TranscriptionEngine } from '../engines/transcription-engine.ts';
import type { Loss } from '../neutral/loss.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import type { Transcript, TranscriptionRequest } from '../neutral/transcript.ts';
import type { Route, RouteAttempt } from '../routing/route.ts';
import type { AttemptTimers } from '../transport/timers.ts';
import { answerHeaders } from './answer-headers.ts';
import { engineTimers, followEngine } from './follow-engine.ts';
import type { AttemptParts, Job } from './job.ts';
import { recordAttempt } from './record-attempt.ts';
import type { TranscriptionRun } from './transcription-attempt.ts';
import { typeOfTranscript, writeTranscript } from './write-transcript.ts';

/** One try at an engine of this machine. */
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
    const { clock } = this.#parts;
    if (deadlineMs <= clock.monotonicMs()) return fault('deadline', 'the deadline passed');
    const { firstTokenMs, idleMs, totalMs } = this.#attempt.target.timeouts;
    // A whole answer shows nothing until its end: only the total counts.
    const [first, idle] = this.#run.request.stream ? [firstTokenMs, idleMs] : [totalMs, totalMs];
    const limits = { firstTokenMs: first, idleMs: idle, totalMs, deadlineMs };
    const timers = engineTimers(clock, limits, 'found no text', (found) => this.#stop(found));
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
    const segments = this.#engine.transcribe({
      tenant: this.#job.tenant,
      path: sound.path,
      language: request.language,
      prompt: request.prompt,
      task: request.task === 'translate' ? 'english' : 'as-spoken',
      words: request.lists.words ? 'wanted' : 'not-needed',
      signal,
    });
    try {
      const ended = await followEngine(segments, {
        timers,
        signal,
        take: (segment) => {
          this.#noteFirst();
          this.#segments.push(segment);
          return !request.stream || this.#write(this.#pieces.add(segment.text)) ? 'taken' : 'behind';
        },
        drained: () =>
          new Promise((resolve) => {
            this.#onDrain = resolve;
          }),
      });
      return ended === 'left' ? this.#fault : null;
    } catch (error) {
      return this.#fault ?? faultOf(error);
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
