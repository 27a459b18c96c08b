import { readEvent } from '../../ledger/columns.ts';
import type { RequestQuery, UsageEvent } from '../../metering/ledger.ts';
import type { Database, SqlValue } from './database.ts';
import { cursorOf, keyOfCursor } from './ledger-cursor.ts';
import { ledgerKeyAt } from './ledger-writer.ts';

/** Rows looked at between two breaths: about 10 ms, in which nothing else of the thread runs. */
const sliceRows = 10_000;
/** A filter that hardly anything passes is given up after this long, with a page that may be short or empty. */
const listBudgetMs = 2_000;
/** An id is made a moment before or after its request's arrival is read from the clock. */
const idSlackMs = 60_000;

/** The port's `list`. By the rowid, newest first; filters compare whole values, so no text of a caller is a pattern. */
export async function listRequests(
  database: Database,
  query: RequestQuery,
  breathe: () => Promise<void>,
): Promise<{ events: UsageEvent[]; next: string | null }> {
  const { where, values, from, before } = rangeOf(query);
  const page = database.prepare(
    `SELECT * FROM usage_event WHERE key >= ? AND key < ? ${where} ORDER BY key DESC LIMIT ?`,
  );
  // Counts by the rowid alone: rows that are passed over are not read.
  const sliceEnd = database.prepare(
    `SELECT key FROM usage_event WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT 1 OFFSET ${sliceRows - 1}`,
  );
  const sinceMs = performance.now();
  const events: UsageEvent[] = [];
  let at = before;
  for (;;) {
    const end = sliceEnd.get(from, at)?.key;
    const low = end === undefined ? from : Number(end);
    // One more than asked for tells whether there is a next page.
    const rows = page.all(low, at, ...values, query.limit - events.length + 1);
    for (const row of rows) {
      if (events.length === query.limit) return { events, next: cursorOf(at) };
      events.push(readEvent(row));
      at = Number(row.key);
    }
    if (end === undefined) return { events, next: null };
    at = low;
    if (performance.now() - sinceMs >= listBudgetMs) return { events, next: cursorOf(at) };
    await breathe();
  }
}

function rangeOf(query: RequestQuery) {
  const where: string[] = [];
  const values: SqlValue[] = [];
  const filter = (condition: string, ...filterValues: SqlValue[]) => {
    where.push(`AND ${condition}`);
    values.push(...filterValues);
  };
  const { account, alias, status, sinceMs, untilMs, cursor } = query;
  if (account !== null) filter('account = ?', account);
  if (alias !== null) filter('alias = ?', alias);
  if (status !== null && status < 10) filter('status BETWEEN ? AND ?', status * 100, status * 100 + 99);
  else if (status !== null) filter('status = ?', status);
  else filter("usage_source <> 'refused'");
  if (sinceMs !== null) filter('at_ms >= ?', sinceMs);
  if (untilMs !== null) filter('at_ms < ?', untilMs);
  const from = sinceMs === null ? 0 : Math.max(0, ledgerKeyAt(sinceMs - idSlackMs));
  const until = untilMs === null ? Number.MAX_SAFE_INTEGER : Math.max(0, ledgerKeyAt(untilMs + idSlackMs));
  const before = cursor === null ? until : Math.min(until, keyOfCursor(cursor));
  return { where: where.join(' '), values, from, before: Math.min(before, Number.MAX_SAFE_INTEGER) };
}
