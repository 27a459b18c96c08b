import { FailureError, invalid } from '../kernel/failure.ts';
import type { PointId } from './point.ts';

/**
 * The id that `value` is: an unsigned integer up to 2^53−1, or a UUID in any spelling that Qdrant takes (with hyphens,
 * without, in braces, as a URN; any case). `at` is its path in the body, such as `points[3].id`. Throws a FailureError
 * (400).
 */
export function readPointId(value: unknown, at: string): PointId {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value === 0 ? 0 : value;
  const uuid = typeof value === 'string' ? plainUuid(value) : null;
  if (uuid !== null) return uuid;
  const got = typeof value === 'number' || typeof value === 'string' ? `, got ${shown(value)}` : '';
  throw new FailureError(invalid(at, `${at}: expected an unsigned integer up to 2^53-1 or a UUID${got}`));
}

/** Integers before UUIDs, each ascending: the order in which points are listed. */
export function comparePointIds(a: PointId, b: PointId): number {
  if (typeof a === 'number') return typeof b === 'number' ? a - b : -1;
  if (typeof b === 'number') return 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

const hyphenated = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const simple = /^[0-9a-f]{32}$/i;
const urnPrefix = 'urn:uuid:';
const uuidSpellingCharsMax = urnPrefix.length + 36;

function plainUuid(text: string): string | null {
  if (text.length > uuidSpellingCharsMax) return null;
  if (simple.test(text)) {
    const hex = text.toLowerCase();
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
  let inner = text;
  if (text.startsWith(urnPrefix)) inner = text.slice(urnPrefix.length);
  else if (text.startsWith('{') && text.endsWith('}')) inner = text.slice(1, -1);
  return hyphenated.test(inner) ? inner.toLowerCase() : null;
}

function shown(value: string | number): string {
  return typeof value === 'number' ? `${value}` : JSON.stringify(value.length > 64 ? `${value.slice(0, 64)}…` : value);
}
