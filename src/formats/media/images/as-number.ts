import type { JsonValue } from '../../../kernel/json.ts';

/** A member of a form that is a number, which a form cannot tell from text. */
export function asNumber(value: JsonValue): JsonValue {
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}
