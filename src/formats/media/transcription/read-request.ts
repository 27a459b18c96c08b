import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { gatewayOnlyFields } from '../../dialects/forward-body.ts';
import { invalidFieldIn, schemaBesideModel } from '../../dialects/forwarded/read-fields.ts';
import { described, type JsonSchema } from '../../neutral/described-check.ts';
import {
  type TranscriptFormat,
  type TranscriptionRequest,
  type TranscriptionTask,
  transcriptFormats,
} from '../../neutral/transcript.ts';
import * as v from '../../neutral/value-checks.ts';

const languageCharsMax = 32;
const promptCharsMax = 32_768;
const includesMax = 16;

/** Fields that may come once, in addition to `model` and `user`. */
const singleFields = {
  language: described({ type: 'string', maxLength: languageCharsMax, examples: ['en'] }, () => null),
  prompt: v.stringOf(0, promptCharsMax),
  response_format: v.oneOf(...transcriptFormats),
  temperature: v.numberIn(0, 1),
  stream: v.boolean,
};
/** Fields that are lists; with and without `[]` they are the same. */
const listFields = {
  timestamp_granularities: v.arrayOf(v.oneOf('word', 'segment'), 0, Number.POSITIVE_INFINITY, 'words'),
  include: v.arrayOf(v.string, 0, includesMax, 'strings'),
};
const single = new Set(['model', 'user', ...Object.keys(singleFields)]);
const lists = new Set(Object.keys(listFields));

/** Schema of such a form for `/openapi.json`. */
export function transcriptionSchema(): JsonSchema {
  const file = described({ type: 'string', format: 'binary' }, () => null);
  return schemaBesideModel({ file, ...singleFields, ...listFields }, { file: 'an audio file' });
}

/**
 * The fields of a form to `/v1/audio/transcriptions` or `/translations`; the first fault found names its field. A field
 * that is empty is one that was left out.
 */
export function readTranscriptionRequest(
  fields: readonly { name: string; value: string }[],
  task: TranscriptionTask,
): TranscriptionRequest | Failure {
  const values = new Map<string, string>();
  const many = new Map<string, string[]>();
  const extra: { name: string; value: string }[] = [];
  for (const { name, value } of fields) {
    const list = name.replace(/\[\d*\]$/, '');
    if (name === 'file') return invalid('file', "'file' is a plain field. Send it as a file, with a filename.");
    if (value === '') continue;
    if (lists.has(list)) many.set(list, [...(many.get(list) ?? []), value]);
    else if (!single.has(name)) {
      if (!gatewayOnlyFields.has(name)) extra.push({ name, value });
    } else if (values.has(name)) return invalid(name, `The form has '${name}' twice. Send it once.`);
    else values.set(name, value);
  }
  const get = (name: string) => values.get(name) ?? null;

  const common: JsonObject = Object.fromEntries(values);
  const wrong = invalidFieldIn(common, null) ?? invalidTexts(get('language'), get('prompt'));
  if (wrong !== null) return wrong;
  const named = get('response_format') ?? 'json';
  const formats = transcriptFormats.filter((one) => task === 'transcribe' || one !== 'diarized_json');
  const format = formats.find((one) => one === named);
  if (format === undefined) return v.asFailure(v.complain('response_format', named, `one of ${formats.join(', ')}`));
  const temperature = readTemperature(get('temperature'));
  if (isFailure(temperature)) return temperature;
  const stream = readStream(get('stream'), format);
  if (isFailure(stream)) return stream;
  const times = readGranularities(many.get('timestamp_granularities') ?? [], format);
  if (isFailure(times)) return times;
  const include = many.get('include') ?? [];
  if (include.length > includesMax) {
    return invalid('include', `'include' has ${include.length} entries. Send at most ${includesMax}.`);
  }
  return {
    model: get('model')!,
    task,
    language: /^auto$/i.test(get('language') ?? '') ? null : get('language'),
    prompt: get('prompt'),
    format,
    temperature,
    ...times,
    stream,
    include,
    user: values.has('user') ? v.cleanUser(get('user')) : null,
    extra,
  };
}

function invalidTexts(language: string | null, prompt: string | null): Failure | null {
  if (
    language !== null &&
    !(language.length <= languageCharsMax && /^[A-Za-z]{2,}([-_ ][A-Za-z0-9]+)*$/.test(language))
  ) {
    return v.asFailure(v.complain('language', language, "a language's code, such as en"));
  }
  if (prompt !== null && prompt.length > promptCharsMax) {
    return v.asFailure(v.complain('prompt', prompt, `at most ${promptCharsMax} characters`));
  }
  return null;
}

function readTemperature(text: string | null): number | null | Failure {
  if (text === null) return null;
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return value >= 0 && value <= 1 ? value : v.asFailure(v.complain('temperature', text, 'a number from 0 to 1'));
}

function readStream(text: string | null, format: TranscriptFormat): boolean | Failure {
  const stream = text === null ? false : streamWords.get(text.toLowerCase());
  if (stream === undefined) return v.asFailure(v.complain('stream', text, 'true or false'));
  if (stream && format !== 'json' && format !== 'text' && format !== 'diarized_json') {
    const message = `'stream' gives text as it is found, not ${format}. Send 'response_format' json, or leave 'stream' out.`;
    return invalid('stream', message);
  }
  return stream;
}

const streamWords: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

function readGranularities(
  granularities: readonly string[],
  format: TranscriptFormat,
): Pick<TranscriptionRequest, 'timestamps' | 'lists'> | Failure {
  const unknown = granularities.find((one) => one !== 'word' && one !== 'segment');
  if (unknown !== undefined) return v.asFailure(v.complain('timestamp_granularities', unknown, 'word or segment'));
  const subtitles = format === 'srt' || format === 'vtt';
  const words = granularities.includes('word');
  if (format !== 'verbose_json' && (words || (granularities.length > 0 && !subtitles))) {
    const message =
      "Only the 'response_format' verbose_json has times. Send it, or leave 'timestamp_granularities' out.";
    return invalid('timestamp_granularities', message);
  }
  const segments = granularities.length === 0 || granularities.includes('segment');
  const timed = subtitles || format === 'verbose_json';
  return {
    timestamps: words ? 'words' : timed ? 'segments' : 'none',
    lists: { segments: format === 'verbose_json' && segments, words },
  };
}
