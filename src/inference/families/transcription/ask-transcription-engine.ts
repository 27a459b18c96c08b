import { AudioFault } from '../../../engines/audio/audio-fault.ts';
import { faultOfEngine } from '../../../engines/engine-error.ts';
import type { TranscribedSegment, TranscriptionEngine } from '../../../engines/transcription-engine.ts';
import { deltaEvent, doneEvent, TextPieces } from '../../../formats/media/transcription/events.ts';
import { lossesOf } from '../../../formats/media/transcription/format.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { Transcript, TranscriptionRequest } from '../../../formats/neutral/transcript.ts';
import type { AttemptTimers } from '../../../upstream/transport/timers.ts';
import { type Answer, type AnswerFacts, answeredElsewhere } from '../../spine/answer.ts';
import { usageOf } from '../../spine/attempts/attempt.ts';
import { engineTimers, followEngine } from '../../spine/attempts/follow-engine.ts';
import type { AttemptSeen, Trial } from '../../spine/attempts/trial.ts';
import type { AttemptParts, Job } from '../../spine/job.ts';
import type { TranscriptionRun } from './transcription-attempt.ts';
import { typeOfTranscript, writeTranscript } from './write-transcript.ts';

interface TrialParts {
  services: Pick<AttemptParts, 'clock'>;
  job: Pick<Job, 'tenant' | 'deadlineMs' | 'inputTokensEstimate'>;
  run: TranscriptionRun;
  engine: TranscriptionEngine;
  answer: Answer;
}

/** One attempt at an engine of this machine. */
export class TranscriptionEngineTrial implements Trial {
  readonly shows = null;
  readonly signs = 0;
  readonly #parts: TrialParts;
  readonly #segments: TranscribedSegment[] = [];
  readonly #pieces = new TextPieces();
  readonly #left = new AbortController();
  #fault: Fault | null = null;
  #begun = false;
  #onDrain: (() => void) | null = null;

  constructor(parts: TrialParts) {
    this.#parts = parts;
  }

  async run(): Promise<Fault | null> {
    const { services, job, run, answer } = this.#parts;
    const { deadlineMs } = job;
    const { clock } = services;
    if (deadlineMs <= clock.monotonicMs()) return fault('deadline', 'the deadline passed');
    const { firstTokenMs, idleMs, totalMs } = answer.attempt.target.timeouts;
    // A whole answer shows nothing until its end: only the total counts.
    const [first, idle] = run.request.stream ? [firstTokenMs, idleMs] : [totalMs, totalMs];
    const limits = { firstTokenMs: first, idleMs: idle, totalMs, deadlineMs };
    const timers = engineTimers(clock, limits, 'found no text', (found) => this.stop(found));
    try {
      this.#fault ??= await this.#listen(timers);
      if (this.#fault === null) await this.#deliver();
    } finally {
      timers.stop();
      this.#left.abort();
    }
    return this.#fault;
  }

  stop(why: Fault): void {
    this.#fault ??= why;
    this.#left.abort();
  }

  seen(served: boolean, outcome: Fault | null): AttemptSeen {
    const { inputTokensEstimate } = this.#parts.job;
    return { status: null, bytes: 0, ...usageOf({ inputTokensEstimate, bytes: '' }, null, served, outcome) };
  }

  async #listen(timers: AttemptTimers): Promise<Fault | null> {
    const { job, run, engine, answer } = this.#parts;
    const { request, sound } = run;
    const { signal } = this.#left;
    const segments = engine.transcribe({
      tenant: job.tenant,
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
          answer.noteFirst();
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
      return this.#fault ?? engineFault(error);
    }
  }

  /** False: the reader is behind. */
  #write(piece: string): boolean {
    return piece === '' || (this.#begin() && this.#parts.answer.chunk(deltaEvent(piece)) === 'ready');
  }

  /** False: the answer is another's. */
  #begin(): boolean {
    if (this.#begun) return true;
    const { run, answer } = this.#parts;
    const { request } = run;
    const facts: AnswerFacts = {
      losses: lossesOf(request, 'temperature'),
      answer: 'converted',
      ...(!request.stream && { answerType: typeOfTranscript[request.format] }),
    };
    this.#begun = answer.begin(request.stream ? 'events' : 'whole', facts);
    if (this.#begun) answer.onDrain(() => this.#onDrain?.());
    else this.stop(answeredElsewhere());
    return this.#begun;
  }

  async #deliver(): Promise<void> {
    const { run, answer } = this.#parts;
    const { request, sound } = run;
    answer.noteFirst();
    const durationMs = request.format === 'verbose_json' && !request.stream ? await sound.durationMs() : null;
    // A caller that left meanwhile has no answer.
    if (this.#fault !== null || !this.#begin()) return;
    answer.chunk(
      request.stream
        ? doneEvent(this.#pieces.text, null)
        : writeTranscript(request, transcriptOf(this.#segments, request, durationMs)),
    );
    answer.end();
  }
}

function engineFault(error: unknown): Fault {
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
    reported: null,
  };
}
