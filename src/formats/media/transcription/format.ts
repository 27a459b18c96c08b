import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import { type Loss, lossesOfRest } from '../../neutral/loss.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import type { Timestamps, Transcript, TranscriptionRequest, TranscriptionTask } from '../../neutral/transcript.ts';
import type { Usage } from '../../neutral/usage.ts';

/** The formats in which upstreams are asked to write down speech. */
export type TranscriptionDialectId =
  | 'openai'
  | 'whisper-cpp'
  | 'gemini'
  | 'deepgram'
  | 'elevenlabs'
  | 'fish'
  | 'assemblyai';

/** One of them. Pure: no I/O, no clock, no chance. */
export interface TranscriptionDialect {
  id: TranscriptionDialectId;
  encode(order: TranscriptionOrder): EncodedTranscription;
  /** For services that take a file, then an order, and write it down later: `decode` then reads the last state. */
  job?: {
    /** Request after the upload of the file; null if its answer is none. */
    order(uploaded: JsonObject, order: TranscriptionOrder): { path: string; body: JsonObject } | null;
    /** Path of the state below the base URL; null if the answer to the order does not say. */
    at(ordered: JsonObject, order: TranscriptionOrder): string | null;
    /** True if a state says that it still runs. */
    runs(state: JsonObject): boolean;
  };
  /** Contents of a whole 2xx answer; a Fault when it is not what the order asked for. */
  decode(body: unknown, order: Pick<TranscriptionOrder, 'request'>): DecodedTranscription | Fault;
}

/** `decode` of a service whose answer has the transcript as its `text`. */
export function ofText(
  read: (body: JsonObject & { text: string }, request: TranscriptionRequest) => DecodedTranscription | Fault,
): TranscriptionDialect['decode'] {
  return (body, { request }) =>
    isObject(body) && typeof body.text === 'string'
      ? read({ ...body, text: body.text }, request)
      : (errorInside(body) ?? fault('malformed', "the answer has no 'text'"));
}

export interface TranscriptionOrder {
  /** Upstream model id. */
  model: string;
  request: TranscriptionRequest;
  /** Type of the file, by its content. */
  file: { extension: string; mime: string };
  facts: TranscriptionFacts;
  apiVersion: string | null;
  /** Asked as a stream of events. */
  stream: boolean;
  /** The operator's fields for the target, over all others. */
  body: Readonly<Record<string, unknown>>;
  /** A text that the file does not contain: it separates the parts of a form. */
  boundary: string;
}

export interface EncodedTranscription {
  /** Path and query below the base URL. */
  path: string;
  contentType: string;
  /** Pieces of the body, in order; `file` and `file-base64` mark the place of the file's bytes. */
  pieces: readonly UploadPiece[];
  losses: Loss[];
}

export type UploadPiece = { text: string } | 'file' | 'file-base64';

export interface DecodedTranscription {
  transcript: Transcript;
  /** The upstream's usage, `audioMs` among it; null when it gives none. */
  usage: Usage | null;
}

/** Facts of a service that transcribes speech, as data. */
export interface TranscriptionFacts {
  format: TranscriptionDialectId;
  /** Below the base URL, for each task; null when it cannot do it. */
  paths: Readonly<Record<TranscriptionTask, string | null>>;
  /** Same as `paths`, if it depends on the model; takes precedence. */
  pathOf?: (model: string, task: TranscriptionTask, options: { apiVersion: string | null }) => string;
  /** Models that translate; absent: all, where there is a path for it. */
  translates?: RegExp;
  /** Parts that it can give times for. */
  timestamps: Timestamps;
  /** Models that give text alone. */
  untimed?: RegExp;
  /** Models that tell speakers apart; absent: none. */
  diarizes?: RegExp;
  /** OpenAI's format only: its field that asks who said what, where `response_format` does not. */
  diarizeField?: string;
  /** OpenAI's format only: models that refuse sound of more than 30 seconds without `chunking_strategy`. */
  chunked?: RegExp;
  /** Models that answer as OpenAI's events when asked to; absent: none, so they are asked whole. */
  streams?: RegExp;
  /** Extensions of the containers it reads; anything else is converted first. Absent: every one. */
  containers?: readonly string[];
  /** Largest file; absent: no such bound is known. */
  fileBytesMax?: number;
  /** OpenAI's format only: its name for `timestamp_granularities[]`. */
  granularitiesField?: string;
  /** OpenAI's format only: its name for `keywords[]`. */
  keywordsField?: string;
  /** OpenAI's format only: form fields that it answers 4xx to. */
  omit?: readonly string[];
}

/** Members that OpenAI's format takes, or that are seen to before a service is asked. */
const openAis: readonly (keyof TranscriptionRequest)[] = [
  'model',
  'task',
  'language',
  'prompt',
  'format',
  'temperature',
  'timestamps',
  'lists',
  'stream',
  'include',
  'extra',
];
const takenByOpenAi: ReadonlySet<string> = new Set(openAis);

/** Fields that OpenAI's format has no place for. */
export function lossesAtOpenAi(request: TranscriptionRequest): Loss[] {
  return lossesOfRest(request, takenByOpenAi);
}

/** Fields that a format of another vendor has no place for; OpenAI's `include` is one always. */
export function lossesOf(request: TranscriptionRequest, ...unsupported: ('prompt' | 'temperature')[]): Loss[] {
  const unknown = request.extra.map(({ name }): Loss => ({ field: name, why: 'unknown' }));
  const lost = new Set<string>([...unsupported, 'include']);
  const taken = openAis.filter((name) => !lost.has(name));
  return [...unknown, ...lossesOfRest(request, new Set(taken))];
}

/** Lists of OpenAI's that other vendors have, too; `rest` is the request without those that are in force. */
export function hintsOf(request: TranscriptionRequest) {
  const { extra, language } = request;
  const isKeyword = ({ name }: { name: string }) => /^keywords(?:\[\d*\])?$/.test(name);
  const isLanguage = ({ name }: { name: string }) => language === null && /^languages(?:\[\d*\])?$/.test(name);
  const valuesOf = (is: typeof isKeyword) => extra.filter(is).map(({ value }) => value);
  const rest = { ...request, extra: extra.filter((field) => !isKeyword(field) && !isLanguage(field)) };
  return {
    /** Words and names that may come. */
    keywords: valuesOf(isKeyword),
    /** Languages that it may be, where the request does not say which it is. */
    languages: valuesOf(isLanguage),
    rest,
  };
}

export function timestampsOf({ timestamps, untimed }: TranscriptionFacts, model: string): Timestamps {
  return untimed?.test(model) ? 'none' : timestamps;
}

export function translates({ paths, translates: models }: TranscriptionFacts, model: string): boolean {
  return paths.translate !== null && (models === undefined || models.test(model));
}

export function pathFor({ model, request, facts, apiVersion }: TranscriptionOrder): string {
  const { task } = request;
  const path = facts.pathOf?.(model, task, { apiVersion }) ?? facts.paths[task];
  if (path === null) throw new Error(`it was asked to ${task}, which it cannot`);
  return path;
}

/** Its language without a region: Whisper's services take `en` and refuse `en-US`. Null: to be found. */
export function bareLanguage({ language }: Pick<TranscriptionRequest, 'language'>): string | null {
  return language?.replace(/^([a-z]{2,3})[-_ ].*/i, '$1') ?? null;
}

/** A Fault when an answer has not the times that were asked for. */
export function missingTimes(
  { format, lists }: TranscriptionRequest,
  segments: Transcript['segments'],
  words: Transcript['words'],
): Fault | null {
  const segmentsRequested = lists.segments || format === 'srt' || format === 'vtt';
  if (segmentsRequested && segments === null)
    return fault('malformed', 'the answer has no segments, which were asked for');
  if (format === 'diarized_json' && segments?.every(({ speaker }) => speaker !== undefined) !== true)
    return fault('malformed', 'the answer does not tell who said what, which was asked for');
  if (lists.words && words === null) return fault('malformed', 'the answer has no words, which were asked for');
  return null;
}

/** True if an upstream must be asked for more than the text. */
export function needsTimes({ format, timestamps }: TranscriptionRequest): boolean {
  return format === 'verbose_json' || timestamps !== 'none';
}
