import { checkRequest } from '../../../formats/dialects/openai-responses/request-fields.ts';
import type { JsonSchema } from '../../../formats/neutral/described-check.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { newRequestId } from '../../../kernel/ids.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { storedItems } from './input-items.ts';
import type { StoredItem } from './sealed-rows.ts';
import { saltOfId } from './stored-responses.ts';

const itemsMax = 1_000;
const pairsMax = 16;
const keyCharsMax = 64;
const valueCharsMax = 512;

export const itemsSchema: JsonSchema = { type: 'array', maxItems: itemsMax, items: { type: 'object' } };
export const metadataSchema: JsonSchema = {
  type: 'object',
  maxProperties: pairsMax,
  propertyNames: { maxLength: keyCharsMax },
  additionalProperties: { type: 'string', maxLength: valueCharsMax },
};

/** Items as they are kept, by the check of a request's input. A failure names the field. */
export function checkedItems(items: JsonValue | undefined): StoredItem[] | Failure {
  if (!Array.isArray(items) || items.length > itemsMax) {
    return invalid('items', `'items' must be an array of at most ${itemsMax} items.`);
  }
  // What one of several calls holds may answer a call of another: only a conversation tells which.
  const checked = checkRequest({ model: 'any', conversation: 'conv', input: items });
  const failure = isFailure(checked) ? checked : checked.vendors;
  if (failure?.kind === 'invalid-request') {
    const param = failure.param?.replace(/^input/, 'items') ?? 'items';
    return invalid(param, failure.message.replaceAll("'input", "'items"));
  }
  return storedItems(items, saltOfId(newRequestId(Date.now())));
}

/** Metadata within its bounds. A failure names the field. */
export function checkedMetadata(metadata: JsonValue | undefined): { metadata: JsonObject } | Failure {
  const pairs = isObject(metadata) ? Object.entries(metadata) : [];
  const fits = pairs.every(
    ([key, value]) => key.length <= keyCharsMax && typeof value === 'string' && value.length <= valueCharsMax,
  );
  if (isObject(metadata) && fits && pairs.length <= pairsMax) return { metadata };
  const message = `'metadata' must be an object of at most ${pairsMax} strings of up to ${valueCharsMax} characters, with names of up to ${keyCharsMax}.`;
  return invalid('metadata', message);
}
