import type { RequestQuery, UsageEvent } from '../../metering/ledger.ts';
import { hourConditions, requestConditions } from '../ledger-filters.ts';
import { idSlackMs, listPages, type RequestRows } from '../request-pages.ts';
import type { Database } from './database.ts';
import { cursorOf, keyOfCursor } from './ledger-cursor.ts';
import { ledgerKeyAt, ledgerKeyMs } from './ledger-writer.ts';
import { sqliteMarks } from './marks.ts';

/** The port's `list`, by the rowid. */
export function listRequests(
  database: Database,
  query: RequestQuery,
  breathe: () => Promise<void>,
): Promise<{ events: UsageEvent[]; next: string | null }> {
  const { accounts, where, sinceMs, untilMs, cursor, after } = query;
  const { marks, values } = sqliteMarks();
  const conditions = requestConditions(accounts, where, marks);
  if (sinceMs !== null) conditions.push(`at_ms >= ${marks.of(sinceMs)}`);
  if (untilMs !== null) conditions.push(`at_ms < ${marks.of(untilMs)}`);
  if (after !== null) {
    conditions.push(`request_id <> ${marks.of(after.requestId)} AND settled_ms >= ${marks.of(after.settledMs)}`);
  }
  const mark = values.length;
  const page = database.prepare(
    `SELECT * FROM usage_event WHERE ${['true', ...conditions].join(' AND ')} AND key >= ?${mark + 1} AND key < ?${mark + 2}
     ORDER BY key DESC LIMIT ?${mark + 3}`,
  );
  // Counts by the rowid alone: rows that are passed over are not read.
  const sliceEnd = database.prepare(
    'SELECT key FROM usage_event WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT 1 OFFSET ?',
  );
  const rows: RequestRows<number> = {
    sliceEnd(from, before, count) {
      const key = sliceEnd.get(from, before, count - 1)?.key;
      return key === undefined ? null : Number(key);
    },
    page: (from, before, limit) => page.all(...values, from, before, limit),
    placeOf: (row) => Number(row.key),
    placeAt: (ms) => Math.max(0, ledgerKeyAt(ms)),
    msOf: ledgerKeyMs,
    newestHour: newestHourOf(database, query),
    cursorOf,
  };
  const until = untilMs === null ? Number.MAX_SAFE_INTEGER : rows.placeAt(untilMs + idSlackMs);
  const before = cursor === null ? until : Math.min(until, keyOfCursor(cursor));
  const from = sinceMs === null ? 0 : rows.placeAt(sinceMs - idSlackMs);
  return listPages(rows, query, { from, before }, breathe);
}

function newestHourOf(database: Database, { accounts, where }: RequestQuery): RequestRows<number>['newestHour'] {
  const { marks, values } = sqliteMarks();
  const conditions = hourConditions(accounts, where, marks);
  if (conditions === null) return null;
  const newest = database.prepare(
    `SELECT hour FROM rollup WHERE ${conditions.join(' AND ')} AND hour <= ?${values.length + 1}
     ORDER BY hour DESC LIMIT 1`,
  );
  return (hour) => {
    const found = newest.get(...values, Math.min(hour, Number.MAX_SAFE_INTEGER))?.hour;
    return found === undefined ? null : Number(found);
  };
}
