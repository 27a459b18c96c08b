import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { anyJson, arrayOf, textOr } from '../../neutral/value-checks.ts';
import { neutralUsage } from '../openai-chat/read-usage.ts';
import type { ForwardedEndpoint } from './endpoint.ts';
import { readUnstreamed, schemaBesideModel } from './read-fields.ts';
import { faultInList, readWholeInPassing } from './read-whole.ts';

/** OpenAI's default when the body names none, which its clients may leave out. */
const defaultModel = 'omni-moderation-latest';
const anyLength = Number.POSITIVE_INFINITY;

/** Judges whether texts or images are harmful, by categories. */
export const moderations: ForwardedEndpoint = {
  id: 'moderations',
  cost: 0,
  path: '/v1/moderations',
  summary: 'Judge whether texts or pictures are harmful',
  readRequest: readUnstreamed((raw, body) => Math.max(0, raw.length - pictureChars(body.input)), defaultModel),
  requestSchema: () =>
    schemaBesideModel({ input: textOr(arrayOf(anyJson, 0, anyLength, 'texts or parts')) }, {}, 'optional'),
  readInPassing: () =>
    readWholeInPassing(
      (body) => faultInList(body, ['results'], 1),
      ({ usage }) => neutralUsage(usage),
    ),
};

/** Images are not text: their URLs may hold megabytes of base64. */
function pictureChars(input: JsonValue | undefined): number {
  if (!Array.isArray(input)) return 0;
  let chars = 0;
  for (const part of input) {
    const url = isObject(part) && isObject(part.image_url) ? part.image_url.url : undefined;
    if (typeof url === 'string') chars += url.length;
  }
  return chars;
}
