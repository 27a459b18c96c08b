import { AudioFault } from '../../../engines/audio/audio-fault.ts';
import { sniffAudio, sniffBytesNeeded } from '../../../engines/audio/sniff.ts';
import { faultOfEngine } from '../../../engines/engine-error.ts';
import type { TranscribedSegment, TranscriptionEngine } from '../../../engines/transcription-engine.ts';
import { deltaEvent, doneEvent, TextPieces } from '../../../formats/media/transcription/events.ts';
import { lossesOf, needsTimes } from '../../../formats/media/transcription/format.ts';
import { readTranscriptionRequest } from '../../../formats/media/transcription/read-request.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { usdOf } from '../../../formats/neutral/price.ts';
import type { Transcript, TranscriptionRequest } from '../../../formats/neutral/transcript.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import type { SpooledFile } from '../../../net/spool.ts';
import type { Target } from '../../../routing/target.ts';
import type { AttemptTimers } from '../../../upstream/transport/timers.ts';
import { type Answer, type AnswerFacts, answeredElsewhere } from '../../spine/answer.ts';
import { usageOf } from '../../spine/attempts/attempt.ts';
import { engineTimers, followEngine } from '../../spine/attempts/follow-engine.ts';
import { runAttempts } from '../../spine/attempts/run-attempts.ts';
import type { AttemptSeen, Trial } from '../../spine/attempts/trial.ts';
import type { Endpoint, Plan, Trials } from '../../spine/endpoint.ts';
import { contentOfForm, objectInForm, type UploadedForm } from '../../spine/form-content.ts';
import type { AttemptParts, Job } from '../../spine/job.ts';
import { plainQuery } from '../../spine/plain-request.ts';
import { readableForm } from '../../spine/readable-input.ts';
import { plainFacts, type RequestBody, type RequestFacts } from '../../spine/request-body.ts';
import type { TranscriptionServices } from './services.ts';
import { type TranscriptionRun, TranscriptionTrial } from './transcription-attempt.ts';
import { type TranscriptionPlan, transcriptionWay } from './transcription-way.ts';
import { createUploadedSound, type UploadedSound } from './uploaded-sound.ts';
import { typeOfTranscript, writeTranscript } from './write-transcript.ts';

type TranscriptionBody = RequestBody & { request: TranscriptionRequest; sound: UploadedSound };

interface TranscribedPlan extends Plan {
  plans: ReadonlyMap<Target, TranscriptionPlan>;
}

/** Transcripts of uploaded files, or their translations; the form's own file is its receiver's to remove. */
export function transcriptionEndpoint(
  services: TranscriptionServices,
  id: 'transcription' | 'translation',
): Endpoint<UploadedForm, TranscriptionBody, TranscribedPlan> {
  return {
    id,
    cost: 'transcription',
    async read({ principal }, form) {
      const task = id === 'translation' ? 'translate' : 'transcribe';
      const request = objectInForm(form) ?? readTranscriptionRequest(form.fields, task);
      if (isFailure(request)) return request;
      const file = fileOf(form);
      if (isFailure(file)) return file;
      const sniffed = sniffAudio(await file.head(sniffBytesNeeded));
      if (sniffed === null) return notAudio(file.bytes);
      const sound = createUploadedSound({ transcoder: services.transcoder.of(principal.tenant) }, file, sniffed);
      return { facts: factsOf(request, sound), request, sound, release: () => sound.release() };
    },
    readable: (_call, form) => readableForm(form, (changed) => changed),
    content: (form) => contentOfForm(form),
    keeps: () => 'bytes',
    plan(snapshot, { principal, preferences }, { facts, request, sound }) {
      const way = transcriptionWay(services, snapshot, request, facts.needs, sound, principal);
      if (isFailure(way)) return way;
      const query = plainQuery(way, facts, preferences, principal.tenant);
      const form = request.stream ? 'events' : 'whole';
      return { alias: way.alias, charged: way.alias, calls: 1, query, form, plans: way.plans };
    },
    trials({ request: { request, sound }, plan: { plans } }, job) {
      const run: TranscriptionRun = { request, sound, plans };
      const trial: Trials['trial'] = (answer) => {
        const plan = knownEntry(plans, answer.attempt.target);
        const parts = { services, job, run, answer };
        return plan.kind === 'engine'
          ? new TranscriptionEngineTrial({ ...parts, engine: plan.engine })
          : new TranscriptionTrial({ ...parts, plan });
      };
      return {
        trial,
        async run() {
          await foresee(request, sound);
          await runAttempts(services, job, { trial });
          await measure(job, sound);
        },
      };
    },
  };
}

/**
 * The length of the audio is measured during the transcription, unless the transcriber will give it. For a wav it takes
 * a look at its first bytes, so a caller with an answer finds it in the ledger.
 */
async function foresee(request: TranscriptionRequest, sound: UploadedSound): Promise<void> {
  if (sound.sniffed.container === 'wav') await sound.durationMs();
  else if (!needsTimes(request)) void sound.durationMs();
}

/** Length of the audio when the transcriber did not give it, for prices by the minute. */
async function measure({ progress, atMs }: Job, sound: UploadedSound): Promise<void> {
  const { usage, attempts } = progress;
  if (progress.delivered === 'nothing' || usage === null || usage.audioMs !== undefined) return;
  const durationMs = await sound.durationMs();
  const last = attempts.at(-1);
  if (durationMs === null || last === undefined) return;
  progress.usage = { ...usage, audioMs: Math.round(durationMs) };
  const price = progress.answeredBy?.target.price ?? null;
  attempts[attempts.length - 1] = { ...last, usage: progress.usage, costUsd: usdOf(progress.usage, price, atMs) };
}

function fileOf({ files }: UploadedForm): SpooledFile | Failure {
  const [first] = files;
  if (first === undefined) {
    const message = "Missing 'file': send the audio as a file of the form, such as mp3, mp4, wav, webm, ogg or flac.";
    return invalid('file', message);
  }
  if (first.name !== 'file') {
    return invalid('file', `The form has its file as '${first.name.slice(0, 80)}'. Send it as 'file'.`);
  }
  return first.file.bytes === 0 ? invalid('file', "'file' is empty: it has 0 bytes.") : first.file;
}

function notAudio(bytes: number): Failure {
  const message = `'file' is not known audio: its ${bytes} bytes do not begin like mp3, mp4, m4a, wav, webm, ogg, flac, aac, aiff or amr. The name of the file does not matter.`;
  return invalid('file', message);
}

function factsOf(request: TranscriptionRequest, sound: UploadedSound): RequestFacts {
  const { model, user, timestamps, task, stream } = request;
  const speakers = request.format === 'diarized_json';
  const transcription = { timestamps, task, speakers, fileBytes: sound.bytes };
  return plainFacts({ model, user, stream, inputTokensEstimate: 0 }, { transcription });
}

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
