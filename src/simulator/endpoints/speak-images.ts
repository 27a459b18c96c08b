import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { beforeDelta } from '../answer-pace.ts';
import type { Step } from '../answer-steps.ts';
import type { Answer } from '../compose-answer.ts';
import type { FaultSpec } from '../faults/fault-spec.ts';
import { pictureSideMax, pictureSideMin, pngSaying } from '../media/picture.ts';
import type { Drawn, Prompt, Refusal } from '../prompt.ts';
import { asOpenAi } from './speak-chat.ts';
import { plainPrompt } from './speak-completions.ts';
import type { Speech } from './speech.ts';

const picturesMax = 10;
const sideDefault = 1_024;
/** Path of pictures that are given as links. */
export const picturePath = '/simulated-picture/';

/** `POST /images/generations`, after the reference of api.openai.com; errors are chat completions'. */
export const imagesSpeech: Speech = imageSpeech((body) => drawnPrompt(body, String(body.model ?? 'dall-e-2')));

/** `POST /images/edits`: the same, of pictures that come with the form. */
export const imageEditsSpeech: Speech = imageSpeech((body) =>
  body.image === undefined
    ? { refused: "Missing required parameter: 'image'.", param: 'image' }
    : drawnPrompt(body, String(body.model ?? 'dall-e-2')),
);

function imageSpeech(read: Speech['read']): Speech {
  return {
    ...asOpenAi,
    read,
    whole: (answer, prompt, spec) => JSON.stringify(jsonOf(answer, prompt, spec)),
    frames: partials,
  };
}

/** In a form, numbers and booleans are words. */
function drawnPrompt(body: JsonObject, model: string): Prompt | Refusal {
  const { prompt, response_format: answerForm, output_format: outputFormat = 'png' } = body;
  const size = typeof body.size === 'string' ? body.size : 'auto';
  if (typeof prompt !== 'string' || prompt === '') return { refused: "'prompt' is missing.", param: 'prompt' };
  const count = Number(body.n ?? 1);
  if (!(Number.isInteger(count) && count >= 1 && count <= picturesMax)) {
    return { refused: `'n' must be an integer from 1 to ${picturesMax}.`, param: 'n' };
  }
  const sides = /^(\d{1,4})x(\d{1,4})$/.exec(size);
  const width = Number(body.width ?? sides?.[1] ?? sideDefault);
  const height = Number(body.height ?? sides?.[2] ?? sideDefault);
  if ((size !== 'auto' && sides === null) || !isSide(width) || !isSide(height)) {
    return { refused: `'size' must be auto or <width>x<height>, ${sideWords}.`, param: 'size' };
  }
  if (outputFormat !== 'png') return { refused: "'output_format' can only be png here.", param: 'output_format' };
  // Models of that family know no links.
  const form = answerForm === 'b64_json' || model.includes('gpt-image') ? 'base64' : 'url';
  return {
    ...plainPrompt(model, prompt),
    delivery: body.stream === true || body.stream === 'true' ? 'stream' : 'whole',
    drawn: { count, width, height, form, partials: Number(body.partial_images ?? 0) },
  };
}

export const sideWords = `each from ${pictureSideMin} to ${pictureSideMax}`;

export function isSide(pixels: number): boolean {
  return Number.isInteger(pixels) && pixels >= pictureSideMin && pixels <= pictureSideMax;
}

function drawnIn(prompt: Prompt): Drawn {
  if (prompt.drawn === undefined) throw new Error('nothing is to be drawn');
  return prompt.drawn;
}

const notPicture = Buffer.from('This is not a picture, whatever it is called. '.repeat(20));

/** The pictures of an answer, with the faults that are not the transport's. */
export function picturesOf(prompt: Prompt, spec: FaultSpec): Buffer[] {
  const { count, width, height } = drawnIn(prompt);
  return Array.from({ length: spec.pictures ?? count }, (_, at) =>
    spec.corrupt ? notPicture : simulatedPicture(width, height, at + 1),
  );
}

export function simulatedPicture(width: number, height: number, number: number): Buffer {
  return pngSaying(['SIMULATED', `${width}x${height}`, `NO ${number}`], { width, height });
}

function jsonOf(answer: Answer, prompt: Prompt, spec: FaultSpec): JsonObject {
  const { width, height, count, form } = drawnIn(prompt);
  const data: JsonValue[] =
    form === 'base64' || answer.origin === null
      ? picturesOf(prompt, spec).map((picture) => ({ b64_json: picture.toString('base64') }))
      : Array.from({ length: spec.pictures ?? count }, (_, at) => ({ url: linkTo(answer, prompt, at + 1, spec) }));
  const { inputTokens, createdS } = answer;
  const usage = {
    input_tokens: inputTokens,
    output_tokens: data.length * tokensPerPicture,
    total_tokens: inputTokens + data.length * tokensPerPicture,
    input_tokens_details: { text_tokens: inputTokens, image_tokens: 0 },
  };
  const facts = { output_format: 'png', size: `${width}x${height}`, quality: 'low', background: 'opaque' };
  return { created: createdS, data, ...facts, ...((spec.omit ?? []).includes('usage') ? {} : { usage }) };
}

const tokensPerPicture = 272;

function linkTo({ origin }: Answer, prompt: Prompt, number: number, spec: FaultSpec): string {
  const { width, height } = drawnIn(prompt);
  return `${origin}${picturePath}${spec.corrupt ? 'corrupt' : `${width}x${height}`}/${number}.png`;
}

/** The picture behind such a link; null for any other. */
export function pictureAt(path: string): Buffer | null {
  const match = /\/simulated-picture\/(?:(corrupt)|(\d{1,4})x(\d{1,4}))\/(\d{1,3})\.png$/.exec(path);
  if (match === null) return null;
  if (match[1] !== undefined) return notPicture;
  const [width, height] = [Number(match[2]), Number(match[3])];
  return isSide(width) && isSide(height) ? simulatedPicture(width, height, Number(match[4])) : null;
}

const brokenFrame = 'data: {"type":"image_generation.partial_image","b64\n\n';

function* partials(answer: Answer, prompt: Prompt, spec: FaultSpec): Generator<Step> {
  const frame = (event: JsonObject) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`;
  const { partials: count, width, height } = drawnIn(prompt);
  const b64_json = picturesOf(prompt, spec)[0]?.toString('base64') ?? '';
  const shared = { created_at: answer.createdS, size: `${width}x${height}`, output_format: 'png' };
  for (let at = 0; at < count; at += 1) {
    yield* beforeDelta(spec, at);
    yield frame({ type: 'image_generation.partial_image', partial_image_index: at, b64_json, ...shared });
    if (at === 0) for (let broken = 0; broken < (spec.malformed ?? 0); broken += 1) yield brokenFrame;
  }
  if ((spec.omit ?? []).includes('done')) return;
  const { usage } = jsonOf(answer, { ...prompt, drawn: { ...drawnIn(prompt), form: 'url' } }, spec);
  yield frame({ type: 'image_generation.completed', b64_json, ...shared, ...(usage !== undefined && { usage }) });
}
