import type { JsonObject } from '../../kernel/json.ts';
import { beforeDelta } from '../answer-pace.ts';
import type { Step } from '../answer-steps.ts';
import type { Answer } from '../compose-answer.ts';
import type { FaultSpec } from '../faults/fault-spec.ts';
import { isSoundFormat, mediaTypeOf, soundFormatNames, soundPieces, speechMs } from '../media/sound.ts';
import type { Prompt, Refusal, SpeechOutput } from '../prompt.ts';
import { asOpenAi } from './speak-chat.ts';
import { plainPrompt } from './speak-completions.ts';
import type { Speech } from './speech.ts';

const pieceMs = 200;

/** `POST /audio/speech`, after the reference of api.openai.com; errors are chat completions'. */
export const soundSpeech: Speech = {
  ...asOpenAi,
  read(body) {
    const { model, input, voice, speed, response_format: format = 'mp3' } = body;
    if (typeof model !== 'string' || model === '') {
      return { refused: 'you must provide a model parameter', param: 'model' };
    }
    if (typeof voice !== 'string' || voice === '') return { refused: "'voice' is missing.", param: 'voice' };
    return speechPrompt({
      model,
      text: input,
      textParam: 'input',
      format,
      speed: typeof speed === 'number' ? speed : 1,
      delivery: body.stream_format === 'sse' ? 'stream' : 'whole',
    });
  },
  mediaLoops: true,
  media: (_answer, prompt, spec) => ({
    mediaType: mediaTypeOf(speechIn(prompt).format),
    body: soundSteps(speechIn(prompt), spec),
  }),
  whole: () => '',
  frames: soundEvents,
};

export interface SpeechOptions {
  model: string;
  text: unknown;
  /** The request's name for it. */
  textParam: string;
  format: unknown;
  speed: number;
  delivery: Prompt['delivery'];
}

/** Checks the fields that every dialect has. */
export function speechPrompt({ model, text, textParam, format, speed, delivery }: SpeechOptions): Prompt | Refusal {
  if (typeof text !== 'string' || text === '') return { refused: `'${textParam}' is missing.`, param: textParam };
  if (!isSoundFormat(format)) {
    return { refused: `'response_format' must be one of ${soundFormatNames.join(', ')}.`, param: 'response_format' };
  }
  if (!(speed >= 0.25 && speed <= 4)) return { refused: "'speed' must be from 0.25 to 4.", param: 'speed' };
  return { ...plainPrompt(model, text), delivery, speech: { format, ms: speechMs([...text].length, speed) } };
}

function speechIn(prompt: Prompt): SpeechOutput {
  if (prompt.speech === undefined) throw new Error('nothing is to be spoken');
  return prompt.speech;
}

const notSound = Buffer.from('This is not sound, whatever its header says. '.repeat(100));
/** No sound that anybody waits for lasts longer. */
const endlessMs = 365 * 86_400_000;

/** The sound in the pieces that a server sends it in, with the faults that are not the transport's. */
export function* soundSteps({ format, ms }: SpeechOutput, spec: FaultSpec): Generator<Step> {
  if (spec.corrupt || spec.malformed !== undefined) {
    yield notSound;
    return;
  }
  const bytesMax = spec.endless ?? spec.size ?? Number.POSITIVE_INFINITY;
  const lastsMs = bytesMax === Number.POSITIVE_INFINITY ? ms : endlessMs;
  // `eof` alone: an end that looks clean, in the middle.
  const endsMs = spec.eof?.unit === 'default' ? lastsMs / 2 : Number.POSITIVE_INFINITY;
  const eachMs = spec.chunks === undefined ? pieceMs : ms / spec.chunks;
  let bytes = 0;
  for (const [at, piece] of counted(soundPieces(format, lastsMs, eachMs))) {
    if (at * eachMs >= endsMs || bytes >= bytesMax) return;
    if (at > 0 && spec.interval !== undefined) yield spec.interval;
    yield piece.subarray(0, bytesMax - bytes);
    bytes += piece.length;
  }
}

function* counted<T>(items: Iterable<T>): Generator<[number, T]> {
  let at = 0;
  for (const item of items) {
    yield [at, item];
    at += 1;
  }
}

const brokenFrame = 'data: {"type":"speech.audio.delta","aud\n\n';

function* soundEvents(answer: Answer, prompt: Prompt, spec: FaultSpec): Generator<Step> {
  const frame = (event: JsonObject) => `data: ${JSON.stringify(event)}\n\n`;
  const { malformed = 0, interval: _, ...quiet } = spec;
  let sent = 0;
  for (const step of soundSteps(speechIn(prompt), quiet)) {
    if (typeof step === 'number') continue;
    yield* beforeDelta(spec, sent);
    yield frame({ type: 'speech.audio.delta', audio: Buffer.from(step).toString('base64') });
    if (sent === 0) for (let broken = 0; broken < malformed; broken += 1) yield brokenFrame;
    sent += 1;
  }
  if ((spec.omit ?? []).includes('done')) return;
  const { inputTokens } = answer;
  const usage = { input_tokens: inputTokens, output_tokens: sent, total_tokens: inputTokens + sent };
  yield frame({ type: 'speech.audio.done', ...((spec.omit ?? []).includes('usage') ? {} : { usage }) });
}
