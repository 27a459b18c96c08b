import { type Failure, invalid } from '../../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { ImageRequest } from '../../neutral/image.ts';
import { readImageRequest } from './read-request.ts';

const numbers = new Set(['n', 'output_compression', 'partial_images']);
const booleans = new Map<string, boolean>([
  ['true', true],
  ['false', false],
]);

/**
 * The fields of a form to `/v1/images/edits`, which all are text, as the body that they would be in JSON. A field that
 * is empty is one that was left out.
 */
export function readEditForm(fields: readonly { name: string; value: string }[]): ImageRequest | Failure {
  const body: JsonObject = Object.create(null);
  for (const { name, value } of fields) {
    if (/^(image|mask|markup)\b/.test(name)) {
      const field = name.slice(0, 80);
      const message = `'${field}' is a plain field. Send it as a file, with a filename.`;
      return invalid(field, message);
    }
    if (value === '') continue;
    if (Object.hasOwn(body, name)) {
      const field = name.slice(0, 80);
      return invalid(field, `The form has '${field}' twice. Send it once.`);
    }
    body[name] = meant(name, value);
  }
  return readImageRequest(body);
}

function meant(name: string, value: string): JsonValue {
  if (numbers.has(name) && /^-?\d{1,9}(\.\d{1,9})?$/.test(value)) return Number(value);
  return name === 'stream' ? (booleans.get(value.toLowerCase()) ?? value) : value;
}
