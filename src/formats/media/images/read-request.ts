import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import { furtherMembers } from '../../dialects/forward-body.ts';
import { invalidFieldIn, schemaBesideModel } from '../../dialects/forwarded/read-fields.ts';
import { described, type JsonSchema } from '../../neutral/described-check.ts';
import { type ImageOutput, type ImageRequest, imagesMax } from '../../neutral/image.ts';
import type { ImageSize } from '../../neutral/image-size.ts';
import * as v from '../../neutral/value-checks.ts';

/** Limit of OpenAI's newest models. */
const promptCharsMax = 32_000;
/** Limits of a side, in pixels: no model makes larger ones; each has narrower bounds. */
const sideMin = 16;
const sideMax = 8_192;

const rules = {
  n: v.integerIn(1, imagesMax),
  quality: v.oneOf('auto', 'low', 'medium', 'high', 'xhigh', 'max', 'standard', 'hd'),
  style: v.oneOf('vivid', 'natural'),
  background: v.oneOf('auto', 'transparent', 'opaque'),
  moderation: v.oneOf('auto', 'low'),
  output_format: v.oneOf('png', 'jpeg', 'webp', 'gif', 'svg'),
  output_compression: v.integerIn(0, 100),
  // The last is Together's.
  response_format: v.oneOf('url', 'b64_json', 'base64'),
  input_fidelity: v.oneOf('high', 'low'),
  stream: v.boolean,
  partial_images: v.integerIn(0, 3),
} as const;
const known = new Set(['model', 'prompt', 'size', 'user', 'image', 'mask', ...Object.keys(rules)]);

/** Together's clients write a size so. */
const knownBySides = new Set([...known, 'width', 'height']);

const prompt = v.stringOf(1, promptCharsMax);
const promptSend = 'a text that says what to draw';
const sizePattern = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/;
const sizeSend = `'auto' or <width>x<height> such as '1024x1024', each side of ${sideMin} to ${sideMax} pixels`;
const sizeWord = described({ type: 'string', pattern: `^auto$|${sizePattern.source}` }, () => null);
/** A file of a form. */
const file = described({ type: 'string', format: 'binary' }, () => null);
const { input_fidelity: _ofEdits, ...ofGenerations } = rules;

/** Schema of the body of `/v1/images/generations` for `/openapi.json`. */
export function imageSchema(): JsonSchema {
  return schemaBesideModel({ prompt, size: sizeWord, ...ofGenerations }, { prompt: promptSend });
}

/** And of the form of `/v1/images/edits`. */
export function imageEditSchema(): JsonSchema {
  const image = v.arrayOf(file, 1, Number.POSITIVE_INFINITY, 'pictures');
  const required = { prompt: promptSend, image: 'the picture to change, or several: PNG, JPEG or WebP' };
  return schemaBesideModel({ image, mask: file, markup: file, prompt, size: sizeWord, ...rules }, required);
}

/** And of the JSON body that says the same as that form. */
export function imageEditBodySchema(): JsonSchema {
  const picture = {
    type: 'object',
    properties: { image_url: { type: 'string' }, file_id: { type: 'string' } },
    oneOf: [{ required: ['image_url'] }, { required: ['file_id'] }],
  };
  const { properties, required, ...rest } = schemaBesideModel(
    { prompt, size: sizeWord, ...rules },
    { prompt: promptSend },
  ) as { properties: object; required: string[] };
  const images = { type: 'array', items: picture, minItems: 1 };
  return { ...rest, required: [...required, 'images'], properties: { ...properties, images, mask: picture } };
}

/** And of the form of `/v1/images/variations`. */
export function imageVariationSchema(): JsonSchema {
  const required = { image: 'the picture to draw again: PNG, JPEG or WebP' };
  return schemaBesideModel({ image: file, size: sizeWord, ...rules }, required);
}

/** The fields of `POST /v1/images/generations` and `/v1/images/edits`; the first fault found names its field. */
export function readImageRequest(body: JsonObject): ImageRequest | Failure {
  const wrong = invalidFieldIn(body, null);
  if (wrong !== null) return wrong;
  const missing = v.required(body, 'prompt', prompt, promptSend);
  if (missing !== null) return v.asFailure(missing);
  for (const [name, rule] of Object.entries(rules)) {
    const complaint = v.optional(body, name, rule);
    if (complaint !== null) return v.asFailure(complaint);
  }
  if (body.stream === true && body.response_format === 'url') {
    const message = "'response_format': streamed pictures come in their events. Send 'b64_json', or no 'stream'.";
    return invalid('response_format', message);
  }
  const { width, height } = body;
  const bySides = typeof width === 'number' && typeof height === 'number' && (body.size ?? null) === null;
  const size = readSize(bySides ? `${width}x${height}` : body.size);
  if (isFailure(size)) return size;
  if (body.background === 'transparent' && body.output_format === 'jpeg') {
    const message = "'background': a JPEG has no transparency. Send 'output_format': 'png' or 'webp'.";
    return invalid('background', message);
  }
  return requestOf(body, size, bySides ? knownBySides : known);
}

function requestOf(body: JsonObject, size: ImageSize | null, members: ReadonlySet<string>): ImageRequest {
  const word = (name: string) => (typeof body[name] === 'string' ? (body[name] as string) : null);
  const number = (name: string) => (typeof body[name] === 'number' ? (body[name] as number) : null);
  return {
    model: body.model as string,
    prompt: body.prompt as string,
    n: number('n') ?? 1,
    size,
    quality: word('quality'),
    style: word('style'),
    background: word('background'),
    moderation: word('moderation'),
    outputFormat: word('output_format') as ImageOutput | null,
    outputCompression: number('output_compression'),
    answerForm: answerFormOf(body),
    stream: body.stream === true ? { partialImages: number('partial_images') ?? 0 } : null,
    inputFidelity: word('input_fidelity'),
    user: typeof body.user === 'string' ? v.cleanUser(body.user) : null,
    extra: furtherMembers(body, members),
  };
}

/** OpenAI's models of these names know base64 alone, so its clients read that and ask for nothing. */
const givesBase64 = /(^|\/)(gpt-image|chatgpt-image)/;

function answerFormOf({ response_format: format, stream, model }: JsonObject): ImageRequest['answerForm'] {
  if (stream === true || format === 'base64') return 'b64_json';
  if (format === 'url' || format === 'b64_json') return format;
  return givesBase64.test(model as string) ? 'b64_json' : 'url';
}

/** `<w>x<h>` or `auto`, which is the model's default. */
function readSize(size: JsonValue | undefined): ImageSize | null | Failure {
  if (size === undefined || size === null || size === 'auto') return null;
  const sides = typeof size === 'string' ? sizePattern.exec(size) : null;
  const [width, height] = [Number(sides?.[1]), Number(sides?.[2])];
  if ([width, height].every((side) => side >= sideMin && side <= sideMax)) return { width, height };
  return v.asFailure(v.complain('size', size, sizeSend));
}
