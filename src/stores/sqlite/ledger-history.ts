import { readEvent } from '../../ledger/columns.ts';
import type { RequestQuery, UsageEvent } from '../../metering/ledger.ts';
import { requestConditions } from '../ledger-filters.ts';
import type { Database } from './database.ts';
import { cursorOf, keyOfCursor } from './ledger-cursor.ts';
import { ledgerKeyAt } from './ledger-writer.ts';
import { sqliteMarks } from './marks.ts';

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
  const { conditions, values, from, before } = rangeOf(query);
  const mark = values.length;
  const page = database.prepare(
    `SELECT * FROM usage_event WHERE ${['true', ...conditions].join(' AND ')} AND key >= ?${mark + 1} AND key < ?${mark + 2}
     ORDER BY key DESC LIMIT ?${mark + 3}`,
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
    const rows = page.all(...values, low, at, query.limit - events.length + 1);
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

function rangeOf({ accounts, where, sinceMs, untilMs, cursor }: RequestQuery) {
  const { marks, values } = sqliteMarks();
  const conditions = requestConditions(accounts, where, marks);
  if (sinceMs !== null) conditions.push(`at_ms >= ${marks.of(sinceMs)}`);
  if (untilMs !== null) conditions.push(`at_ms < ${marks.of(untilMs)}`);
  const from = sinceMs === null ? 0 : Math.max(0, ledgerKeyAt(sinceMs - idSlackMs));
  const until = untilMs === null ? Number.MAX_SAFE_INTEGER : Math.max(0, ledgerKeyAt(untilMs + idSlackMs));
  const before = cursor === null ? until : Math.min(until, keyOfCursor(cursor));
  return { conditions, values, from, before: Math.min(before, Number.MAX_SAFE_INTEGER) };
}
