import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { didYouMean } from '../../kernel/nearest.ts';

/** A 400 that names the place, such as `filter.must[2].range.gte`. */
export function refuse(at: string, message: string): never {
  throw new FailureError(invalid(at, `${at}: ${message}`));
}

/**
 * The object at that place, with known keys alone: a key that is not read would be a filter that is lost. `example` ends
 * the refusal of a key that is near to none.
 */
export function readObject(value: unknown, at: string, known: readonly string[], example = ''): JsonObject {
  if (!isObject(value)) refuse(at, `expected an object, got ${kindOf(value)}`);
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const hint = didYouMean(key, known) || `; allowed: ${known.join(', ')}${example}`;
    refuse(at, `unknown key ${quoted(key)}${hint}`);
  }
  return value;
}

/** Type of a value, in a caller's words. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const quotedCharsMax = 64;

/** A caller's own word for a message, cut short. */
export function quoted(word: string): string {
  return `'${word.length > quotedCharsMax ? `${word.slice(0, quotedCharsMax)}…` : word}'`;
}
