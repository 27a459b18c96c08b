import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { beforeDelta, textParts } from '../answer-pace.ts';
import type { Step } from '../answer-steps.ts';
import { type Answer, firstChoice } from '../compose-answer.ts';
import type { FaultSpec } from '../faults/fault-spec.ts';
import { type AudioInput, type Prompt, type Refusal, stringsOf } from '../prompt.ts';
import { segmentJson, srtOf, timed, vttOf } from '../transcript.ts';
import { asOpenAi } from './speak-chat.ts';
import { plainPrompt } from './speak-completions.ts';
import type { Media, Speech } from './speech.ts';

const formats = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] as const;

/** `POST /audio/transcriptions`, after the reference of api.openai.com; errors are chat completions'. */
export const transcriptionSpeech = speechOf('transcribe');
/** `POST /audio/translations`: the same, into English. */
export const translationSpeech = speechOf('translate');

function speechOf(task: AudioInput['task']): Speech {
  return transcriptSpeech((body, pathModel) => {
    const model = typeof body.model === 'string' && body.model !== '' ? body.model : pathModel;
    return model === null
      ? { refused: 'you must provide a model parameter', param: 'model' }
      : promptOf(body, model, task);
  });
}

/** Transcription in OpenAI's form, of requests as `read` reads them. */
export function transcriptSpeech(read: Speech['read']): Speech {
  return {
    ...asOpenAi,
    read,
    whole: (answer, prompt, spec) => JSON.stringify(jsonOf(answer, audioIn(prompt), spec)),
    media: textOf,
    frames: deltas,
  };
}

export function promptOf(
  body: JsonObject,
  model: string,
  task: AudioInput['task'],
  words: AudioInput['words'] = 'apart',
): Prompt | Refusal {
  const { file, language } = body;
  if (!isObject(file)) return { refused: "Missing required parameter: 'file'.", param: 'file' };
  if (file.bytes === 0) return { refused: 'The audio file is empty.', param: 'file' };
  const format = formats.find((one) => one === (body.response_format ?? 'json'));
  if (format === undefined) {
    return { refused: `'response_format' must be one of ${formats.join(', ')}.`, param: 'response_format' };
  }
  const granularities = stringsOf(body.timestamp_granularities);
  const audio: AudioInput = {
    name: String(file.filename),
    seconds: Number(file.seconds),
    task,
    format,
    language: task === 'translate' || typeof language !== 'string' || language === 'auto' ? 'en' : language,
    segments: granularities.length === 0 || granularities.includes('segment'),
    words: words === 'in segments' ? words : granularities.includes('word') ? 'apart' : 'none',
  };
  const delivery = body.stream === 'true' || body.stream === true ? 'stream' : 'whole';
  return { ...plainPrompt(model, ''), delivery, audio };
}

function audioIn(prompt: Prompt): AudioInput {
  if (prompt.audio === undefined) throw new Error('nothing was heard');
  return prompt.audio;
}

function jsonOf(answer: Answer, audio: AudioInput, spec: FaultSpec): JsonObject {
  const { text } = firstChoice(answer);
  const usage = (spec.omit ?? []).includes('usage') ? {} : { usage: usageOf(audio) };
  if (audio.format === 'diarized_json')
    return { task: audio.task, duration: audio.seconds, text, segments: turnSegments(text, audio.seconds), ...usage };
  if (audio.format !== 'verbose_json') return { text, ...usage };
  const { segments, words } = timed(text, audio.seconds);
  const wordJson = words.map(({ startS, endS, text: word }): JsonObject => ({ word, start: startS, end: endS }));
  const inSegments = (startS: number, endS: number): JsonObject[] =>
    wordJson.filter(({ start, end }) => Number(start) >= startS && Number(end) <= endS);
  return {
    task: audio.task,
    language: languageName(audio.language),
    duration: audio.seconds,
    text,
    ...(audio.segments && {
      segments: segments.map((segment, id) => ({
        ...segmentJson(segment, id),
        ...(audio.words === 'in segments' && { words: inSegments(segment.startS, segment.endS) }),
      })),
    }),
    ...(audio.words === 'apart' && { words: wordJson }),
    ...usage,
  };
}

/** Two speakers, one after the other. */
function turnSegments(text: string, seconds: number): JsonObject[] {
  return timed(text, seconds).segments.map(({ startS, endS, text: segmentText }, at) => ({
    type: 'transcript.text.segment',
    id: `seg_${at}`,
    start: startS,
    end: endS,
    text: segmentText,
    speaker: at % 2 === 0 ? 'A' : 'B',
  }));
}

function usageOf({ seconds }: AudioInput): JsonValue {
  return { type: 'duration', seconds: Math.ceil(seconds) };
}

/** The formats that are not JSON. */
function textOf(answer: Answer, prompt: Prompt): Media | null {
  const audio = audioIn(prompt);
  const { text } = firstChoice(answer);
  const { segments } = timed(text, audio.seconds);
  switch (audio.format) {
    case 'text':
      return { mediaType: 'text/plain; charset=utf-8', body: `${text}\n` };
    case 'srt':
      return { mediaType: 'text/plain; charset=utf-8', body: srtOf(segments) };
    case 'vtt':
      return { mediaType: 'text/vtt; charset=utf-8', body: vttOf(segments) };
    default:
      return null;
  }
}

const brokenFrame = 'data: {"type":"transcript.text.delta","del\n\n';

function* deltas(answer: Answer, prompt: Prompt, spec: FaultSpec): Generator<Step> {
  const { text } = firstChoice(answer);
  const frame = (event: JsonObject) => `data: ${JSON.stringify(event)}\n\n`;
  for (const [at, tokens] of textParts(text, spec).entries()) {
    yield* beforeDelta(spec, at);
    yield frame({ type: 'transcript.text.delta', delta: tokens.join('') });
    if (at === 0) for (let broken = 0; broken < (spec.malformed ?? 0); broken += 1) yield brokenFrame;
  }
  const { format, seconds } = audioIn(prompt);
  if (format === 'diarized_json') for (const segment of turnSegments(text, seconds)) yield frame(segment);
  const omit = spec.omit ?? [];
  if (omit.includes('done')) return;
  const usage = omit.includes('usage') ? {} : { usage: usageOf(audioIn(prompt)) };
  yield frame({ type: 'transcript.text.done', text, ...usage });
}

let names: Intl.DisplayNames | null = null;

function languageName(code: string): string {
  try {
    // Made at need: it costs a start more than the rest of this file.
    names ??= new Intl.DisplayNames('en', { type: 'language' });
    return (names.of(code) ?? code).toLowerCase();
  } catch {
    return code;
  }
}
