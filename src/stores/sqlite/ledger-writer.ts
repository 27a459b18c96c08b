import { closeSync, fdatasync, openSync } from 'node:fs';
import type { StatementSync } from 'node:sqlite';
import { promisify } from 'node:util';
import {
  BatchSums,
  type BucketsOf,
  bucketSums,
  bucketTable,
  rollupSums,
  rollupTable,
} from '../../books/ledger/batch-sums.ts';
import { cacheSums, cacheSumsOf, cacheSumTable } from '../../books/ledger/cache-sums.ts';
import {
  type Column,
  cellWriter,
  eventTable,
  readReservation,
  reservationTable,
  type SqlCell,
} from '../../books/ledger/columns.ts';
import { dayTables, lateAfterMs, lateSums } from '../../books/ledger/day-sums.ts';
import {
  AttemptSums,
  attemptSums,
  attemptTable,
  type MinuteSums,
  type TimedRow,
  TrafficSums,
  trafficSums,
  trafficTable,
} from '../../books/ledger/minute-sums.ts';
import type { ReservationRow, UsageEvent } from '../../books/metering/ledger.ts';
import type { RecordOrder } from '../../books/metering/record-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import { requestIdMs } from '../../kernel/ids.ts';
import { type Database, requireNoopCheckpoint, sqliteExtendedCode, undo } from './database.ts';

/** The ledger's prepared statements. Synchronous; the caller begins and ends the transaction. */
export type LedgerWriter = ReturnType<typeof createLedgerWriter>;

export function createLedgerWriter(
  database: Database,
  bucketsOf: BucketsOf,
  clock: Pick<Clock, 'wallMs'>,
  order: RecordOrder | null = null,
) {
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const reservations = insertInto(database, 'reservation', reservationTable);
  const deleteReservation = database.prepare('DELETE FROM reservation WHERE key = ?');
  const events = insertInto(database, 'usage_event', eventTable);
  const append = database.prepare('INSERT INTO record_order (event, bodies) VALUES (?, ?)');
  const addToBucket = addInto(database, 'quota_bucket', bucketTable, bucketSums);
  const addToRollup = addInto(database, 'rollup', rollupTable, rollupSums);
  const addToCaches = addInto(database, 'cache_sum', cacheSumTable, cacheSums);
  const addToDays = dayTables.map(({ name, key }) => addInto(database, name, [...key, ...rollupSums], rollupSums));
  const upsertBoot = database.prepare('INSERT OR REPLACE INTO boot VALUES (?, ?)');
  const selectStrangers = database.prepare('SELECT * FROM reservation WHERE boot_id <> ? ORDER BY key LIMIT ?');
  const deleteBoots = database.prepare('DELETE FROM boot WHERE id <> ?');
  const sums = new BatchSums(bucketsOf);
  const ofTraffic = new TrafficSums();
  const ofAttempts = new AttemptSums();
  const traffic: readonly Drawn[] = [
    { sums: ofTraffic, addTo: addInto(database, 'traffic', trafficTable, trafficSums), taken: [] },
    { sums: ofAttempts, addTo: addInto(database, 'attempt_sum', attemptTable, attemptSums), taken: [] },
  ];
  /** Events since `begin`. */
  let written: UsageEvent[] = [];
  let isTrafficDue = false;
  /** Wall-clock ms before which days may be added up already: rows from before it are added to their sums. */
  let lateMs = 0;
  let late: UsageEvent[] = [];
  /** Events in which caches had a part. */
  let cached: UsageEvent[] = [];

  function addLate(): void {
    for (const [at, rows] of lateSums(late, summedMs(database), bucketsOf).entries()) rows.forEach(addToDays[at]!);
  }

  return {
    begin(): void {
      sums.clear();
      written = [];
      late = [];
      cached = [];
      lateMs = clock.wallMs() - lateAfterMs;
      begin.run();
    },
    /**
     * Also moves the quota buckets and roll-ups by the events written since `begin`. Their traffic is written with the
     * heartbeats.
     */
    commit(): void {
      for (const row of sums.buckets()) addToBucket(row);
      for (const row of sums.rollups()) addToRollup(row);
      if (cached.length > 0) cacheSumsOf(cached).forEach(addToCaches);
      if (late.length > 0) addLate();
      if (isTrafficDue) for (const drawn of traffic) writeDrawn(drawn, trafficMinutesMax);
      commit.run();
      for (const drawn of traffic) drawn.taken = [];
      isTrafficDue &&= traffic.some((drawn) => drawn.sums.size > 0);
      for (const event of written) {
        ofTraffic.add(event);
        // Work that asks no provider enters nothing more.
        if (event.route.attempts.length > 0) ofAttempts.add(event);
      }
    },
    /** Never throws: some errors have rolled back already. */
    rollback(): void {
      for (const drawn of traffic) putBack(drawn);
      undo(database);
    },
    /** Returns the key the reservation got. */
    writeReservation(row: ReservationRow): number {
      const first = ledgerKey(row.requestId);
      if (first === null) throw new Error(`not a request id of Culvert: ${row.requestId.slice(0, 64)}`);
      return reservations(first, row);
    },
    /** Swaps the reservation for its event; false when it is not there (any more): then nothing is written. */
    writeEvent(reservationKey: number, event: UsageEvent): boolean {
      if (deleteReservation.run(reservationKey).changes !== 1) return false;
      const key = events(reservationKey, event);
      if (order !== null) append.run(key, order.bodiesOf(event.requestId));
      sums.add(event);
      written.push(event);
      if (event.atMs < lateMs) late.push(event);
      // Most have no part in a cache, and enter nothing more.
      if (event.cache !== null || event.cachedInputTokens + event.cacheWriteTokens > 0) cached.push(event);
      return true;
    },
    /** The record of a request that never had a reservation. */
    writeRefusal(event: UsageEvent): void {
      const key = ledgerKey(event.requestId);
      if (key !== null) events(key, event);
    },
    writeHeartbeat(bootId: string, nowMs: number): void {
      upsertBoot.run(bootId, nowMs);
      isTrafficDue = traffic.some((drawn) => drawn.sums.size > 0);
    },
    /** Writes the traffic of minutes that no heartbeat has written yet, in a separate transaction. Never throws. */
    writeTraffic(minutesMax: number): void {
      if (!traffic.some((drawn) => drawn.sums.size > 0)) return;
      try {
        begin.run();
        for (const drawn of traffic) writeDrawn(drawn, minutesMax);
        commit.run();
        for (const drawn of traffic) drawn.taken = [];
      } catch {
        // Pages show less of the last seconds; nothing is charged by it.
        undo(database);
        for (const drawn of traffic) putBack(drawn);
      }
    },
    /** Reservations of other boots, oldest first. */
    strangers: (bootId: string, limit: number): { key: number; row: ReservationRow }[] =>
      selectStrangers.all(bootId, limit).map((row) => ({ key: Number(row.key), row: readReservation(row) })),
    forgetOtherBoots: (bootId: string): void => void deleteBoots.run(bootId),
  };
}

/** Sums that pages draw, with the table that they are written to, and what the running transaction writes. */
interface Drawn {
  sums: Pick<MinuteSums<TimedRow>, 'size' | 'take' | 'putBack'>;
  addTo: (row: object) => void;
  taken: TimedRow[];
}

function writeDrawn(drawn: Drawn, minutesMax: number): void {
  drawn.taken = drawn.sums.take(minutesMax);
  for (const row of drawn.taken) drawn.addTo(row);
}

function putBack(drawn: Drawn): void {
  drawn.sums.putBack(drawn.taken);
  drawn.taken = [];
}

/** Rows of minutes in one commit, and as many of hours: about a millisecond. The rest follows with the next commits. */
const trafficMinutesMax = 32;

/**
 * Inserts a row at the first free key from `first` on, and returns that key. A taken key undoes its statement only. The
 * cells of a statement are one array, filled anew for each row: SQLite copies them. `get` makes no object of changes, which
 * `run` does.
 */
function insertInto(database: Database, table: string, columns: readonly Column[]) {
  const names = columns.map(({ name }) => name).join(', ');
  const statement = database.prepare(`INSERT INTO ${table} (key, ${names}) VALUES (?, ${marks(columns.length)})`);
  const write = cellWriter(columns);
  const cells = new Array<SqlCell>(columns.length);
  return (first: number, row: object): number => {
    write(row, cells);
    for (let key = first; ; key += 1) {
      try {
        statement.get(key, ...cells);
        return key;
      } catch (error) {
        if (!takenKeyCodes.includes(sqliteExtendedCode(error)) || key - first >= ledgerKeySpan) throw error;
      }
    }
  };
}

/** Adds a row's sums to those that are there. */
export function addInto(database: Database, table: string, columns: readonly Column[], sums: readonly Column[]) {
  const names = columns.map(({ name }) => name).join(', ');
  const added = sums.map(({ name }) => `${name} = ${name} + excluded.${name}`).join(', ');
  const statement = database.prepare(
    `INSERT INTO ${table} (${names}) VALUES (${marks(columns.length)}) ON CONFLICT DO UPDATE SET ${added}`,
  );
  const write = cellWriter(columns);
  const cells = new Array<SqlCell>(columns.length);
  return (row: object): void => {
    statement.run(...write(row, cells));
  };
}

function marks(count: number): string {
  return new Array(count).fill('?').join(', ');
}

/** SQLITE_CONSTRAINT_PRIMARYKEY and SQLITE_CONSTRAINT_ROWID. */
const takenKeyCodes: readonly unknown[] = [1_555, 2_579];

const epochMs = Date.UTC(2020, 0, 1);

/**
 * The rowid of a request, made from its id `req_<UUIDv7>`: ms since 2020 times 4096, plus the 12 random bits that
 * follow the time. Exact in a double until 2089. Two requests may share it (at 5,000 req/s about one in a thousand):
 * writers then take the next free one, at most `ledgerKeySpan` further, and a lookup reads as far. Null for an id that
 * is not ours.
 */
export function ledgerKey(requestId: string): number | null {
  if (requestId.length !== 40 || !requestId.startsWith('req_')) return null;
  const ms = requestIdMs(requestId);
  const random = Number.parseInt(requestId.slice(19, 22), 16);
  const key = (ms - epochMs) * 4_096 + random;
  return Number.isSafeInteger(key) ? key : null;
}

/** Keys of requests that came before `atMs` are below this. */
export function ledgerKeyAt(atMs: number): number {
  return (Math.floor(atMs) - epochMs) * 4_096;
}

/** When a request of this key came, to the ms of its id. */
export function ledgerKeyMs(key: number): number {
  return Math.floor(key / 4_096) + epochMs;
}

export const ledgerKeySpan = 64;

/** All days before are added up in `dayTables` (books/ledger/day-sums). */
export function summedMs(database: Database): number {
  return Number(database.prepare('SELECT until_ms FROM summed').get()?.until_ms ?? 0);
}

/** A power cut may take this much of the acknowledged writes; the death of our process takes nothing. */
const walSyncIntervalMs = 100;

const dataSync = promisify(fdatasync);

/**
 * Syncs the write-ahead log of a database off the loop: a busy disk holds up those who wait for their own change, and
 * nobody else. Opening the log besides SQLite is safe: SQLite's locks are on the database and the -shm file.
 */
export class LogSync {
  readonly #log: string;
  #descriptor: number | null = null;
  /** Null: no sync runs. */
  running: Promise<void> | null = null;
  /** Begins when the running one has ended, which may have missed the last commits. */
  #next: Promise<void> | null = null;

  constructor(file: string) {
    this.#log = `${file}-wal`;
  }

  /**
   * Resolves once everything committed so far is on the disk. Calls that come while one runs share the one after it.
   * Rejects with `NoDescriptor` where the disk was not asked.
   */
  async sync(): Promise<void> {
    if (this.running !== null) return this.#afterRunning(this.running);
    try {
      this.#descriptor ??= openSync(this.#log, 'r');
    } catch (error) {
      throw new NoDescriptor(String(error));
    }
    this.running = dataSync(this.#descriptor);
    try {
      await this.running;
    } finally {
      this.running = null;
    }
  }

  #afterRunning(running: Promise<void>): Promise<void> {
    this.#next ??= running
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.sync();
      });
    return this.#next;
  }

  /** Waits for a running sync, and for the one behind it. */
  async close(): Promise<void> {
    for (let last = this.#next ?? this.running; last !== null; last = this.#next ?? this.running)
      await last.catch(() => {});
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}

/** A sync could not open the log, which passes. */
class NoDescriptor extends Error {}

/**
 * Syncs and measures, off the loop, the write-ahead log of a database opened with durability `os`. `onLong` gets the
 * bytes of the log that are not yet in the database, after each sync that found more than `longBytes` and the first one
 * that found less. `onBroken` is called once: after a failed sync nobody knows what is on the disk, and another sync
 * would answer "fine" (fsync clears the error), so the ledger must not be used until it is opened anew.
 */
export class WalSync {
  /** Bytes not yet in the database, as of the last sync. */
  pendingBytes = 0;
  readonly #log: LogSync;
  readonly #watch: { longBytes: number; onLong(pendingBytes: number): void; onBroken(error: Error): void };
  readonly #measure: StatementSync;
  readonly #frameBytes: number;
  #timer: NodeJS.Timeout | null = null;
  #isDirty = false;
  #stopped = false;

  constructor(
    database: Database,
    watch: { longBytes: number; onLong(pendingBytes: number): void; onBroken(error: Error): void },
  ) {
    requireNoopCheckpoint(database);
    this.#log = new LogSync(database.file);
    this.#watch = watch;
    // Reads two counters and takes no lock.
    this.#measure = database.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#frameBytes = Number(database.prepare('PRAGMA page_size').get()?.page_size) + 24;
  }

  /** Something was committed: it will be synced within `walSyncIntervalMs`. */
  readonly dirty = (): void => {
    this.#isDirty = true;
    if (this.#timer !== null || this.#log.running !== null || this.#stopped) return;
    this.#timer = setTimeout(this.#tick, walSyncIntervalMs);
    this.#timer.unref();
  };

  readonly #tick = (): void => {
    this.#timer = null;
    if (this.#log.running !== null || this.#stopped) return;
    this.sync().catch((error: Error) => {
      // Out of file descriptors, which passes (F22). The disk was not asked yet, so its state is known.
      if (error instanceof NoDescriptor) this.dirty();
      else this.#watch.onBroken(error);
    });
  };

  /** Resolves once everything committed so far is on the disk. */
  async sync(): Promise<void> {
    this.#isDirty = false;
    await this.#log.sync();
    if (this.#stopped) return;
    const row = this.#measure.get();
    const wasLong = this.pendingBytes > this.#watch.longBytes;
    this.pendingBytes = Math.max(0, Number(row?.log) - Number(row?.checkpointed)) * this.#frameBytes;
    if (wasLong || this.pendingBytes > this.#watch.longBytes) this.#watch.onLong(this.pendingBytes);
    if (this.#isDirty) this.dirty();
  }

  /** Waits for a running sync. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#log.close();
  }
}
