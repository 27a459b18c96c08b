import type { StatementSync } from 'node:sqlite';
import type { ReservationRow, UsageEvent } from '../../metering/ledger.ts';
import { type BucketsOf, createBatchSums, rollupKeyCells, rollupSumCells } from '../batch-sums.ts';
import { type Column, eventCells, reservationCells, reservationOf, type SqlCell } from '../ledger-rows.ts';
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
  const insertReservation = database.prepare(insertInto('reservation', [...namesOf(reservationCells), 'key']));
  const deleteReservation = database.prepare('DELETE FROM reservation WHERE key = ?');
  const insertEvent = database.prepare(insertInto('usage_event', [...namesOf(eventCells), 'key']));
  const addToBucket = database.prepare(
    `${insertInto('quota_bucket', ['scope', 'grain_ms', 'bucket', 'units', 'tokens', 'usd_nano'])}
     ON CONFLICT DO UPDATE SET ${added(['units', 'tokens', 'usd_nano'])}`,
  );
  const addToRollup = database.prepare(
    `${insertInto('rollup', namesOf(rollupCells))} ON CONFLICT DO UPDATE SET ${added(namesOf(rollupSumCells))}`,
  );
  const upsertBoot = database.prepare('INSERT OR REPLACE INTO boot VALUES (?, ?)');
  const selectStrangers = database.prepare('SELECT * FROM reservation WHERE boot_id <> ? ORDER BY key LIMIT ?');
  const deleteBoots = database.prepare('DELETE FROM boot WHERE id <> ?');
  const sums = createBatchSums(bucketsOf);

  function insertEventFrom(firstKey: number, event: UsageEvent): void {
    insertAt(insertEvent, firstKey, cellsOf(eventValues, event));
    sums.add(event);
  }

  function writeSums(): void {
    for (const row of sums.buckets()) {
      addToBucket.run(row.scope, row.grainMs, row.bucket, row.units, row.tokens, row.usdNano);
    }
    for (const row of sums.rollups()) addToRollup.run(...rollupValues.map((of) => of(row)));
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
      return insertAt(insertReservation, first, cellsOf(reservationValues, row));
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

/** Inserts at the first key of the span that is free. A taken key undoes that statement only. */
function insertAt(insert: StatementSync, first: number, cells: SqlCell[]): number {
  for (let key = first; ; key += 1) {
    try {
      cells[cells.length - 1] = key;
      insert.run(...cells);
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

const rollupCells = [...rollupKeyCells, ...rollupSumCells];

const reservationValues = valuesOf(reservationCells);
const eventValues = valuesOf(eventCells);
const rollupValues = valuesOf(rollupCells);

function valuesOf<Row>(columns: readonly Column<Row>[]): ((row: Row) => SqlCell)[] {
  return columns.map(([, , of]) => of);
}

/** Last, there is room for the key. */
function cellsOf<Row>(values: readonly ((row: Row) => SqlCell)[], row: Row): SqlCell[] {
  const cells = new Array<SqlCell>(values.length + 1);
  for (let at = 0; at < values.length; at += 1) cells[at] = values[at]!(row);
  return cells;
}

function namesOf(columns: readonly (readonly [name: string, ...unknown[]])[]): string[] {
  return columns.map(([name]) => name);
}

function insertInto(table: string, names: readonly string[]): string {
  return `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
}

function added(columns: readonly string[]): string {
  return columns.map((column) => `${column} = ${column} + excluded.${column}`).join(', ');
}
