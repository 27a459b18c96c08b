import { z } from 'zod';
import { parseDistanceMs, parseInstantMs, someText } from '../config/scalars.ts';

/** Fields that several operations take or give. Times are ISO 8601 in UTC on the wire. */

export const noQuery = z.strictObject({});

export const listLimitMax = 1_000;
const listLimitDefault = 100;

export const pageFields = {
  limit: z.coerce
    .number({ error: `expected a whole number from 1 to ${listLimitMax}` })
    .int()
    .min(1)
    .max(listLimitMax)
    .default(listLimitDefault)
    .describe('Maximum number of rows in a response.'),
  cursor: someText(1_024).optional().describe('The `next_cursor` of the previous response.'),
};

/** Text that a filter is compared with, byte for byte: `%`, `_` and `*` mean themselves. */
export function filter(description: string) {
  return someText(256).optional().describe(description);
}

/** Whether one of the texts contains it, ignoring case. */
export function anyContains(searched: string, ...texts: readonly string[]): boolean {
  const part = searched.toLowerCase();
  return texts.some((text) => text.toLowerCase().includes(part));
}

/** Without the members that were not asked for. */
export function definedMembers<Value>(values: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, Value] => entry[1] !== undefined));
}

/** The answer of a list. */
export function listOf<Row extends z.ZodType>(row: Row) {
  return z.object({
    data: z.array(row),
    next_cursor: z.string().nullable().describe('The cursor of the next page; null at the end.'),
  });
}

/** Type of a provider, a target or a model. */
export const healthField = z.enum(['healthy', 'degraded', 'down']);

/** Goes with `cost_usd` of a sum. */
export const unpricedField = z
  .int()
  .describe('Requests whose model has no price: what they cost is unknown, and not in cost_usd.');

/** Sums of requests. */
export const usedFields = {
  requests: z.int(),
  errors: z.int().describe('Requests whose class is not ok.'),
  units: z.number(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number(),
  unpriced_requests: unpricedField,
};

export const timeField = z.string().describe('ISO 8601, UTC.');

/** A time of day in such a field. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** A date (its first instant, UTC), an RFC 3339 time, or how long ago: `24h`. The output takes now and gives ms. */
export function pastInstant(description: string) {
  return instantFrom('expected a date such as 2027-01-01, a time such as 2027-01-01T12:00:00Z, or 24h', -1).describe(
    description,
  );
}

/** The same, where `90d` is that far ahead. */
export function futureInstant(description: string) {
  return instantFrom('expected a date such as 2027-01-01, a time such as 2027-01-01T12:00:00Z, or 90d', 1).describe(
    description,
  );
}

function instantFrom(expected: string, direction: 1 | -1) {
  return z.string({ error: expected }).transform((text, context) => {
    const durationMs = parseDistanceMs(text);
    const atMs = durationMs === undefined ? parseInstantMs(text) : undefined;
    if (durationMs === undefined && atMs === undefined) context.addIssue({ code: 'custom', message: expected });
    return (nowMs: number) => atMs ?? nowMs + direction * (durationMs ?? 0);
  });
}
