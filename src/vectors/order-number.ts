import { FailureError, invalid } from '../kernel/failure.ts';
import type { JsonValue } from '../kernel/json.ts';
import { datetimeMs } from './filter/datetime.ts';
import type { OrderBy } from './vector-store.ts';

/** Order of a value in `order_by`: a number unchanged, a time in microseconds since 1970; null for all others. */
export function orderNumber(value: JsonValue): number | null {
  if (typeof value === 'number') return value;
  const ms = typeof value === 'string' ? datetimeMs(value) : null;
  return ms === null ? null : microseconds(ms);
}

export function microseconds(ms: number): number {
  return Math.round(ms * 1_000);
}

/** The value that an order begins at, inclusive; null: the first there is. Throws a FailureError (400). */
export function startNumber({ startFrom }: OrderBy): number | null {
  const start = startFrom === null ? null : orderNumber(startFrom);
  if (startFrom === null || start !== null) return start;
  const message = 'order_by.start_from: expected a number or an RFC 3339 time';
  throw new FailureError(invalid('order_by.start_from', message));
}
