import { isObject, type JsonObject, type JsonValue } from '../kernel/json.ts';

/** Part of ECMAScript 2026, which the compiler's library lacks. */
const { rawJSON, isRawJSON } = JSON as typeof JSON & {
  rawJSON(text: string): JsonObject;
  isRawJSON(value: unknown): boolean;
};

/** A text without a match has no whole number beyond 2^53; one with a match is worth a slower look. */
const longNumber = /(?:^|[\s:[,])-?\d{16}/;

/** `JSON.parse`, but whole numbers beyond 2^53, such as ids of posts, keep their digits when they are written again. */
export function parseExact(text: string): unknown {
  return longNumber.test(text) ? exactly(text) : JSON.parse(text);
}

function exactly(text: string): JsonValue {
  const exact = (_: string, value: JsonValue, { source }: { source: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? rawJSON(source) : value;
  return JSON.parse(text, exact as (name: string, value: unknown) => unknown) as JsonValue;
}

/** An object with members, not a number that keeps its digits. */
export function hasMembers(value: JsonValue): value is JsonObject {
  return isObject(value) && !isRawJSON(value);
}

/** A number that keeps its digits as the float that filters, orders and facets compare; any other value unchanged. */
export function compared(value: JsonValue): JsonValue {
  return isRawJSON(value) ? Number((value as { rawJSON: string }).rawJSON) : value;
}

/** Gives payloads in `body`, which is `text`, the digits of `text`; other numbers stay plain. */
export function keepPayloadDigits(body: unknown, text: string): void {
  if (longNumber.test(text)) graft(body as JsonValue, exactly(text));
}

function graft(plain: JsonValue, exact: JsonValue | undefined): void {
  if (Array.isArray(plain) && Array.isArray(exact)) for (const [at, item] of plain.entries()) graft(item, exact[at]);
  if (!isObject(plain) || !isObject(exact)) return;
  for (const [name, value = null] of Object.entries(plain)) {
    const isPayload = name === 'payload' && isObject(value);
    const arePayloads =
      name === 'payloads' && Array.isArray(value) && !value.some((one) => one !== null && !isObject(one));
    if (isPayload || arePayloads) plain[name] = exact[name] ?? value;
    else graft(value, exact[name]);
  }
}
