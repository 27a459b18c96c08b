import { setTimeout as pause } from 'node:timers/promises';
import { rollupSums, rollupTable } from '../../books/ledger/batch-sums.ts';
import { cacheSums, cacheSumTable } from '../../books/ledger/cache-sums.ts';
import { cellsOf } from '../../books/ledger/columns.ts';
import { dayTables } from '../../books/ledger/day-sums.ts';
import { trafficGrainsMs, trafficRetentionMs, trafficSums, trafficTable } from '../../books/ledger/minute-sums.ts';
import {
  changedColumns,
  type Repriced,
  repricedSums,
  repricingSums,
  repricingTable,
} from '../../books/ledger/repricing.ts';
import type { ReservationRow, UsageEvent } from '../../books/metering/ledger.ts';
import { requestIdAt } from '../../kernel/ids.ts';
import { deadBefore, quotaGrainsMs } from '../ledger/quota-grains.ts';
import { type Database, patiently, sqliteBusy, sqliteCode } from './database.ts';
import { addInto, type LedgerWriter, ledgerKey, ledgerKeyMs, ledgerKeySpan, summedMs } from './ledger-writer.ts';

/** Rows in one transaction, for which the writer waits. */
const prunedAtOnce = 500;
const keysAtOnce = 100;
/** Between two batches, so that the writer gets in first. */
const pauseMs = 20;

/** Removes in small transactions, until `removeSome` answers that nothing is left. */
async function inBatches(database: Database, removeSome: () => boolean): Promise<void> {
  while (await patiently(database, removeSome)) await pause(pauseMs);
}

/** Removes events with keys below; resolves to their number. */
export async function pruneEvents(database: Database, beforeKey: number): Promise<number> {
  const remove = database.prepare(
    'DELETE FROM usage_event WHERE key IN (SELECT key FROM usage_event WHERE key < ? ORDER BY key LIMIT ?)',
  );
  let removed = 0;
  await inBatches(database, () => {
    const { changes } = remove.run(beforeKey, prunedAtOnce);
    removed += Number(changes);
    return changes === prunedAtOnce;
  });
  return removed;
}

/** The same for feedback to those requests. */
export function pruneFeedback(database: Database, beforeKey: number): Promise<void> {
  const remove = database.prepare(
    `DELETE FROM feedback WHERE (request_id, metric) IN (
       SELECT request_id, metric FROM feedback WHERE request_id < ? ORDER BY request_id LIMIT ${prunedAtOnce})`,
  );
  const before = requestIdAt(ledgerKeyMs(beforeKey));
  return inBatches(database, () => remove.run(before).changes === prunedAtOnce);
}

/**
 * Removes records that retention has removed, the oldest first: they go to nobody. While a sink is away there may be
 * millions, and no index has their events. One that settled late is removed later.
 */
export function pruneRecordOrder(database: Database, beforeKey: number): Promise<void> {
  const oldest = `SELECT position FROM record_order ORDER BY position LIMIT ${prunedAtOnce}`;
  const remove = database.prepare(`DELETE FROM record_order WHERE position IN (${oldest}) AND event < ?`);
  return inBatches(database, () => Number(remove.run(beforeKey).changes) > 0);
}

/**
 * Removes rows key by key, each of them one range of the primary key: a scan would read all that stay. `next` answers the
 * key behind another, and `remove` how many rows it removed; a key with as many as fit may have more.
 */
function byKey<Key>(
  database: Database,
  first: Key,
  next: (done: Key) => Key | null,
  remove: (key: Key) => number,
): Promise<void> {
  let done = first;
  return inBatches(database, () => {
    let removed = 0;
    for (let keys = 0; keys < keysAtOnce && removed < prunedAtOnce; keys += 1) {
      const key = next(done);
      if (key === null) return false;
      const changes = remove(key);
      removed += changes;
      if (changes < prunedAtOnce) done = key;
    }
    return true;
  });
}

/** Removes quota buckets that no window counts any more. */
export function pruneBuckets(database: Database, nowMs: number): Promise<void> {
  const next = database.prepare('SELECT scope FROM quota_bucket WHERE scope > ? ORDER BY scope LIMIT 1');
  const remove = database.prepare(
    `DELETE FROM quota_bucket WHERE scope = :scope AND grain_ms = :grainMs AND bucket IN (
       SELECT bucket FROM quota_bucket WHERE scope = :scope AND grain_ms = :grainMs AND bucket < :dead
       ORDER BY bucket LIMIT ${prunedAtOnce})`,
  );
  const deadOf = (scope: string) =>
    quotaGrainsMs.map((grainMs) => Number(remove.run({ scope, grainMs, dead: deadBefore(grainMs, nowMs) }).changes));
  return byKey(
    database,
    '',
    (done) => (next.get(done)?.scope as string | undefined) ?? null,
    (scope) => Math.max(...deadOf(scope)),
  );
}

/** Removes traffic that is too old for charts. */
export async function pruneTraffic(database: Database, nowMs: number): Promise<void> {
  const next = database.prepare(
    'SELECT kind, name FROM traffic WHERE grain_ms = ? AND (kind, name) > (?, ?) ORDER BY kind, name LIMIT 1',
  );
  const remove = database.prepare(
    `DELETE FROM traffic WHERE grain_ms = ?1 AND kind = ?2 AND name = ?3 AND bucket IN (
       SELECT bucket FROM traffic WHERE grain_ms = ?1 AND kind = ?2 AND name = ?3 AND bucket < ?4
       ORDER BY bucket LIMIT ${prunedAtOnce})`,
  );
  for (const grain of ['minute', 'hour'] as const) {
    const grainMs = trafficGrainsMs[grain];
    const dead = Math.floor((nowMs - trafficRetentionMs[grain]) / grainMs);
    await byKey(
      database,
      { kind: '', name: '' },
      ({ kind, name }) => (next.get(grainMs, kind, name) as { kind: string; name: string } | undefined) ?? null,
      ({ kind, name }) => Number(remove.run(grainMs, kind, name, dead).changes),
    );
  }
}

/** Minutes or hours of attempts in one transaction, for which the writer waits. */
const attemptBucketsAtOnce = 60;

/** Removes sums of attempts that are too old for charts, the oldest first. */
export async function pruneAttempts(database: Database, nowMs: number): Promise<void> {
  const oldest = database.prepare('SELECT min(bucket) AS bucket FROM attempt_sum WHERE grain_ms = ?');
  const remove = database.prepare('DELETE FROM attempt_sum WHERE grain_ms = ? AND bucket < ?');
  for (const grain of ['minute', 'hour'] as const) {
    const grainMs = trafficGrainsMs[grain];
    const dead = Math.floor((nowMs - trafficRetentionMs[grain]) / grainMs);
    await inBatches(database, () => {
      const first = Number(oldest.get(grainMs)?.bucket ?? dead);
      remove.run(grainMs, Math.min(dead, first + attemptBucketsAtOnce));
      return first + attemptBucketsAtOnce < dead;
    });
  }
}

/** Rows in one transaction: a few ms of the loop. */
const recoveredAtOnce = 200;
const busyRetryMs = 5;
const busyWaitMaxMs = 5_000;

/**
 * Charges every reservation of another boot once. A folder has one server (data-folder-lock.ts), so another boot is a
 * dead one. Should two recover at once nevertheless, the one that removes the row first writes its event.
 */
export async function recoverReservations(
  writer: LedgerWriter,
  bootId: string,
  chargeCrashed: (reservation: ReservationRow) => UsageEvent,
): Promise<number> {
  let recovered = 0;
  let waitedMs = 0;
  for (;;) {
    try {
      const batch = recoverBatch(writer, bootId, chargeCrashed);
      recovered += batch.charged;
      if (batch.found < recoveredAtOnce) return recovered;
      // Let requests in between two batches.
      await pause(0);
    } catch (error) {
      if (sqliteCode(error) !== sqliteBusy || waitedMs >= busyWaitMaxMs) throw error;
      waitedMs += busyRetryMs;
      await pause(busyRetryMs);
    }
  }
}

function recoverBatch(
  writer: LedgerWriter,
  bootId: string,
  chargeCrashed: (reservation: ReservationRow) => UsageEvent,
): { found: number; charged: number } {
  writer.begin();
  try {
    const found = writer.strangers(bootId, recoveredAtOnce);
    let charged = 0;
    for (const { key, row } of found) {
      if (writer.writeEvent(key, chargeCrashed(row))) charged += 1;
    }
    if (found.length < recoveredAtOnce) writer.forgetOtherBoots(bootId);
    writer.commit();
    return { found: found.length, charged };
  } catch (error) {
    writer.rollback();
    throw error;
  }
}

/** The port's `reprice`, in one transaction: the writer waits for it. */
export function repriceRequests(
  database: Database,
  changes: readonly Repriced[],
  times: { atMs: number; nowMs: number },
): Promise<readonly string[]> {
  const update = database.prepare(
    `UPDATE usage_event SET ${changedColumns.map(({ name }) => `${name} = ?`).join(', ')}
     WHERE key BETWEEN ? AND ? AND request_id = ? AND cost_usd IS ?`,
  );
  const into = {
    rollups: addInto(database, 'rollup', rollupTable, rollupSums),
    days: dayTables.map(({ name, key }) => addInto(database, name, [...key, ...rollupSums], rollupSums)),
    caches: addInto(database, 'cache_sum', cacheSumTable, cacheSums),
    traffic: addInto(database, 'traffic', trafficTable, trafficSums),
    repricing: addInto(database, 'repricing', repricingTable, repricingSums),
  };
  return patiently(database, () => {
    const changed = changes.filter(({ before, after }) => {
      const key = ledgerKey(before.requestId) ?? -1;
      const cells = cellsOf(changedColumns, after);
      return update.run(...cells, key, key + ledgerKeySpan, before.requestId, before.costUsd).changes === 1;
    });
    if (changed.length === 0) return [];
    const sums = repricedSums(changed, { ...times, summedMs: summedMs(database) });
    sums.rollups.forEach(into.rollups);
    for (const [at, rows] of sums.days.entries()) for (const row of rows) into.days[at]?.(row);
    sums.caches.forEach(into.caches);
    sums.traffic.forEach(into.traffic);
    sums.repricing.forEach(into.repricing);
    return changed.map(({ before }) => before.requestId);
  });
}
