import { isWhole, type JsonValue } from '../../kernel/json.ts';
import { kindOf, quoted, refuse } from '../filter/refuse.ts';

/** A field that may be left out or null. */
export function optional(value: JsonValue | undefined): value is undefined | null {
  return value === undefined || value === null;
}

export function readWhole(value: unknown, at: string, min: number, max: number): number {
  if (!isWhole(value, min, max)) {
    refuse(at, `expected a whole number from ${min} to ${max}, got ${shown(value)}`);
  }
  return value;
}

export function readFinite(value: unknown, at: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) refuse(at, `expected a finite number, got ${shown(value)}`);
  return value;
}

export function readBoolean(value: unknown, at: string): boolean {
  if (typeof value !== 'boolean') refuse(at, `expected true or false, got ${shown(value)}`);
  return value;
}

/** Not empty, at most `charsMax` characters. */
export function readString(value: unknown, at: string, charsMax: number): string {
  if (typeof value !== 'string') refuse(at, `expected a string, got ${kindOf(value)}`);
  if (value === '') refuse(at, 'must not be empty');
  if (value.length > charsMax) refuse(at, `at most ${charsMax} characters, this one has ${value.length}`);
  return value;
}

/** Between `min` and `max` elements, each read by `read`. */
export function readList<T>(
  value: unknown,
  at: string,
  { min, max }: { min: number; max: number },
  read: (item: JsonValue, at: string) => T,
): T[] {
  if (!Array.isArray(value)) refuse(at, `expected an array, got ${kindOf(value)}`);
  if (value.length < min) refuse(at, min === 1 ? 'must not be empty' : `expected at least ${min} elements`);
  if (value.length > max) refuse(at, `at most ${max} elements, got ${value.length}`);
  return value.map((item: JsonValue, i) => read(item, `${at}[${i}]`));
}

/** One of `words`, compared exactly. */
export function readWord<T extends string>(value: unknown, at: string, words: readonly T[]): T {
  const found = words.find((word) => word === value);
  if (found === undefined) refuse(at, `expected ${words.join(', ')}, got ${shown(value)}`);
  return found;
}

/** Path of a member: `at` is '' for the body itself. */
export function under(at: string, key: string): string {
  return at === '' ? key : `${at}.${key}`;
}

export function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  return typeof value === 'number' || typeof value === 'boolean' ? `${value}` : kindOf(value);
}
