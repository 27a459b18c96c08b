import { readEvent } from '../../books/ledger/columns.ts';
import type { RequestQuery, UsageEvent } from '../../books/metering/ledger.ts';
import { hourMs } from '../../kernel/clock.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';
import type { SqlTables } from '../sql-tables.ts';
import { hourMax, marksIn, newestHourSql, requestConditions } from './ledger-filters.ts';

/** Rows read between two pauses: about 10 ms of SQLite, in which nothing else of its thread runs. */
const sliceRowsMax = 10_000;
const firstSliceRows = 200;
const sliceGrowth = 5;
/** A filter that hardly anything passes is given up after this long, with a page that may be short or empty. */
const listBudgetMs = 1_000;
/** An id is made a moment before or after its request's arrival is read from the clock. */
export const idSlackMs = 60_000;
/** A caller that waits for new requests finds those that took at most this long, among this many of the newest. */
const lateMs = 600_000;
const lateRowsMax = 20_000;

/** Requests in the order of time, as a database has them: a place is a key or an id. */
export interface RequestOrder<Place extends string | number> {
  column: 'key' | 'request_id';
  /** Whether an index has the requests of an account in this order. */
  ofAccounts: boolean;
  /** No request that came at `ms` or later is below it. */
  at(ms: number): Place;
  msOf(place: Place): number;
  /** Below all requests. */
  first: Place;
  /** Above all requests. */
  end: Place;
  /** The place that a text names; null: none. */
  read(text: string): Place | null;
}

/**
 * The port's `list`, newest first: some rows at a time, past the hours in which nothing can pass, and for no longer than
 * a second. No index is written for it. Throws FailureError `invalid-request` for a text that was never a cursor.
 */
export async function listRequests<Place extends string | number>(
  tables: SqlTables,
  order: RequestOrder<Place>,
  query: RequestQuery,
  breathe: () => Promise<void> = async () => {},
): Promise<{ events: UsageEvent[]; next: string | null }> {
  const { cursor, limit, after } = query;
  const begunMs = performance.now();
  const rows = requestRows(tables, order, query);
  const newestHour = newestHourOf(tables, query);
  const from = firstPlace(order, query);
  let at = query.untilMs === null ? order.end : order.at(query.untilMs + idSlackMs);
  if (cursor !== null) at = earlier(at, placeOf(order, cursor));
  const events: UsageEvent[] = [];
  const page = (next: Place | null) => ({ events, next: next === null || after !== null ? null : cursorOf(next) });
  let sliceRows = Math.min(sliceRowsMax, Math.max(firstSliceRows, limit * 2));
  for (let examined = 0; ; examined += sliceRows) {
    if (after !== null && examined >= lateRowsMax) return page(null);
    const hop = newestHour === null ? at : await overEmptyHours(order, newestHour, at);
    if (hop === null) return page(null);
    at = hop;
    const end = at <= from ? null : await rows.sliceEnd(from, at, sliceRows);
    const low = end ?? from;
    // One more than asked for tells whether there is a next page.
    for (const row of at <= from ? [] : await rows.page(low, at, limit - events.length + 1)) {
      if (events.length === limit) return page(at);
      events.push(readEvent(row));
      at = row[order.column] as Place;
    }
    if (end === null) return page(null);
    at = low;
    if (performance.now() - begunMs >= listBudgetMs) return page(at);
    sliceRows = Math.min(sliceRowsMax, sliceRows * sliceGrowth);
    await breathe();
  }
}

/** Statements over rows between two places. */
function requestRows<Place extends string | number>(
  tables: SqlTables,
  { column, ofAccounts }: RequestOrder<Place>,
  { accounts, where, sinceMs, untilMs, after }: RequestQuery,
) {
  const table = `${tables.prefix}usage_event`;
  const { marks, values } = marksIn(tables);
  const conditions = requestConditions(accounts, where, marks);
  if (sinceMs !== null) conditions.push(`at_ms >= ${marks.of(sinceMs)}`);
  if (untilMs !== null) conditions.push(`at_ms < ${marks.of(untilMs)}`);
  if (after !== null) {
    conditions.push(`request_id <> ${marks.of(after.requestId)} AND settled_ms >= ${marks.of(after.settledMs)}`);
  }
  const { session } = where;
  const [account, another] = ofAccounts && session === undefined ? (accounts ?? []) : [];
  const one = another === undefined ? account : undefined;
  if (one !== undefined) conditions.push(`account = ${marks.of(one)}`);
  const given = [...values];
  const page = `SELECT * FROM ${table} WHERE ${['true', ...conditions].join(' AND ')}
    AND ${column} >= ${marks.of(0)} AND ${column} < ${marks.of(0)} ORDER BY ${column} DESC LIMIT ${marks.of(0)}`;
  // Counts by an index alone, that of sessions or of an account where few rows are in it: others are not read.
  const named = typeof session === 'object' ? [session.name] : one === undefined ? [] : [one];
  const inSession = session === undefined ? '' : `session ${session === 'any' ? 'IS NOT NULL' : '= $4'} AND`;
  const few = one === undefined ? inSession : 'account = $4 AND';
  const text = `SELECT ${column} AS place FROM ${table} WHERE ${few} ${column} >= $1 AND ${column} < $2
    ORDER BY ${column} DESC LIMIT 1 OFFSET $3`;
  const sliceEnd = few === '' ? { name: 'events-slice', text } : text;
  return {
    /** Place of the row that is `rows` rows below `before`; null when there are fewer from `from` on. */
    async sliceEnd(from: Place, before: Place, rows: number): Promise<Place | null> {
      const [row] = await tables.rows(sliceEnd, [from, before, rows - 1, ...named]);
      return row === undefined ? null : (row.place as Place);
    },
    /** Rows that pass all conditions, newest first. */
    page: (from: Place, before: Place, limit: number) => tables.rows(page, [...given, from, before, limit]),
  };
}

/** Gives the newest hour, up to another one, with a matching request in roll-ups. Null: roll-ups cannot tell. */
function newestHourOf(tables: SqlTables, query: RequestQuery): ((hour: number) => Promise<number | null>) | null {
  const { marks, values } = marksIn(tables);
  const newest = newestHourSql(tables.prefix, query, marks);
  if (newest === null) return null;
  const given = values.slice(0, -1);
  return async (hour) => {
    const [row] = await tables.rows(newest, [...given, Math.min(hour, hourMax)]);
    return (row?.hour as number | null | undefined) ?? null;
  };
}

function firstPlace<Place extends string | number>(
  { at, first }: RequestOrder<Place>,
  { sinceMs, after }: RequestQuery,
): Place {
  const from = sinceMs === null ? first : at(sinceMs - idSlackMs);
  const late = after === null ? first : at(after.settledMs - lateMs);
  return from > late ? from : late;
}

function earlier<Place extends string | number>(a: Place, b: Place): Place {
  return a < b ? a : b;
}

function cursorOf(place: string | number): string {
  return Buffer.from(String(place)).toString('base64url');
}

function placeOf<Place extends string | number>({ read }: RequestOrder<Place>, cursor: string): Place {
  const place = read(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (place !== null && cursorOf(place) === cursor) return place;
  throw new FailureError(invalid('cursor', 'cursor: expected the next_cursor of an earlier response'));
}

/** Where to go on below `at`; null where nothing older passes. */
async function overEmptyHours<Place extends string | number>(
  order: RequestOrder<Place>,
  newestHour: (hour: number) => Promise<number | null>,
  at: Place,
): Promise<Place | null> {
  const hour = await newestHour(Math.floor((order.msOf(at) + idSlackMs) / hourMs));
  return hour === null ? null : earlier(order.at((hour + 1) * hourMs + idSlackMs), at);
}
