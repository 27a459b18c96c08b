import type { ReservationRow, UsageAttempt, UsageEvent } from '../../metering/ledger.ts';
import { type Database, sqliteCode } from './database.ts';
import { ledgerKey, ledgerKeySpan } from './ledger-key.ts';

/** The ledger's prepared statements. Synchronous; the caller begins and ends the transaction. */
export interface LedgerWriter {
  begin(): void;
  commit(): void;
  /** Never throws: some errors have rolled back already. */
  rollback(): void;
  /** Returns the key the reservation got. */
  writeReservation(row: ReservationRow): number;
  /** Swaps the reservation for its event; false when it is not there (any more): then nothing is written. */
  writeEvent(reservationKey: number, event: UsageEvent): boolean;
  writeHeartbeat(bootId: string, nowMs: number): void;
  /** Reservations of other boots, oldest first. */
  strangers(bootId: string, limit: number): { key: number; row: ReservationRow }[];
  forgetOtherBoots(bootId: string): void;
}

export function createLedgerWriter(database: Database): LedgerWriter {
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const rollback = database.prepare('ROLLBACK');
  const insertReservation = database.prepare(`INSERT INTO reservation VALUES (${marks(11)})`);
  const deleteReservation = database.prepare('DELETE FROM reservation WHERE key = ?');
  const insertEvent = database.prepare(`INSERT INTO usage_event VALUES (${marks(28)})`);
  const insertAttempt = database.prepare(`INSERT INTO attempt VALUES (${marks(15)})`);
  const upsertBoot = database.prepare('INSERT OR REPLACE INTO boot VALUES (?, ?)');
  const selectStrangers = database.prepare('SELECT * FROM reservation WHERE boot_id <> ? ORDER BY key LIMIT ?');
  const deleteBoots = database.prepare('DELETE FROM boot WHERE id <> ?');

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
    );
  }

  function insertEventAt(key: number, event: UsageEvent, route: string): void {
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
    );
  }

  return {
    begin: () => void begin.run(),
    commit: () => void commit.run(),
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
      const { attempts, ...route } = event.route;
      const routeJson = JSON.stringify(route);
      const eventKey = atFreeKey(reservationKey, (key) => insertEventAt(key, event, routeJson));
      for (let at = 0; at < attempts.length; at += 1) {
        const attempt = attempts[at]!;
        insertAttempt.run(
          eventKey,
          at + 1,
          attempt.target,
          attempt.credential,
          attempt.class,
          attempt.status,
          Math.round(attempt.ms),
          rounded(attempt.firstTokenMs),
          attempt.bytes,
          attempt.usage === null ? null : attempt.usage.inputTokens,
          attempt.usage === null ? null : attempt.usage.outputTokens,
          attempt.usage === null ? null : usageJson(attempt.usage),
          attempt.usageSource,
          attempt.costUsd,
          attempt.message,
        );
      }
      return true;
    },
    writeHeartbeat: (bootId, nowMs) => void upsertBoot.run(bootId, nowMs),
    strangers: (bootId, limit) =>
      selectStrangers.all(bootId, limit).map((row) => ({
        key: Number(row.key),
        row: {
          requestId: String(row.request_id),
          bootId: String(row.boot_id),
          atMs: Number(row.at_ms),
          account: String(row.account),
          keyId: String(row.key_id),
          tenant: String(row.tenant),
          endpoint: String(row.endpoint),
          alias: String(row.alias),
          costMilli: Number(row.cost_milli),
          inputTokensEstimate: Number(row.input_tokens_estimate),
        },
      })),
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

/** Null when the two columns say it all. */
function usageJson(usage: NonNullable<UsageAttempt['usage']>): string | null {
  for (const kind in usage) if (kind !== 'inputTokens' && kind !== 'outputTokens') return JSON.stringify(usage);
  return null;
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}

function marks(count: number): string {
  return Array.from({ length: count }, () => '?').join(', ');
}
