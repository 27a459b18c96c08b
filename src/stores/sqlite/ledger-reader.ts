import { readEvent, readReservation } from '../../books/ledger/columns.ts';
import type { BucketRow, RecentCall, Scope } from '../../books/metering/counters.ts';
import type { ReservationRow, UsageEvent } from '../../books/metering/ledger.ts';
import { deadBefore, finestGrainMs, quotaGrainsMs } from '../ledger/quota-grains.ts';
import type { RequestOrder } from '../ledger/request-pages.ts';
import type { Database } from './database.ts';
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
  /** All calls since then, in order, read as they are taken. Once, at the start. */
  calls(sinceMs: number): Iterable<RecentCall & { account: string }>;
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
    `SELECT bucket, units, tokens, min(usd_nano, ${Number.MAX_SAFE_INTEGER}) FROM quota_bucket
     WHERE scope = ? AND grain_ms = ? AND bucket >= ?`,
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
    *calls(sinceMs) {
      const from = ledgerKeyAt(sinceMs);
      // A busy server has hundreds of thousands.
      for (const row of callsSince.iterate(from, from))
        yield {
          atMs: Number(row.at_ms),
          account: String(row.account),
          tenant: String(row.tenant),
          tier: row.tier === null ? null : String(row.tier),
          endpoint: String(row.endpoint),
        };
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

/** Requests by the rowid. */
export const byKey: RequestOrder<number> = {
  column: 'key',
  ofAccounts: false,
  at: (ms) => Math.max(0, ledgerKeyAt(ms)),
  msOf: ledgerKeyMs,
  first: 0,
  end: Number.MAX_SAFE_INTEGER,
  read: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : null),
};
