import { setTimeout as pause } from 'node:timers/promises';
import { readEvent, readReservation } from '../../books/ledger/columns.ts';
import { trafficGrainsMs, trafficRetentionMs } from '../../books/ledger/minute-sums.ts';
import {
  type AttemptQuery,
  type AttemptSum,
  attemptSql,
  attemptSum,
  type TrafficPoint,
  type TrafficQuery,
  trafficPoint,
  trafficSql,
} from '../../books/ledger/traffic-queries.ts';
import type { BucketRow, RecentCall, Scope } from '../../books/metering/counters.ts';
import type {
  CacheUseQuery,
  CacheUses,
  PromptCacheDay,
  RepricedQuery,
  RepricedRow,
  RequestQuery,
  ReservationRow,
  UsageEvent,
} from '../../books/metering/ledger.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';
import { cacheUseSql, cacheUsesOf, promptCacheDayOf, promptCacheDaySql } from '../ledger/cache-uses.ts';
import { hourMax, type Marks, newestHourSql, requestConditions } from '../ledger/ledger-filters.ts';
import { deadBefore, finestGrainMs, quotaGrainsMs } from '../ledger/quota-grains.ts';
import { repricedRow, repricedSql } from '../ledger/repriced.ts';
import { idSlackMs, listPages, type RequestRows } from '../ledger/request-pages.ts';
import { type Database, patiently, type SqlValue } from './database.ts';
import { ledgerKey, ledgerKeyAt, ledgerKeyMs, ledgerKeySpan } from './ledger-writer.ts';

/** Reads in the loop's own turn: by key, or little. All of it as committed. */
export interface LedgerReader {
  /** See the port's `find`. */
  find(id: string, account: string | null): UsageEvent | null;
  buckets(scopes: readonly Scope[], nowMs: number): BucketRow[];
  /** See the port's `newestBucketMs`. Two seeks a scope: once, at the start. */
  newestBucketMs(): number;
  openReservations(account: string): ReservationRow[];
  settled(requestIds: readonly string[]): Map<string, number>;
  /** All calls since then, in order. Once, at the start. */
  calls(sinceMs: number): (RecentCall & { account: string })[];
}

export function createLedgerReader(database: Database): LedgerReader {
  const byKey = database.prepare('SELECT * FROM usage_event WHERE key BETWEEN ? AND ? AND request_id = ?');
  const byClientId = database.prepare(
    'SELECT * FROM usage_event WHERE client_request_id = ? AND account = ? ORDER BY key DESC LIMIT 1',
  );
  const byClientIdAnywhere = database.prepare(
    'SELECT * FROM usage_event WHERE client_request_id = ? ORDER BY key DESC LIMIT 1',
  );
  const costByKey = database.prepare('SELECT cost_milli FROM usage_event WHERE key BETWEEN ? AND ? AND request_id = ?');
  const bucketsOf = database.prepare(
    'SELECT bucket, units, tokens, usd_nano FROM quota_bucket WHERE scope = ? AND grain_ms = ? AND bucket >= ?',
  );
  bucketsOf.setReturnArrays(true);
  const reservationsOf = database.prepare('SELECT * FROM reservation WHERE account = ? ORDER BY key');
  const callsSince = database.prepare(
    `SELECT key, at_ms, account, tenant, tier, endpoint FROM reservation WHERE key >= ?
     UNION ALL SELECT key, at_ms, account, tenant, tier, endpoint FROM usage_event
     WHERE key >= ? AND usage_source <> 'refused' ORDER BY key`,
  );

  return {
    find(id, account) {
      const key = ledgerKey(id);
      const ours = key === null ? undefined : byKey.get(key, key + ledgerKeySpan, id);
      // Ours within another account, or none of ours: a caller may have chosen an id of our form.
      if (ours !== undefined && (account === null || ours.account === account)) return readEvent(ours);
      const theirs = account === null ? byClientIdAnywhere.get(id) : byClientId.get(id, account);
      return theirs === undefined ? null : readEvent(theirs);
    },
    buckets(scopes, nowMs) {
      const found: BucketRow[] = [];
      for (const scope of scopes) {
        for (const grainMs of quotaGrainsMs) {
          const rows: readonly unknown[] = bucketsOf.all(scope, grainMs, deadBefore(grainMs, nowMs));
          for (const [bucket, units, tokens, usdNano] of rows as [number, number, number, number][]) {
            found.push({ scope, grainMs, bucket, units, tokens, usdNano });
          }
        }
      }
      return found;
    },
    newestBucketMs() {
      const newest = database.prepare(newestBucket).get()?.bucket;
      return Number(newest ?? 0) * finestGrainMs;
    },
    openReservations: (account) => reservationsOf.all(account).map(readReservation),
    settled(requestIds) {
      const costs = new Map<string, number>();
      for (const id of requestIds) {
        const key = ledgerKey(id);
        const row = key === null ? undefined : costByKey.get(key, key + ledgerKeySpan, id);
        if (row !== undefined) costs.set(id, Number(row.cost_milli));
      }
      return costs;
    },
    calls(sinceMs) {
      const from = ledgerKeyAt(sinceMs);
      return callsSince.all(from, from).map((row) => ({
        atMs: Number(row.at_ms),
        account: String(row.account),
        tenant: String(row.tenant),
        tier: row.tier === null ? null : String(row.tier),
        endpoint: String(row.endpoint),
      }));
    },
  };
}

/** Goes from scope to scope by the primary key: a scan would read every minute of every scope. */
const newestBucket = `
  WITH RECURSIVE known (scope) AS (
    SELECT min(scope) FROM quota_bucket
    UNION ALL
    SELECT (SELECT min(scope) FROM quota_bucket WHERE scope > known.scope) FROM known WHERE known.scope IS NOT NULL
  )
  SELECT max((SELECT max(bucket) FROM quota_bucket WHERE scope = known.scope AND grain_ms = ${finestGrainMs})) AS bucket
  FROM known`;

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

function newestHourOf(database: Database, query: RequestQuery): RequestRows<number>['newestHour'] {
  const { marks, values } = sqliteMarks();
  const sql = newestHourSql('', query, marks);
  if (sql === null) return null;
  const newest = database.prepare(sql);
  const given = values.slice(0, -1);
  return (hour) => {
    const found = newest.get(...given, Math.min(hour, hourMax))?.hour ?? null;
    return found === null ? null : Number(found);
  };
}

/** A place in the list of requests, for `RequestQuery.cursor`: the key of the last row seen. */
export function cursorOf(key: number): string {
  return Buffer.from(String(key)).toString('base64url');
}

/** Throws FailureError `invalid-request` for a text that was never a cursor. */
function keyOfCursor(cursor: string): number {
  const key = Number(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (!Number.isSafeInteger(key) || cursorOf(key) !== cursor) {
    throw new FailureError(invalid('cursor', 'cursor: expected the next_cursor of an earlier response'));
  }
  return key;
}

/** The port's `traffic`. */
export function readTraffic(database: Database, query: TrafficQuery): TrafficPoint[] {
  const sql = trafficSql(query, '', 'IN (SELECT value FROM json_each(?))');
  return database
    .prepare(sql)
    .all(JSON.stringify(query.names))
    .map((row) => trafficPoint(query, row));
}

/** The port's `attempts`. */
export function readAttempts(database: Database, query: AttemptQuery): AttemptSum[] {
  const { marks, values } = sqliteMarks();
  const sql = attemptSql(query, '', marks);
  return database
    .prepare(sql)
    .all(...values)
    .map((row) => attemptSum(query, row));
}

/** The port's `cacheUses`. */
export function readCacheUses(database: Database, query: CacheUseQuery): CacheUses[] {
  const { marks, values } = sqliteMarks();
  const sql = cacheUseSql(query, marks, '');
  return database
    .prepare(sql)
    .all(...values)
    .map(cacheUsesOf);
}

/** The port's `promptCacheDays`. */
export function readPromptCacheDays(database: Database, query: CacheUseQuery): PromptCacheDay[] {
  const { marks, values } = sqliteMarks();
  const sql = promptCacheDaySql(query, marks, '');
  return database
    .prepare(sql)
    .all(...values)
    .map(promptCacheDayOf);
}

/** The port's `repriced`. */
export function readRepriced(database: Database, query: RepricedQuery): RepricedRow[] {
  const { marks, values } = sqliteMarks();
  const sql = repricedSql(query, marks, '');
  return database
    .prepare(sql)
    .all(...values)
    .map(repricedRow);
}

/** In one transaction: the writer waits for it. */
const batchNames = 50;
const batchRows = 500;
const pauseMs = 20;

/** Removes traffic that is too old for charts, name by name: each is one range of the primary key. */
export async function pruneTraffic(database: Database, nowMs: number): Promise<void> {
  for (const grain of ['minute', 'hour'] as const)
    await pruneGrain(database, trafficGrainsMs[grain], nowMs - trafficRetentionMs[grain]);
}

async function pruneGrain(database: Database, grainMs: number, beforeMs: number): Promise<void> {
  const next = database.prepare(
    'SELECT kind, name FROM traffic WHERE grain_ms = ? AND (kind, name) > (?, ?) ORDER BY kind, name LIMIT 1',
  );
  const remove = database.prepare(
    `DELETE FROM traffic WHERE grain_ms = ?1 AND kind = ?2 AND name = ?3 AND bucket IN (
       SELECT bucket FROM traffic WHERE grain_ms = ?1 AND kind = ?2 AND name = ?3 AND bucket < ?4
       ORDER BY bucket LIMIT ${batchRows})`,
  );
  const dead = Math.floor(beforeMs / grainMs);
  let done = { kind: '', name: '' };

  /** Whether there is more. */
  function pruneSome(): boolean {
    let removed = 0;
    for (let names = 0; names < batchNames && removed < batchRows; names += 1) {
      const row = next.get(grainMs, done.kind, done.name);
      if (row === undefined) return false;
      const [kind, name] = [String(row.kind), String(row.name)];
      const changes = Number(remove.run(grainMs, kind, name, dead).changes);
      removed += changes;
      // With as many as fit there may be more of it.
      if (changes < batchRows) done = { kind, name };
    }
    return true;
  }

  while (await patiently(database, pruneSome)) await pause(pauseMs);
}

/** Marks of one statement, and the values that belong to them, in their order. */
export function sqliteMarks(): { marks: Marks; values: SqlValue[] } {
  const values: SqlValue[] = [];
  const of = (value: SqlValue) => `?${values.push(value)}`;
  const oneOf = (column: string, all: readonly (string | number)[]) =>
    `${column} IN (SELECT value FROM json_each(${of(JSON.stringify(all))}))`;
  return { marks: { of, oneOf }, values };
}
