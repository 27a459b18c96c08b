import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, isWhole, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { furtherMembers } from '../../dialects/forward-body.ts';
import { invalidFieldIn, schemaBesideModel } from '../../dialects/forwarded/read-fields.ts';
import { described, type JsonSchema } from '../../neutral/described-check.ts';
import { asFailure, cleanUser, complain, required, stringOf } from '../../neutral/value-checks.ts';
import type { VideoRequest } from './format.ts';

const promptCharsMax = 32_000;
const prompt = stringOf(1, promptCharsMax);
const promptSend = 'a text that says what to film';
/** No service makes longer clips in one piece. */
const secondsMax = 60;
/** Default of OpenAI's API; every provider gets it, so that the charge is for what is made. */
export const secondsDefault = 4;
const sideMax = 8_192;
const sizePattern = /^([1-9]\d{1,3})x([1-9]\d{1,3})$/;
const sizeSend = "<width>x<height> such as '1280x720'";
const secondsSend = `a whole number of seconds, 1 to ${secondsMax}, as a number or a text`;

const known = new Set(['model', 'prompt', 'seconds', 'size', 'user', 'input_reference']);
const seconds = described({ type: ['string', 'integer'], pattern: '^[0-9]{1,2}$' }, () => null);
const size = described({ type: 'string', pattern: sizePattern.source }, () => null);
const picture = described({ type: ['string', 'object'] }, () => null);

/** Schema of the body of `/v1/videos` for `/openapi.json`. */
export function videoSchema(): JsonSchema {
  return schemaBesideModel({ prompt, seconds, size, input_reference: picture }, { prompt: promptSend });
}

/** And of `/v1/videos/{id}/remix`. */
export function remixSchema(): JsonSchema {
  return {
    type: 'object',
    properties: { prompt: { type: 'string', maxLength: promptCharsMax } },
    required: ['prompt'],
  };
}

/** The prompt of a remix. */
export function readRemix(body: JsonObject): string | Failure {
  const missing = required(body, 'prompt', prompt, promptSend);
  return missing === null ? (body.prompt as string) : asFailure(missing);
}

/** The members of a body or the fields of a form; the first fault found names its field. */
export function readVideoRequest(body: JsonObject): VideoRequest | Failure {
  const wrong = invalidFieldIn(body, null);
  if (wrong !== null) return wrong;
  const missing = required(body, 'prompt', prompt, promptSend);
  if (missing !== null) return asFailure(missing);
  const length = readSeconds(body.seconds);
  if (length === null) return asFailure(complain('seconds', body.seconds, secondsSend));
  const sides = readSize(body.size);
  if (sides === undefined) return asFailure(complain('size', body.size, sizeSend));
  const url = readPicture(body.input_reference);
  if (url === undefined) {
    const message =
      '\'input_reference\': send a file of the form, or { "image_url": "…" }. Ids of files are not taken.';
    return invalid('input_reference', message);
  }
  return {
    model: body.model as string,
    prompt: body.prompt as string,
    seconds: length,
    size: sides,
    pictureUrl: url,
    user: typeof body.user === 'string' ? cleanUser(body.user) : null,
    extra: furtherMembers(body, known),
  };
}

/** Null: it is none. */
function readSeconds(value: JsonValue | undefined): number | null {
  if (value === undefined || value === null) return secondsDefault;
  const number = typeof value === 'string' && /^\d{1,2}$/.test(value) ? Number(value) : value;
  return isWhole(number, 1, secondsMax) ? number : null;
}

/** Null: not said; undefined: it is none. */
function readSize(value: JsonValue | undefined): VideoRequest['size'] | undefined {
  if (value === undefined || value === null) return null;
  const [, width, height] = (typeof value === 'string' ? sizePattern.exec(value) : null) ?? [];
  if (width === undefined || Number(width) > sideMax || Number(height) > sideMax) return undefined;
  return { width: Number(width), height: Number(height) };
}

/** Null: not said; undefined: nothing that Culvert can send on. */
function readPicture(value: JsonValue | undefined): string | null | undefined {
  if (value === undefined || value === null) return null;
  const url = isObject(value) ? value.image_url : value;
  return typeof url === 'string' && /^(https?:\/\/|data:image\/)/.test(url) ? url : undefined;
}
