import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { reportedCount } from '../../neutral/usage.ts';
import type { DecodedImage, DecodedImages } from './format.ts';

export function malformed(message: string): Fault {
  return fault('malformed', message);
}

/** The provider refuses to draw this prompt: another try gives the same. */
export function refusedContent(reason: string): Fault {
  return fault('filtered', `refused the request for its content (${reason.slice(0, 200)})`);
}

const urlCharsMax = 8_192;

/** A picture as base64, as a `data:` URL, or as the address of one; null for anything else. */
export function pictureIn(value: JsonValue | undefined, revisedPrompt: JsonValue | undefined): DecodedImage | null {
  if (typeof value !== 'string' || value === '') return null;
  const revised = typeof revisedPrompt === 'string' && revisedPrompt !== '' ? revisedPrompt : null;
  if (/^https?:\/\//i.test(value)) {
    return value.length <= urlCharsMax && URL.canParse(value) ? { url: value, revisedPrompt: revised } : null;
  }
  const comma = value.startsWith('data:') ? value.indexOf(',') : -1;
  return { base64: comma === -1 ? value : value.slice(comma + 1), revisedPrompt: revised };
}

/** The picture or the pictures of an answer. `whyNone`: the Fault of an answer that holds none. */
export function drawn(values: JsonValue | undefined, whyNone: Fault | null = null): DecodedImages | Fault {
  const images = [values].flat().flatMap((one) => pictureIn(one, undefined) ?? []);
  return images.length > 0 ? { images, usage: null, reported: {} } : (whyNone ?? noPicture);
}

export const noPicture = malformed('the answer holds no picture');

/** Value of a member that counts tokens. */
export function countOf(holder: JsonValue | undefined, name: string): number | null {
  return isObject(holder) ? reportedCount(holder[name]) : null;
}
