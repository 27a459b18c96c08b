import type { Marks } from '../ledger-filters.ts';
import type { SqlValue } from './database.ts';

/** Marks of one statement, and the values that belong to them, in their order. */
export function sqliteMarks(): { marks: Marks; values: SqlValue[] } {
  const values: SqlValue[] = [];
  const of = (value: SqlValue) => `?${values.push(value)}`;
  const oneOf = (column: string, among: readonly string[]) =>
    `${column} IN (SELECT value FROM json_each(${of(JSON.stringify(among))}))`;
  return { marks: { of, oneOf }, values };
}
