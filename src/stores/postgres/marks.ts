import type { Marks } from '../ledger-filters.ts';

/** Marks of one statement, and the values that belong to them. */
export function postgresMarks(): { marks: Marks; values: unknown[] } {
  const values: unknown[] = [];
  const of = (value: unknown) => `$${values.push(value)}`;
  return { marks: { of, oneOf: (column, among) => `${column} = ANY(${of(among)})` }, values };
}
