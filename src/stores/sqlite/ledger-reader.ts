import { setTimeout as pause } from 'node:timers/promises';
import { readEvent, readReservation } from '../../books/ledger/columns.ts';
import { trafficGrainsMs, trafficRetentionMs } from '../../books/ledger/minute-sums.ts';
import type { BucketRow, RecentCall, Scope } from '../../books/metering/counters.ts';
import type { ReservationRow, UsageEvent } from '../../books/metering/ledger.ts';
import { deadBefore, finestGrainMs, quotaGrainsMs } from '../ledger/quota-grains.ts';
import type { RequestOrder } from '../ledger/request-pages.ts';
import { type Database, patiently } from './database.ts';
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
  at: (ms) => Math.max(0, ledgerKeyAt(ms)),
  msOf: ledgerKeyMs,
  first: 0,
  end: Number.MAX_SAFE_INTEGER,
  read: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : null),
};

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
