import { readEvent, readReservation } from '../../books/ledger/columns.ts';
import type { BucketRow, QuotaSeed, RecentCall, Scope } from '../../books/metering/counters.ts';
import type { ReservationRow, UsageEvent, UsageQuery, UsageRow } from '../../books/metering/ledger.ts';
import { requestIdAt, requestIdMs } from '../../kernel/ids.ts';
import { summedDays, summedSql } from '../ledger/day-sums.ts';
import { readSums } from '../ledger/largest-parts.ts';
import type { Marks } from '../ledger/ledger-filters.ts';
import { askIn } from '../ledger/ledger-sums.ts';
import { deadBefore, finestGrainMs, quotaGrainsMs } from '../ledger/quota-grains.ts';
import { idSlackMs, type RequestOrder } from '../ledger/request-pages.ts';
import { timesOf, type UsageDialect, type UsagePart, usageParts } from '../ledger/usage-sql.ts';
import type { SqlTables } from '../sql-tables.ts';
import type { Connections, Run } from './database.ts';

/** By our id or the caller's, within one account (null = any). */
export async function findEvent(run: Run, id: string, account: string | null): Promise<UsageEvent | null> {
  const { rows: ours } = await run(byId, [id]);
  // Ours within another account, or none of ours: a caller may have chosen an id of our form.
  if (ours[0] !== undefined && (account === null || ours[0].account === account)) return readEvent(ours[0]);
  const { rows: theirs } = await run(byClientId, [id, account]);
  return theirs[0] === undefined ? null : readEvent(theirs[0]);
}

export async function readBuckets(run: Run, scopes: readonly Scope[], nowMs: number): Promise<BucketRow[]> {
  const firstOf = quotaGrainsMs.map((grainMs) => deadBefore(grainMs, nowMs));
  return (await run<BucketRow>(liveBuckets, [scopes, quotaGrainsMs, firstOf])).rows;
}

/** See the port's `newestBucketMs`. */
export async function readNewestBucketMs(run: Run): Promise<number> {
  const { rows } = await run<{ bucket: number | null }>(newestBucket);
  return (rows[0]?.bucket ?? 0) * finestGrainMs;
}

export async function readOpen(run: Run, account: string): Promise<ReservationRow[]> {
  const { rows } = await run(openOf, [account]);
  return rows.map(readReservation);
}

export async function readSettled(run: Run, requestIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await run<{ request_id: string; cost_milli: number }>(settledOf, [requestIds]);
  return new Map(rows.map((row) => [row.request_id, row.cost_milli]));
}

export async function readRecentCalls(run: Run, account: string, sinceMs: number): Promise<RecentCall[]> {
  return (await run<RecentCall>(callsOf, [account, sinceMs, requestIdAt(sinceMs)])).rows;
}

/** Everything of one instant: see the port's `seed`. */
export function readSeed(
  connections: Connections,
  account: string,
  scopes: readonly Scope[],
  openIds: readonly string[],
  nowMs: number,
): Promise<QuotaSeed> {
  return connections.transaction('snapshot', async (run) => ({
    buckets: await readBuckets(run, scopes, nowMs),
    open: await readOpen(run, account),
    settled: await readSettled(run, openIds),
  }));
}

const byId = { name: 'event-by-id', text: 'SELECT * FROM culvert.usage_event WHERE request_id = $1' };
const byClientId = {
  name: 'event-by-client-id',
  text: `SELECT * FROM culvert.usage_event WHERE client_request_id = $1 AND ($2::text IS NULL OR account = $2)
    -- By the id, it would search all events from the newest on for one that nobody knows.
    ORDER BY at_ms DESC LIMIT 1`,
};
const liveBuckets = {
  name: 'buckets',
  text: `SELECT scope, grain_ms AS "grainMs", bucket, units, tokens, least(usd_nano, ${Number.MAX_SAFE_INTEGER}) AS "usdNano"
    FROM culvert.quota_bucket, unnest($2::bigint[], $3::bigint[]) AS grain (ms, first)
    WHERE scope = ANY($1) AND grain_ms = grain.ms AND bucket >= grain.first`,
};
/** Goes from scope to scope by the primary key: a scan would read every minute of every scope. */
const newestBucket = `
  WITH RECURSIVE known (scope) AS (
    SELECT min(scope) FROM culvert.quota_bucket
    UNION ALL
    SELECT (SELECT min(scope) FROM culvert.quota_bucket WHERE scope > known.scope) FROM known
      WHERE known.scope IS NOT NULL
  )
  SELECT max((SELECT max(bucket) FROM culvert.quota_bucket
    WHERE scope = known.scope AND grain_ms = ${finestGrainMs})) AS bucket
  FROM known`;
const openOf = { name: 'open-of', text: 'SELECT * FROM culvert.reservation WHERE account = $1 ORDER BY request_id' };
const settledOf = {
  name: 'settled-of',
  text: 'SELECT request_id, cost_milli FROM culvert.usage_event WHERE request_id = ANY($1)',
};
const callsOf = {
  name: 'calls-of',
  text: `
    SELECT at_ms AS "atMs", tenant, tier, endpoint FROM culvert.reservation WHERE account = $1 AND at_ms >= $2
    UNION ALL
    SELECT at_ms, tenant, tier, endpoint FROM culvert.usage_event WHERE account = $1 AND request_id >= $3 AND at_ms >= $2
      AND usage_source <> 'refused'
    ORDER BY "atMs" DESC`,
};

/** Above every id. */
const afterAll = 'req_g';

/** Requests by the id, whose order is that of time. */
export const byRequestId: RequestOrder<string> = {
  column: 'request_id',
  ofAccounts: true,
  at: requestIdAt,
  msOf: (id) => (id === afterAll ? Number.MAX_SAFE_INTEGER : requestIdMs(id)),
  first: '',
  end: afterAll,
  read: (text) => (/^req_[0-9a-f-]{36}$/.test(text) ? text : null),
};

const dialect: UsageDialect = { schema: 'culvert.', slash: `strpos(target, '/')` };

/** See the port's `usage`. */
export async function readUsage(tables: SqlTables, query: UsageQuery): Promise<UsageRow[]> {
  const [summed] = await tables.rows({ name: 'summed-days', text: summedSql(tables.prefix) }, []);
  return readSums(query, { parts: usageParts(query, summedDays(summed)), dialect, keysOf, ask: askIn(tables) });
}

/** Single requests lie in the order of their ids: without them, all that are kept would be read. */
function keysOf(part: UsagePart, marks: Marks): string[] {
  if (part.source !== 'usage_event') return [];
  const ranges = timesOf(part).map(({ from, to }) => {
    const [first, end] = [requestIdAt(from - idSlackMs), requestIdAt(to + idSlackMs)];
    return `request_id >= ${marks.of(first)} AND request_id < ${marks.of(end)}`;
  });
  return [`(${ranges.join(' OR ')})`];
}

/** All days before are added up. */
export async function summedMs(run: Run): Promise<number> {
  const { rows } = await run<{ until_ms: number }>({
    name: 'summed-until',
    text: 'SELECT until_ms FROM culvert.summed',
  });
  return rows[0]?.until_ms ?? 0;
}
