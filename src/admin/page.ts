import { invalid } from '../kernel/failure.ts';
import { refuse } from './operation.ts';

export interface PageQuery {
  limit: number;
  cursor?: string | undefined;
}

export interface Page<Row> {
  rows: readonly Row[];
  next: string | null;
}

/**
 * One page of rows in memory, ordered by a text that is unique to each row (code units, `inOrderOf`). The cursor is the
 * last row's text, so rows that come or go between two pages neither repeat nor hide others.
 */
export function pageByText<Row>(
  rows: readonly Row[],
  textOf: (row: Row) => string,
  query: PageQuery,
  shows: (row: Row) => boolean = () => true,
): Page<Row> {
  const after = query.cursor === undefined ? null : decoded(query.cursor);
  const found: Row[] = [];
  for (const row of rows) {
    if ((after !== null && textOf(row) <= after) || !shows(row)) continue;
    const last = found[query.limit - 1];
    if (last !== undefined) return { rows: found, next: encoded(textOf(last)) };
    found.push(row);
  }
  return { rows: found, next: null };
}

export function inOrderOf<Row>(rows: readonly Row[], textOf: (row: Row) => string): Row[] {
  return rows
    .map((row) => ({ row, text: textOf(row) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ row }) => row);
}

/** Index of the first row whose text is not before this one, in rows that are in the order of their texts. */
export function placeInOrder<Row>(rows: readonly Row[], text: string, textOf: (row: Row) => string): number {
  let low = 0;
  for (let high = rows.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if (textOf(rows[middle] as Row) < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** One page of a list that has its own order and is made anew for each answer. The cursor is a place in it. */
export function pageByPlace<Row>(rows: readonly Row[], { limit, cursor }: PageQuery): Page<Row> {
  const start = cursor === undefined ? 0 : placeOf(cursor);
  const end = start + limit;
  return { rows: rows.slice(start, end), next: end < rows.length ? encoded(String(end)) : null };
}

/** A cursor that is a whole number, such as the id of an audit row. */
export function placeOf(cursor: string): number {
  const text = decoded(cursor);
  return /^\d{1,15}$/.test(text) ? Number(text) : badCursor();
}

/** The named groups of a cursor that has this form. */
export function groupsOf(cursor: string, form: RegExp): Readonly<Record<string, string>> {
  return form.exec(decoded(cursor))?.groups ?? badCursor();
}

/** The cursor is opaque, so that nobody builds one. */
export function encoded(text: string): string {
  return Buffer.from(text).toString('base64url');
}

function decoded(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  return encoded(text) === cursor ? text : badCursor();
}

function badCursor(): never {
  return refuse(invalid('cursor', 'cursor: expected the next_cursor of an earlier response'));
}
