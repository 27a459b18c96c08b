import { isObject, type JsonValue } from '../../kernel/json.ts';
import { type Check, complain, within } from './complaint.ts';

/** A finite number; JSON's 1e999 reads as Infinity and is refused. */
export function numberIn(min: number, max: number): Check {
  const send = `a number from ${min} to ${max}`;
  return (value) => (typeof value === 'number' && value >= min && value <= max ? null : complain('', value, send));
}

export function integerIn(min: number, max: number): Check {
  const send =
    max >= Number.MAX_SAFE_INTEGER
      ? min === 1
        ? 'a positive integer'
        : 'an integer'
      : `an integer from ${min} to ${max}`;
  return (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? null
      : complain('', value, send);
}

export const boolean: Check = (value) => (typeof value === 'boolean' ? null : complain('', value, 'true or false'));

export const string: Check = (value) => (typeof value === 'string' ? null : complain('', value, 'a string'));

/** `lengthMin` and `lengthMax` in UTF-16 units. */
export function stringOf(lengthMin: number, lengthMax: number): Check {
  const send =
    lengthMin === 0
      ? `a string of at most ${lengthMax} characters`
      : `a string of ${lengthMin} to ${lengthMax} characters`;
  return (value) =>
    typeof value === 'string' && value.length >= lengthMin && value.length <= lengthMax
      ? null
      : complain('', value, send);
}

export function oneOf(...words: readonly string[]): Check {
  const send = `one of ${words.map((word) => `'${word}'`).join(', ')}`;
  return (value) => (typeof value === 'string' && words.includes(value) ? null : complain('', value, send));
}

export const object: Check = (value) => (isObject(value) ? null : complain('', value, 'an object'));

export function arrayOf(item: Check, lengthMin: number, lengthMax: number, what: string): Check {
  const send =
    lengthMax === Number.POSITIVE_INFINITY
      ? lengthMin === 0
        ? `an array of ${what}`
        : `an array of at least ${lengthMin} ${what}`
      : `an array of ${lengthMin} to ${lengthMax} ${what}`;
  return (value) => {
    if (!Array.isArray(value) || value.length < lengthMin || value.length > lengthMax) return complain('', value, send);
    for (let i = 0; i < value.length; i += 1) {
      const complaint = item(value[i]!);
      if (complaint !== null) return within(`[${i}]`, complaint);
    }
    return null;
  };
}

export function optional(holder: { [key: string]: JsonValue | undefined }, name: string, check: Check) {
  const value = holder[name];
  if (value === undefined || value === null) return null;
  const complaint = check(value);
  return complaint === null ? null : within(name, complaint);
}

export function required(holder: { [key: string]: JsonValue | undefined }, name: string, check: Check, send: string) {
  const value = holder[name];
  if (value === undefined) return complain(name, undefined, send);
  const complaint = check(value);
  return complaint === null ? null : within(name, complaint);
}

const functionNamePattern = /^[a-zA-Z0-9_-]{1,64}$/;

export const functionName: Check = (value) =>
  typeof value === 'string' && functionNamePattern.test(value)
    ? null
    : complain('', value, 'a name of 1 to 64 letters, digits, _ or -');

/** What no rule knows may be anything, but for what JSON could not say again: 1e999. */
export const anyJson: Check = (value) =>
  value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY
    ? complain('', value, 'a number that a double can hold')
    : null;
