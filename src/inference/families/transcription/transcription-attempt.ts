import { randomBytes } from 'node:crypto';
import { AudioFault } from '../../../engines/audio/audio-fault.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import { readTranscriptEvents } from '../../../formats/media/transcription/events.ts';
import type { TranscriptionDialect, TranscriptionOrder } from '../../../formats/media/transcription/format.ts';
import { transcriptionDialects } from '../../../formats/media/transcription/index.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { TranscriptionRequest } from '../../../formats/neutral/transcript.ts';
import type { Usage } from '../../../formats/neutral/usage.ts';
import { FailureError, statusOf } from '../../../kernel/failure.ts';
import { isObject } from '../../../kernel/json.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { upstreamErrorBytesMax } from '../../../kernel/limits.ts';
import type { Target } from '../../../routing/target.ts';
import { wholeAnswer } from '../../../upstream/transport/whole-answer.ts';
import { type Answer, type AnswerFacts, answeredElsewhere, StreamedAnswer, WholeAnswer } from '../../spine/answer.ts';
import { type AnswerReader, GatheredWhole, parseAnswer, UnlikeAnswer, WholeBody } from '../../spine/answer-reader.ts';
import { Attempt } from '../../spine/attempts/attempt.ts';
import { statusFault } from '../../spine/attempts/attempt-faults.ts';
import { endOfJob } from '../../spine/attempts/polled-job.ts';
import {
  otherFormat,
  otherFormatsMax,
  type RefusedFormats,
  refusesFormat,
} from '../../spine/attempts/refused-formats.ts';
import type { AttemptSeen, Trial } from '../../spine/attempts/trial.ts';
import type { AttemptParts, Job, PreparedBody } from '../../spine/job.ts';
import { PassedStream } from '../../spine/pass-through.ts';
import type { AttemptSink, AttemptSource, Bytes, Pace } from '../../spine/sink.ts';
import { uploadOf } from '../../spine/upload-body.ts';
import type { TranscriptionPlan } from './transcription-way.ts';
import type { SentAs, SoundToSend, UploadedSound } from './uploaded-sound.ts';
import { typeOfTranscript, writeTranscript, writeTranscriptEvents } from './write-transcript.ts';

/** The file to transcribe, and the way for each target. */
export interface TranscriptionRun {
  request: TranscriptionRequest;
  sound: UploadedSound;
  plans: ReadonlyMap<Target, TranscriptionPlan>;
}

export type UpstreamPlan = Extract<TranscriptionPlan, { kind: 'upstream' }>;

interface TrialParts {
  services: AttemptParts & { refusedFormats: RefusedFormats };
  job: Job;
  run: TranscriptionRun;
  plan: UpstreamPlan;
  answer: Answer;
}

/** Until an order is taken; the job itself may take longer. */
const orderTimeoutMs = 30_000;

/** Lossless formats before lossy ones. */
const formatsByQuality: readonly SentAs[] = ['wav', 'flac', 'mp3'];

/** One attempt at an upstream; the file is read again for each, in a format that it takes. */
export class TranscriptionTrial implements Trial {
  /** A long file takes minutes in silence. */
  readonly shows = null;
  readonly #parts: TrialParts;
  #stopped: Fault | null = null;
  /** Null while the file is converted. */
  #call: Attempt | null = null;
  /** Reported usage of a job that was waited for. */
  #reported: Usage | null = null;
  readonly #ending = new AbortController();

  constructor(parts: TrialParts) {
    this.#parts = parts;
  }

  get signs(): number {
    return this.#call?.signs ?? 0;
  }

  async run(): Promise<Fault | null> {
    const { services, run, plan, answer } = this.#parts;
    const { sendAs } = plan;
    const { target } = answer.attempt;
    const first = await this.#send(sendAs);
    const refused = [sendAs ?? run.sound.sniffed.extension];
    let outcome = first;
    while (outcome !== null && this.#stopped === null && refusesFormat(outcome) && refused.length <= otherFormatsMax) {
      const other = otherFormat(outcome, formatsByQuality, refused);
      if (other === null) break;
      outcome = await this.#send(other);
      if (outcome === null) services.refusedFormats.remember('transcription', target.id, refused);
      else refused.push(other);
    }
    if (outcome === null || this.#stopped !== null) return outcome;
    // Its first refusal was of the caller's own file; a failed conversion to another form helps nobody.
    return ofTheFile.has(outcome.class) ? first : outcome;
  }

  async #send(sendAs: SentAs | null): Promise<Fault | null> {
    const sound = await this.#soundToSend(sendAs);
    if (this.#stopped !== null) return this.#stopped;
    if ('class' in sound) return sound;
    const { services, job, run, plan, answer } = this.#parts;
    const { request } = run;
    const { body, facts, order } = prepared(job, run, plan, answer.attempt.target, sound);
    const given = request.stream ? new StreamedAnswer(answer, facts) : new WholeAnswer(answer, facts);
    const dialect = transcriptionDialects[plan.facts.format];
    const { job: later } = dialect;
    const sink =
      later === undefined
        ? given
        : new OrderedTranscript(given, new WholeTranscript(dialect, request), {
            ended: (uploaded) => this.#ordered(later, order, uploaded),
            reported: (usage) => {
              this.#reported = usage;
            },
          });
    this.#call = new Attempt(services, job, answer.attempt, body, sink);
    return this.#call.run();
  }

  stop(why: Fault): void {
    this.#stopped ??= why;
    this.#ending.abort();
    if (this.#call !== null) this.#call.stop(why);
    else this.#parts.run.sound.stop();
  }

  seen(served: boolean, outcome: Fault | null): AttemptSeen {
    const seen = this.#call?.seen(served, outcome) ?? { status: null, bytes: 0, usage: null, usageSource: 'none' };
    return this.#reported === null ? seen : { ...seen, usage: this.#reported, usageSource: 'upstream' };
  }

  /** Orders a transcript of a file that is there, and waits for it: the state with which the job ended. */
  async #ordered(
    later: NonNullable<TranscriptionDialect['job']>,
    order: TranscriptionOrder,
    uploaded: Buffer,
  ): Promise<Buffer | Fault> {
    const { services, job, answer } = this.#parts;
    const { target, credential } = answer.attempt;
    const { connection } = knownEntry(job.providers, target.provider);
    const { value } = parseAnswer(uploaded);
    const jobOrder = isObject(value) ? later.order(value, order) : null;
    if (jobOrder === null) return fault('malformed', 'answered without a location of the file');
    const { whole, authorize } = knownEntry(connection.credentials, credential.id);
    const { origin, route, basePath } = connection;
    const sent = { method: 'POST', path: basePath + jobOrder.path, body: JSON.stringify(jobOrder.body) } as const;
    const request = { origin, route, authorize, headers: whole, ...sent };
    const deadline = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(orderTimeoutMs)]);
    const bounds = { connectTimeoutMs: target.timeouts.connectMs, bytesMax: upstreamErrorBytesMax, deadline };
    const answered = await wholeAnswer(services.transport, request, bounds).catch(() => null);
    if (this.#stopped !== null) return this.#stopped;
    if (answered === null) return fault('transient', 'did not answer the request for a transcript');
    if (answered.status >= 300) {
      const refusal = { status: answered.status, headers: null, body: answered.bytes };
      return statusFault(refusal, dialects[connection.provider.dialect], connection, services.clock.wallMs());
    }
    const { value: begun } = parseAnswer(answered.bytes);
    const at = isObject(begun) ? later.at(begun, order) : null;
    if (at === null) return fault('malformed', 'answered without the id of a transcript');
    return endOfJob(
      services,
      { connection, credential: credential.id, url: new URL(origin + basePath + at), runs: later.runs },
      { deadlineMs: job.deadlineMs, signal: this.#ending.signal },
    );
  }

  /** Converting takes a while: it ends when the client leaves or the deadline comes. */
  async #soundToSend(sendAs: SentAs | null): Promise<SoundToSend | Fault> {
    const { services, job, run, plan } = this.#parts;
    const { sound } = run;
    const { deadlineMs } = job;
    const { clock } = services;
    const deadline = setTimeout(() => sound.stop(), Math.max(0, deadlineMs - clock.monotonicMs()));
    try {
      const sent = await sound.as(sendAs);
      const { fileBytesMax } = plan.facts;
      if (fileBytesMax === undefined || sent.bytes <= fileBytesMax) return sent;
      const mb = Math.floor(fileBytesMax / 1024 / 1024);
      return fault('not_capable', `a file of this length: it takes at most ${mb} MB`);
    } catch (error) {
      if (deadlineMs <= clock.monotonicMs() + 1) return fault('deadline', 'the deadline passed');
      return conversionFault(error);
    } finally {
      clearTimeout(deadline);
    }
  }
}

/** Faults that say nothing of the target: it cannot have the file in another form. */
const ofTheFile: ReadonlySet<Fault['class']> = new Set(['caller_fault', 'filtered', 'gateway_fault', 'not_capable']);

/** Sound that cannot be read is its sender's fault; trouble of our own says nothing against a target. */
function conversionFault(error: unknown): Fault {
  if (error instanceof AudioFault) {
    if (error.reason === 'crashed' || error.reason === 'stalled')
      return fault('gateway_fault', `the audio ${error.message}`);
    return { ...fault('caller_fault', `the audio ${error.message}`, 400), param: 'file' };
  }
  if (error instanceof FailureError && 'message' in error.failure)
    return fault('gateway_fault', error.failure.message, statusOf(error.failure));
  throw error;
}

function prepared(
  job: Job,
  { request }: TranscriptionRun,
  { facts }: UpstreamPlan,
  target: Target,
  sound: SoundToSend,
): { body: PreparedBody; facts: AnswerFacts; order: TranscriptionOrder } {
  const { connection } = knownEntry(job.providers, target.provider);
  const dialect = transcriptionDialects[facts.format];
  const streamed = request.stream && target.stream && facts.streams?.test(target.model) === true;
  const order: TranscriptionOrder = {
    model: target.model,
    request,
    file: { extension: sound.extension, mime: sound.mime },
    facts,
    apiVersion: connection.apiVersion,
    stream: streamed,
    body: target.body,
    boundary: `culvert-${randomBytes(16).toString('hex')}`,
  };
  const { path, contentType, pieces, losses } = dialect.encode(order);
  const isPassed = facts.format === 'openai' && (request.stream ? streamed : request.format === 'json');
  return {
    body: {
      bytes: '',
      upload: { ...uploadOf(pieces, sound), contentType },
      streamed,
      upstreamDialect: dialects[connection.provider.dialect],
      path,
      inputTokensEstimate: job.inputTokensEstimate,
      reader: (answerType) =>
        dialect.job === undefined ? transcriptReader(dialect, request, answerType) : new GatheredWhole(),
    },
    facts: {
      losses,
      answer: isPassed ? 'pass-through' : 'converted',
      ...(!request.stream && { answerType: typeOfTranscript[request.format] }),
    },
    order,
  };
}

/** How a job behind an uploaded file goes on. */
interface OrderedParts {
  /** The last state of the job that this upload leads to. */
  ended(uploaded: Buffer): Promise<Buffer | Fault>;
  reported(usage: Usage | null): void;
}

/** Gives on the transcript that comes of an upload later. */
class OrderedTranscript implements AttemptSink {
  readonly #answer: AttemptSink;
  readonly #reader: WholeTranscript;
  readonly #parts: OrderedParts;
  readonly #uploaded: Buffer[] = [];

  constructor(answer: AttemptSink, reader: WholeTranscript, parts: OrderedParts) {
    this.#answer = answer;
    this.#reader = reader;
    this.#parts = parts;
  }

  start(source: AttemptSource): void {
    this.#answer.start(source);
  }

  content(): boolean {
    return true;
  }

  chunk(chunk: Buffer): Pace {
    this.#uploaded.push(chunk);
    return 'ready';
  }

  async end(found: Fault | null): Promise<Fault | null> {
    if (found !== null) return this.#answer.end(found);
    const ended = await this.#parts.ended(Buffer.concat(this.#uploaded));
    if (!Buffer.isBuffer(ended)) return this.#answer.end(ended);
    this.#reader.push(ended);
    const transcript = this.#reader.finish();
    if (transcript === null) return this.#answer.end(this.#reader.fault);
    this.#parts.reported(this.#reader.usage);
    if (!this.#answer.content()) return answeredElsewhere();
    this.#answer.chunk(transcript);
    return this.#answer.end(null);
  }
}

/** The reader of an upstream's transcript. Some answer whole whatever was asked. */
function transcriptReader(
  dialect: TranscriptionDialect,
  request: TranscriptionRequest,
  contentType: string,
): AnswerReader {
  if (!contentType.startsWith('text/event-stream')) return new WholeTranscript(dialect, request);
  return request.stream ? new PassedStream({ readInPassing: readTranscriptEvents }, 'show') : new UnlikeAnswer(false);
}

/** A transcript in one piece, given on in whatever form the caller wants. */
class WholeTranscript implements AnswerReader {
  contentEvents = 0;
  readonly malformedLines = 0;
  readonly done = false;
  fault: Fault | null = null;
  usage: Usage | null = null;
  readonly #dialect: TranscriptionDialect;
  readonly #request: TranscriptionRequest;
  readonly #body = new WholeBody();

  constructor(dialect: TranscriptionDialect, request: TranscriptionRequest) {
    this.#dialect = dialect;
    this.#request = request;
  }

  push(chunk: Buffer): null {
    this.fault ??= this.#body.add(chunk);
    return null;
  }

  finish(): Bytes | null {
    if (this.fault !== null) return null;
    const request = this.#request;
    const bytes = this.#body.bytes();
    const parsed = parseAnswer(bytes);
    this.fault = parsed.fault;
    if (this.fault !== null) return null;
    const decoded = this.#dialect.decode(parsed.value, { request });
    if ('class' in decoded) {
      this.fault = decoded;
      return null;
    }
    this.usage = decoded.usage;
    this.contentEvents = 1;
    if (request.stream) return writeTranscriptEvents(request, decoded.transcript);
    // In the caller's own format: its own bytes.
    if (request.format === 'json' && decoded.transcript.reported !== null) return bytes;
    return writeTranscript(request, decoded.transcript);
  }
}
