import type { Clock } from '../../kernel/clock.ts';
import { createLoopClock } from '../../kernel/loop-clock.ts';
import { type BucketsOf, isRefusal } from '../../ledger/batch-sums.ts';
import type { Ledger, ReservationRow, UsageEvent } from '../../metering/ledger.ts';
import type { RecordOrder } from '../../metering/record-store.ts';
import { closeRetryMs, notRecorded, stopRetryMs } from '../ledger-waits.ts';
import { createTroubleReport, ledgerWords } from '../trouble-report.ts';
import { createBoots } from './boots.ts';
import { type Database, poolSizes } from './database.ts';
import { createCloseQueue } from './ledger-closes.ts';
import { sumDays } from './ledger-days.ts';
import { listEvents } from './ledger-history.ts';
import { createLeftovers, leftoverSettleMs } from './ledger-leftovers.ts';
import { OpenQueue } from './ledger-opens.ts';
import { pruneLedger } from './ledger-prune.ts';
import {
  findEvent,
  readBuckets,
  readNewestBucketMs,
  readOpen,
  readRecentCalls,
  readSeed,
  readSettled,
} from './ledger-reader.ts';
import { recoverReservations } from './ledger-recovery.ts';
import { createTrafficBook, readTraffic } from './ledger-traffic.ts';
import { writeCloses, writeReservations } from './ledger-writer.ts';
import { createPostgresRecords } from './record-order.ts';
import { reasonOf, unavailable } from './unavailable.ts';
import { readUsage } from './usage-rows.ts';

export interface PostgresLedgerOptions {
  /** Its owner closes it, after `shutdown`. Its tables are there (`migrate`). */
  database: Database;
  /** Names this process in its reservations; a fresh UUID at each start. */
  bootId: string;
  clock: Clock;
  /** Cost of a reservation whose process died; a rule of metering. */
  chargeCrashed: (reservation: ReservationRow) => UsageEvent;
  /** The quota buckets that an event moves; a rule of metering. */
  bucketsOf: BucketsOf;
  /** Absent: no sink is to get records. */
  order?: RecordOrder;
  /**
   * `look`: for a process that serves nobody, such as the CLI. It opens nothing and does not count among the living
   * boots. Default: `serve`.
   */
  use?: 'serve' | 'look';
  /** Tries a step of the opening again while PostgreSQL may only be slow. Absent: once. */
  patient?: <T>(step: () => Promise<T>) => Promise<T>;
  /** Hears of what no caller is told: dropped closes, an outage's beginning and end. For the log. */
  onTrouble: (message: string) => void;
}

/** Requests of this process that run or whose end is not written yet: beyond them new ones are refused. */
const reservedMax = 100_000;
/** Records of refused requests are not kept while more closes than these wait. */
const queuedNotesMax = 1_000;
/** A reader waits this long for its own process' closes to be written, so that callers see their own requests. */
const ownClosesWaitMs = 250;
const sweepIntervalMs = 1_000;
/** Other replicas' pages show what went on here so late at most. */
const trafficIntervalMs = 5_000;

/** Books in PostgreSQL, shared by any number of processes. Rejects when it cannot be reached. */
export async function openPostgresLedger(options: PostgresLedgerOptions): Promise<Ledger> {
  const { database, bootId, clock, onTrouble, use = 'serve', patient = (step) => step() } = options;
  const { run } = database.rest;
  /** Committed reservations of this process: what `close` may close, once. */
  const reserved = new Set<string>();
  const leftovers = createLeftovers(clock);
  const loop = createLoopClock(clock);
  let fault: string | null = null;
  let dropped = 0;

  function hear(error: unknown): void {
    fault = error === null ? null : `${database.place}: ${reasonOf(error)}: ${wordsOf(error)}`;
    troubles.look();
  }

  const opens = new OpenQueue((rows) => writeReservations(database.opens.run, rows), poolSizes.opens, loop, {
    onOpened: (requestId) => reserved.add(requestId),
    onUnwanted: leftovers.unwanted,
    onOutcome: hear,
  });
  const traffic = createTrafficBook(run);
  const writeAll = async (events: readonly UsageEvent[]) =>
    traffic.add(await writeCloses(database.closes, events, { ...options, nowMs: clock.wallMs() }));
  const closes = createCloseQueue(writeAll, clock, {
    onOutcome: hear,
    onDropped(given, reason) {
      const events = given.filter((event) => !isRefusal(event));
      if (events.length === 0) return;
      dropped += events.length;
      for (const { requestId } of events) leftovers.disowned(requestId);
      const first = events[0]?.requestId ?? '';
      const which = events.length === 1 ? first : `${events.length} requests (${first} and more)`;
      onTrouble(`ledger: the end of ${which} could not be written, so the estimate will be charged: ${reason}`);
    },
  });
  const troubles = createTroubleReport({ trouble: () => fault, words: ledgerWords, tell: onTrouble, clock });
  const boots = createBoots(database, bootId, clock, hear);
  // Before the first reservation, which would look like a dead boot's without it.
  if (use === 'serve') await patient(() => boots.begin());
  else opens.refuse('this process only reads it');
  const sweeping = setInterval(() => void leftovers.sweep(run, leftoverSettleMs).catch(() => {}), sweepIntervalMs);
  sweeping.unref();
  const tellingTraffic = setInterval(() => void traffic.write(), trafficIntervalMs);
  tellingTraffic.unref();

  /** After this process' own closes are written. */
  async function reading<T>(read: () => Promise<T>): Promise<T> {
    await closes.flush(ownClosesWaitMs);
    return unavailable(read());
  }

  return {
    open(row) {
      if (reserved.size + closes.queued() >= reservedMax)
        return Promise.reject(notRecorded('too many requests are open'));
      return opens.open(row);
    },
    close(event) {
      if (reserved.delete(event.requestId)) closes.close(event);
    },
    note(refused) {
      if (closes.queued() < queuedNotesMax) closes.close(refused);
    },
    recover: () => unavailable(recoverReservations(database.rest, boots, bootId, options, traffic.add)),
    buckets: (scopes) => reading(() => readBuckets(run, scopes, clock.wallMs())),
    recentCalls: (account, sinceMs) => unavailable(readRecentCalls(run, account, sinceMs)),
    seed: (account, scopes, openIds) => unavailable(readSeed(database.rest, account, scopes, openIds, clock.wallMs())),
    newestBucketMs: () => reading(() => readNewestBucketMs(run)),
    openReservations: (account) => unavailable(readOpen(run, account)),
    settled: (requestIds) => reading(() => readSettled(run, requestIds)),
    livingBoots: () => unavailable(boots.living()),
    find: (id, account) => reading(() => findEvent(run, id, account)),
    list: (query) => reading(() => listEvents(run, query)),
    usage: (query) => reading(() => readUsage(run, query)),
    traffic: (query) =>
      reading(async () => {
        await traffic.write();
        return readTraffic(run, query);
      }),
    prune: (beforeMs) =>
      unavailable(
        // Runs before old rows are removed: only single requests know users and tags.
        sumDays(database.rest, clock.wallMs()).then(() => pruneLedger(run, beforeMs, clock.wallMs())),
      ),
    records: createPostgresRecords(database, bootId),
    trouble: () => fault,
    gauges: () => ({ queued: opens.queued() + closes.queued(), open: reserved.size, dropped }),
    async flush() {
      await opens.drain();
      await closes.flush(closeRetryMs);
    },
    async shutdown() {
      opens.refuse('Culvert is shutting down');
      await opens.drain();
      await closes.flush(stopRetryMs);
      closes.stop();
      clearInterval(sweeping);
      clearInterval(tellingTraffic);
      await traffic.write();
      loop.stop();
      try {
        await leftovers.sweep(run, 0);
        if (use === 'serve') await boots.end();
      } catch {
        // Another process then charges open reservations after 30 s of silence, instead of at once.
      }
    },
  };
}

function wordsOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}
