import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { described } from '../../neutral/described-check.ts';
import { estimatedTokens } from '../../neutral/usage.ts';
import { arrayOf, asFailure, complain, isGiven, textOr, within } from '../../neutral/value-checks.ts';
import { neutralUsage } from '../openai-chat/read-usage.ts';
import type { ForwardedEndpoint } from './endpoint.ts';
import { readUnstreamed, schemaBesideModel } from './read-fields.ts';
import { faultInList, readWholeInPassing } from './read-whole.ts';

/** OpenAI's default when the body names none, which its clients may leave out. */
const defaultModel = 'omni-moderation-latest';
const part = described({ type: 'object' }, (value) =>
  isObject(value) ? null : complain('', value, 'a text or an object with a text or a picture'),
);
const checkInput = textOr(arrayOf(textOr(part), 1, Number.POSITIVE_INFINITY, 'texts or parts'));
const read = readUnstreamed(
  (raw, body) => estimatedTokens(Math.max(0, raw.length - pictureChars(body.input))),
  defaultModel,
);

/** Judges whether texts or images are harmful, by categories. */
export const moderations: ForwardedEndpoint = {
  id: 'moderations',
  cost: 0,
  path: '/v1/moderations',
  summary: 'Judge whether texts or pictures are harmful',
  readRequest(raw, body, scan) {
    const wrong = isGiven(body.input) ? checkInput(body.input) : null;
    return wrong === null ? read(raw, body, scan) : asFailure(within('input', wrong));
  },
  requestSchema: () => schemaBesideModel({ input: checkInput }, {}, 'optional'),
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
