import type { ReservationRow, UsageEvent } from '../../metering/ledger.ts';
import { attemptsJson } from '../attempt-json.ts';
import { type BucketsOf, createBatchSums } from '../batch-sums.ts';
import { reservationOf } from '../ledger-rows.ts';
import { type Database, sqliteCode } from './database.ts';
import { ledgerKey, ledgerKeySpan } from './ledger-key.ts';

/** The ledger's prepared statements. Synchronous; the caller begins and ends the transaction. */
export interface LedgerWriter {
  begin(): void;
  /** Also moves the quota buckets and roll-ups by the events written since `begin`. */
  commit(): void;
  /** Never throws: some errors have rolled back already. */
  rollback(): void;
  /** Returns the key the reservation got. */
  writeReservation(row: ReservationRow): number;
  /** Swaps the reservation for its event; false when it is not there (any more): then nothing is written. */
  writeEvent(reservationKey: number, event: UsageEvent): boolean;
  /** The record of a request that never had a reservation. */
  writeRefusal(event: UsageEvent): void;
  writeHeartbeat(bootId: string, nowMs: number): void;
  /** Reservations of other boots, oldest first. */
  strangers(bootId: string, limit: number): { key: number; row: ReservationRow }[];
  forgetOtherBoots(bootId: string): void;
}

export function createLedgerWriter(database: Database, bucketsOf: BucketsOf): LedgerWriter {
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const rollback = database.prepare('ROLLBACK');
  const insertReservation = database.prepare(`INSERT INTO reservation VALUES (${marks(13)})`);
  const deleteReservation = database.prepare('DELETE FROM reservation WHERE key = ?');
  const insertEvent = database.prepare(`INSERT INTO usage_event VALUES (${marks(32)})`);
  const addToBucket = database.prepare(
    `INSERT INTO quota_bucket VALUES (${marks(6)}) ON CONFLICT DO UPDATE SET ${added(['units', 'tokens', 'usd_nano'])}`,
  );
  const addToRollup = database.prepare(
    `INSERT INTO rollup VALUES (${marks(21)}) ON CONFLICT DO UPDATE SET ${added(rollupCounts)}`,
  );
  const upsertBoot = database.prepare('INSERT OR REPLACE INTO boot VALUES (?, ?)');
  const selectStrangers = database.prepare('SELECT * FROM reservation WHERE boot_id <> ? ORDER BY key LIMIT ?');
  const deleteBoots = database.prepare('DELETE FROM boot WHERE id <> ?');
  const sums = createBatchSums(bucketsOf);

  function insertReservationAt(key: number, row: ReservationRow): void {
    insertReservation.run(
      key,
      row.requestId,
      row.bootId,
      row.atMs,
      row.account,
      row.keyId,
      row.tenant,
      row.endpoint,
      row.alias,
      row.costMilli,
      row.inputTokensEstimate,
      row.tier,
      row.quotaMs,
    );
  }

  function insertEventAt(key: number, event: UsageEvent, route: string, attempts: string): void {
    insertEvent.run(
      key,
      event.requestId,
      event.clientRequestId,
      event.atMs,
      event.account,
      event.keyId,
      event.tenant,
      event.endpoint,
      event.alias,
      event.target,
      event.status,
      event.class,
      event.stream ? 1 : 0,
      event.aborted ? 1 : 0,
      Math.round(event.ms),
      rounded(event.firstTokenMs),
      event.inputTokens,
      event.outputTokens,
      event.cachedInputTokens,
      event.reasoningTokens,
      event.characters,
      event.audioMs,
      event.images,
      event.costMilli,
      event.costUsd,
      event.usageSource,
      event.user,
      route,
      event.tier,
      event.quotaMs,
      event.settledMs,
      attempts,
    );
  }

  function insertEventFrom(firstKey: number, event: UsageEvent): void {
    const { attempts, ...route } = event.route;
    const routeJson = JSON.stringify(route);
    const attemptRows = attemptsJson(attempts);
    atFreeKey(firstKey, (key) => insertEventAt(key, event, routeJson, attemptRows));
    sums.add(event);
  }

  function writeSums(): void {
    for (const row of sums.buckets()) {
      addToBucket.run(row.scope, row.grainMs, row.bucket, row.units, row.tokens, row.usdNano);
    }
    for (const row of sums.rollups()) {
      addToRollup.run(
        row.hour,
        row.account,
        row.keyId,
        row.endpoint,
        row.alias,
        row.provider,
        row.requests,
        row.errors,
        row.costMilli,
        row.inputTokens,
        row.outputTokens,
        row.cachedInputTokens,
        row.reasoningTokens,
        row.characters,
        row.audioMs,
        row.images,
        row.usdNano,
        row.countedTokens,
        row.estimatedTokens,
        row.countedUsdNano,
        row.estimatedUsdNano,
      );
    }
  }

  return {
    begin() {
      sums.clear();
      begin.run();
    },
    commit() {
      writeSums();
      commit.run();
    },
    rollback() {
      try {
        rollback.run();
      } catch {
        // SQLite rolls back by itself when the disk is full or broken; then there is no transaction to end.
      }
    },
    writeReservation(row) {
      const first = ledgerKey(row.requestId);
      if (first === null) throw new Error(`not a request id of ours: ${row.requestId.slice(0, 64)}`);
      return atFreeKey(first, (key) => insertReservationAt(key, row));
    },
    writeEvent(reservationKey, event) {
      if (deleteReservation.run(reservationKey).changes !== 1) return false;
      insertEventFrom(reservationKey, event);
      return true;
    },
    writeRefusal(event) {
      const key = ledgerKey(event.requestId);
      if (key !== null) insertEventFrom(key, event);
    },
    writeHeartbeat: (bootId, nowMs) => void upsertBoot.run(bootId, nowMs),
    strangers: (bootId, limit) =>
      selectStrangers.all(bootId, limit).map((row) => ({ key: Number(row.key), row: reservationOf(row) })),
    forgetOtherBoots: (bootId) => void deleteBoots.run(bootId),
  };
}

/** Runs an insert at the first key of the span that is free. A taken key undoes that statement only. */
function atFreeKey(first: number, insert: (key: number) => void): number {
  for (let key = first; ; key += 1) {
    try {
      insert(key);
      return key;
    } catch (error) {
      if (sqliteCode(error) !== sqliteConstraint || !isTakenKey(error) || key - first >= ledgerKeySpan) throw error;
    }
  }
}

const sqliteConstraint = 19;
/** SQLITE_CONSTRAINT_PRIMARYKEY and SQLITE_CONSTRAINT_ROWID. */
const takenKeyCodes: readonly unknown[] = [1_555, 2_579];

function isTakenKey(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && takenKeyCodes.includes(error.errcode);
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}

function marks(count: number): string {
  return Array.from({ length: count }, () => '?').join(', ');
}

function added(columns: readonly string[]): string {
  return columns.map((column) => `${column} = ${column} + excluded.${column}`).join(', ');
}

const rollupCounts: readonly string[] = [
  'requests',
  'errors',
  'cost_milli',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'reasoning_tokens',
  'characters',
  'audio_ms',
  'images',
  'usd_nano',
  'counted_tokens',
  'estimated_tokens',
  'counted_usd_nano',
  'estimated_usd_nano',
];
