import type { JsonValue } from '../../../kernel/json.ts';
import { datetimeMs } from '../../filter/datetime.ts';

/** Where a value stands in `order_by`: a number as it is, a time in microseconds since 1970; null for all others. */
export function orderNumber(value: JsonValue): number | null {
  if (typeof value === 'number') return value;
  const ms = typeof value === 'string' ? datetimeMs(value) : null;
  return ms === null ? null : microseconds(ms);
}

export function microseconds(ms: number): number {
  return Math.round(ms * 1_000);
}
