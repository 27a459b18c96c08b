import { FailureError } from '../../kernel/failure.ts';
import { requestIdMs } from '../../kernel/ids.ts';
import type { RequestQuery, UsageEvent } from '../../metering/ledger.ts';
import { hourConditions, requestConditions } from '../ledger-filters.ts';
import { listPages, type RequestRows } from '../request-pages.ts';
import type { Run } from './database.ts';
import { requestIdAt } from './ledger-reader.ts';
import { postgresMarks } from './marks.ts';

/** The port's `list`, by the id, whose order is that of time. */
export function listEvents(run: Run, query: RequestQuery): Promise<{ events: UsageEvent[]; next: string | null }> {
  const { accounts, where, sinceMs, untilMs, cursor, after } = query;
  const { marks, values } = postgresMarks();
  const conditions = requestConditions(accounts, where, marks);
  if (after !== null) {
    conditions.push(`request_id <> ${marks.of(after.requestId)} AND settled_ms >= ${marks.of(after.settledMs)}`);
  }
  const [from, before, limit] = [marks.of(''), marks.of(''), marks.of(0)];
  const given = values.slice(0, -3);
  const page = `SELECT * FROM culvert.usage_event WHERE ${['true', ...conditions].join(' AND ')}
    AND request_id >= ${from} AND request_id < ${before} ORDER BY request_id DESC LIMIT ${limit}`;
  const rows: RequestRows<string> = {
    async sliceEnd(low, high, count) {
      const { rows: found } = await run<{ request_id: string }>(sliceEnd, [low, high, count - 1]);
      return found[0]?.request_id ?? null;
    },
    page: async (low, high, most) => (await run(page, [...given, low, high, most])).rows,
    placeOf: (row) => String(row.request_id),
    placeAt: requestIdAt,
    msOf: (id) => (id === afterAll ? Number.MAX_SAFE_INTEGER : requestIdMs(id)),
    newestHour: newestHourOf(run, query),
    cursorOf,
  };
  const until = untilMs === null ? afterAll : requestIdAt(untilMs);
  const start = cursor === null ? until : idOfCursor(cursor);
  const range = { from: sinceMs === null ? '' : requestIdAt(sinceMs), before: start < until ? start : until };
  return listPages(rows, query, range, async () => {});
}

/** Above every id. */
const afterAll = 'req_g';

function newestHourOf(run: Run, { accounts, where }: RequestQuery): RequestRows<string>['newestHour'] {
  const { marks, values } = postgresMarks();
  const conditions = hourConditions(accounts, where, marks);
  if (conditions === null) return null;
  const newest = `SELECT hour FROM culvert.rollup WHERE ${conditions.join(' AND ')} AND hour <= ${marks.of(0)}
    ORDER BY hour DESC LIMIT 1`;
  const given = values.slice(0, -1);
  return async (hour) => (await run<{ hour: number }>(newest, [...given, hour])).rows[0]?.hour ?? null;
}

const sliceEnd = {
  name: 'events-slice',
  text: `SELECT request_id FROM culvert.usage_event WHERE request_id >= $1 AND request_id < $2
    ORDER BY request_id DESC LIMIT 1 OFFSET $3`,
};

function cursorOf(requestId: string): string {
  return Buffer.from(requestId).toString('base64url');
}

function idOfCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString('latin1');
  if (!/^req_[0-9a-f-]{36}$/.test(id) || cursorOf(id) !== cursor)
    throw new FailureError({
      kind: 'invalid-request',
      message:
        'cursor: this cursor does not belong to this list. Use next_cursor of the previous page, or leave it out',
      param: 'cursor',
    });
  return id;
}
