import { isObject, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import type { TranscriptionRequest } from '../../neutral/transcript.ts';
import { reportedCount, type Usage } from '../../neutral/usage.ts';
import { type FormPart, formBody } from './form-body.ts';
import {
  bareLanguage,
  lossesAtOpenAi,
  missingTimes,
  needsTimes,
  ofText,
  pathFor,
  type TranscriptionDialect,
} from './format.ts';
import { readSegments, readWords, secondsOf } from './read-times.ts';

/**
 * OpenAI's form, which nearly all services took over. It asks for `json`, or for `verbose_json` if times are wanted:
 * texts and subtitles are written here, so that they are the same over all services.
 */
export const openAiTranscription: TranscriptionDialect = {
  id: 'openai',
  encode(order) {
    const { model, request, file, facts, stream, boundary } = order;
    const losses = lossesAtOpenAi(request);
    const fields: FormPart[] = [{ name: 'model', value: model }];
    const add = (name: string, value: string | null, callerField = name) => {
      if (value === null) return;
      if (facts.omit?.includes(name)) losses.push({ field: callerField, why: 'unsupported' });
      else fields.push({ name, value });
    };
    if (!facts.omit?.includes('response_format')) {
      const { format } = request;
      add('response_format', format === 'diarized_json' ? format : needsTimes(request) ? 'verbose_json' : 'json');
    }
    add('language', bareLanguage(request));
    add('prompt', request.prompt);
    add('temperature', request.temperature === null ? null : String(request.temperature));
    const granularities = facts.granularitiesField ?? 'timestamp_granularities[]';
    const speakers = request.format === 'diarized_json' ? facts.diarizeField : undefined;
    for (const one of speakers === undefined ? granularitiesOf(request) : ['segment']) add(granularities, one);
    const isGiven = (name: string) => request.extra.some((field) => field.name.split('[')[0] === name);
    if (speakers !== undefined && !isGiven(speakers)) add(speakers, 'true');
    if (facts.chunked?.test(model) && !isGiven('chunking_strategy')) add('chunking_strategy', 'auto');
    for (const one of request.include) add('include[]', one, 'include');
    if (stream) add('stream', 'true');
    for (const { name, value } of request.extra)
      add(/^keywords\b/.test(name) ? (facts.keywordsField ?? name) : name, value);
    for (const [name, value] of Object.entries(order.body)) {
      const at = fields.findIndex((field) => field.name === name);
      const part = { name, value: typeof value === 'string' ? value : JSON.stringify(value) };
      if (at === -1) fields.push(part);
      else fields[at] = part;
    }
    return { path: pathFor(order), ...formBody(boundary, fields, { name: 'file', ...file }), losses };
  },
  decode: ofText((body, request) => {
    const segments = readSegments(body.segments);
    const words = readWords(body.words);
    const missing = body.text.trim() === '' ? null : missingTimes(request, segments, words);
    if (missing !== null) return missing;
    const durationS = secondsOf(body.duration) ?? durationOf(body.usage);
    return {
      transcript: {
        text: body.text,
        language: typeof body.language === 'string' ? body.language : null,
        durationS,
        segments,
        words,
        reported: body,
      },
      usage: usageOf(body.usage, durationS),
    };
  }),
};

function granularitiesOf({ timestamps, lists }: TranscriptionRequest): ('word' | 'segment')[] {
  if (timestamps === 'none') return [];
  if (!lists.words) return ['segment'];
  return lists.segments ? ['word', 'segment'] : ['word'];
}

/** `{type: "tokens", input_tokens, output_tokens}` or `{type: "duration", seconds}`; Mistral's has both, named otherwise. */
export function usageOf(usage: JsonValue | undefined, durationS: number | null): Usage | null {
  const counts = objectIn(usage);
  const inputTokens = countIn(counts, 'input_tokens', 'prompt_tokens');
  const outputTokens = countIn(counts, 'output_tokens', 'completion_tokens');
  const seconds = durationS ?? durationOf(usage);
  if (inputTokens === null && outputTokens === null && seconds === null) return null;
  const details = objectIn(counts.input_token_details);
  const audioTokens = countIn(details, 'audio_tokens');
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    ...(audioTokens !== null && { audioInputTokens: audioTokens }),
    ...(seconds !== null && { audioMs: Math.round(seconds * 1_000) }),
  };
}

function durationOf(usage: JsonValue | undefined): number | null {
  return isObject(usage) ? (secondsOf(usage.seconds) ?? secondsOf(usage.prompt_audio_seconds)) : null;
}

function countIn(object: JsonObject, ...names: string[]): number | null {
  for (const name of names) {
    const count = reportedCount(object[name]);
    if (count !== null) return count;
  }
  return null;
}
