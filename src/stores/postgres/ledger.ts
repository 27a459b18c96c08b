import { type BucketsOf, isRefusal } from '../../books/ledger/batch-sums.ts';
import { readReservation } from '../../books/ledger/columns.ts';
import type { Ledger, ReservationRow, UsageEvent } from '../../books/metering/ledger.ts';
import type { RecordOrder } from '../../books/metering/record-store.ts';
import { BriefMap } from '../../kernel/brief.ts';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { createExperimentBook, readResults } from '../ledger/experiment-book.ts';
import { ledgerSums } from '../ledger/ledger-sums.ts';
import { closeRetryMs, notRecorded, stopRetryMs } from '../ledger/ledger-waits.ts';
import { listRequests } from '../ledger/request-pages.ts';
import { createStatementBook } from '../ledger/statement-book.ts';
import type { SqlTables } from '../sql-tables.ts';
import { createTroubleReport, ledgerWords, messageOf } from '../trouble-report.ts';
import { type Boots, bootEndedCleanly, bootIsOver, createBoots, forgetOldBoots } from './boots.ts';
import {
  type Connections,
  createAnswerWatch,
  type Database,
  poolSizes,
  type Run,
  reasonOf,
  type Statement,
  unavailable,
} from './database.ts';
import { createCloseQueue, OpenQueue } from './ledger-queues.ts';
import {
  byRequestId,
  findEvent,
  readBuckets,
  readNewestBucketMs,
  readOpen,
  readRecentCalls,
  readSeed,
  readSettled,
  readUsage,
} from './ledger-reader.ts';
import { createPostgresRecords, pruneLedger, sumDays } from './ledger-upkeep.ts';
import { createTrafficBook, repriceRequests, writeCloses, writeEvents, writeReservations } from './ledger-writer.ts';
import { tablesIn } from './stores.ts';

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
  /** Called with troubles that no caller sees: dropped closes, an outage's beginning and end. For the log. */
  onTrouble: (message: string) => void;
}

/** Requests of this process that run or whose end is not written yet: beyond them new ones are refused. */
const reservedMax = 100_000;
/** Records of refused requests are not kept while more closes than these wait. */
const queuedNotesMax = 1_000;
/** A reader waits this long for its own process' closes to be written, so that callers see their own requests. */
const closesWaitMs = 250;
const sweepIntervalMs = 1_000;
/** Other replicas' pages show what went on here so late at most. */
const trafficIntervalMs = 5_000;

/** Books in PostgreSQL, shared by any number of processes. Rejects when it cannot be reached. */
export async function openPostgresLedger(
  options: PostgresLedgerOptions,
): Promise<Ledger & Pick<Boots, 'replicas' | 'bury' | 'aheadMs'>> {
  const { database, bootId, clock, onTrouble, use = 'serve', patient = (step) => step() } = options;
  const { run } = database.rest;
  /** Committed reservations of this process: what `close` may close, once. */
  const reserved = new BriefMap<true>();
  const leftovers = createLeftovers(clock);
  const { patience, probe, inTime } = createAnswerWatch(database, clock);
  let fault: string | null = null;
  let dropped = 0;

  function noteOutcome(error: unknown): void {
    fault = error === null ? null : `${database.place}: ${reasonOf(error)}: ${messageOf(error)}`;
    troubles.look();
  }

  const opens = new OpenQueue((rows) => writeReservations(database.opens.run, rows), poolSizes.opens, patience, {
    onOpened(requestId) {
      leftovers.opened(requestId);
      reserved.set(requestId, true);
    },
    onUnwanted: leftovers.unwanted,
    onOutcome: noteOutcome,
    onSlow: probe,
  });
  const traffic = createTrafficBook(database.rest);
  const tables = tablesIn(database);
  const sums = ledgerSums(tables);
  const writeAll = async (events: readonly UsageEvent[]) =>
    traffic.add(await writeCloses(database.closes, events, { ...options, nowMs: clock.wallMs() }));
  const closes = createCloseQueue(writeAll, clock, {
    onOutcome: noteOutcome,
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
  const troubles = createTroubleReport({ trouble: () => fault, words: ledgerWords, report: onTrouble, clock });
  const boots = createBoots(database, bootId, clock, noteOutcome);
  const { replicas, bury, aheadMs } = boots;
  // Before the first reservation, which would look like a dead boot's without it.
  if (use === 'serve') await patient(() => boots.begin());
  else opens.refuse('this process only reads it');
  const stopSweeping = every(sweepIntervalMs, () => void leftovers.sweep(run));
  const stopTraffic = every(trafficIntervalMs, () => void traffic.write());

  /** After this process' own closes are written. */
  async function reading<T>(read: () => Promise<T>): Promise<T> {
    await closes.flush(closesWaitMs);
    return unavailable(read());
  }

  return {
    open(row, byMs) {
      if (reserved.size + closes.queued() >= reservedMax)
        return Promise.reject(notRecorded('too many requests are open'));
      return opens.open(row, byMs);
    },
    close(event) {
      if (reserved.take(event.requestId)) closes.close(event);
    },
    note(refused) {
      if (closes.queued() < queuedNotesMax) closes.close(refused);
    },
    recover: () => unavailable(recoverReservations(database.rest, boots, bootId, options, traffic.add)),
    buckets: (scopes) => reading(() => readBuckets(run, scopes, clock.wallMs())),
    recentCalls: (account, sinceMs) => inTime(readRecentCalls(run, account, sinceMs)),
    seed: (account, scopes, openIds) => inTime(readSeed(database.rest, account, scopes, openIds, clock.wallMs())),
    newestBucketMs: () => reading(() => readNewestBucketMs(run)),
    openReservations: (account) => unavailable(readOpen(run, account)),
    settled: (requestIds) => reading(() => readSettled(run, requestIds)),
    livingBoots: () => unavailable(boots.living()),
    ...{ replicas, bury, aheadMs },
    find: (id, account) => reading(() => findEvent(run, id, account)),
    list: (query) => reading(() => listRequests(tables, byRequestId, query)),
    usage: (query) => reading(() => readUsage(tables, query)),
    traffic: (query) => reading(() => traffic.write().then(() => sums.traffic(query))),
    attempts: (query) => reading(() => traffic.write().then(() => sums.attempts(query))),
    cacheUses: (query) => reading(() => sums.cacheUses(query)),
    promptCacheDays: (query) => reading(() => sums.promptCacheDays(query)),
    reprice: (changes, atMs) => reading(() => repriceRequests(database.rest, changes, { atMs, nowMs: clock.wallMs() })),
    repriced: (query) => reading(() => sums.repriced(query)),
    prune: (beforeMs) =>
      unavailable(
        // Runs before old rows are removed: only single requests know users and tags.
        sumDays(database.rest, clock.wallMs()).then(() => pruneLedger(run, beforeMs, clock.wallMs())),
      ),
    records: createPostgresRecords(database, bootId),
    ...booksIn(tables, reading),
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
      stopSweeping();
      stopTraffic();
      await traffic.write();
      patience.stop();
      await leftovers.end(run);
      try {
        if (use === 'serve') await boots.end();
      } catch {
        // Another process then charges open reservations after 30 s of silence, instead of at once.
      }
    },
  };
}

/** The books that one text has for both databases. */
function booksIn(
  tables: SqlTables,
  reading: <T>(read: () => Promise<T>) => Promise<T>,
): Pick<Ledger, 'began' | 'experiments' | 'statements'> {
  const rename = 'UPDATE culvert.reservation SET endpoint = $2 WHERE request_id = $1';
  return {
    began: (...values) => void tables.run(rename, values).catch(() => {}),
    experiments: {
      ...createExperimentBook(tables),
      results: (query) => reading(() => readResults(tables, byRequestId, query)),
    },
    statements: createStatementBook(tables),
  };
}

const recoveredAtOnce = 200;

/**
 * Charges every reservation of a boot that is over once; resolves to how many. On all replicas at once: the one that
 * gets the row out of the table writes its event, in the same commit.
 */
export async function recoverReservations(
  connections: Connections,
  boots: Boots,
  bootId: string,
  rules: {
    chargeCrashed: (reservation: ReservationRow) => UsageEvent;
    bucketsOf: BucketsOf;
    order?: RecordOrder;
    clock: Pick<Clock, 'wallMs'>;
  },
  onWritten: (events: readonly UsageEvent[]) => void,
): Promise<number> {
  let recovered = 0;
  for (;;) {
    const take = boots.mayJudgeSilence() ? takeSilent : takeEnded;
    const charged = await connections.transaction('write', async (run) => {
      const { rows } = await run(take, [bootId, recoveredAtOnce]);
      const events = rows.map((row) => rules.chargeCrashed(readReservation(row)));
      await writeEvents(run, events, { ...rules, nowMs: rules.clock.wallMs() });
      if (rows.length < recoveredAtOnce) await forgetOldBoots(run);
      return events;
    });
    onWritten(charged);
    recovered += charged.length;
    if (charged.length < recoveredAtOnce) return recovered;
  }
}

function takeWhere(name: string, isOver: string): Statement {
  return {
    name,
    text: `
      DELETE FROM culvert.reservation WHERE request_id IN (
        SELECT request_id FROM culvert.reservation AS held WHERE held.boot_id <> $1 AND ${isOver}
        ORDER BY request_id LIMIT $2 FOR UPDATE SKIP LOCKED
      ) RETURNING *`,
  };
}

const takeSilent = takeWhere('recover-silent', bootIsOver('held.boot_id'));
const takeEnded = takeWhere('recover-ended', bootEndedCleanly('held.boot_id'));

/** A statement that was sent before may still be running: the server ends it after a second. */
const leftoverSettleMs = 2_500;
/** The rest is charged at its estimate when this process ends. */
const leftoversMax = 100_000;
const batchRowsMax = 1_000;

/** A server that was silent does what waited for it in any order: the first removal may come before the row. */
const removalsOf = 2;

/** Reservations in the table that nobody will close. Both lists are bounded. */
function createLeftovers(clock: Clock) {
  /** By request id: since when, in monotonic ms, and statements until now; in the order of the former. */
  const unwanted: LeftoverList = new Map();
  const disowned: LeftoverList = new Map();
  let sweeping: Promise<void> | null = null;

  function add(list: LeftoverList, requestId: string): void {
    if (list.size < leftoversMax) list.set(requestId, { sinceMs: clock.monotonicMs(), statements: 0 });
  }

  async function sweepList(
    list: LeftoverList,
    run: Run,
    { statement, times, olderThanMs }: { statement: string; times: number; olderThanMs: number },
  ): Promise<void> {
    const ids: string[] = [];
    for (const [id, { sinceMs }] of list) {
      if (clock.monotonicMs() - sinceMs < olderThanMs || ids.length === batchRowsMax) break;
      ids.push(id);
    }
    if (ids.length === 0) return;
    await run(statement, [ids]);
    const sinceMs = clock.monotonicMs();
    for (const id of ids) {
      const statements = (list.get(id)?.statements ?? times) + 1;
      list.delete(id);
      if (statements < times) list.set(id, { sinceMs, statements });
    }
  }

  async function sweepAll(run: Run, olderThanMs: number): Promise<void> {
    const remove = 'DELETE FROM culvert.reservation WHERE request_id = ANY($1)';
    await sweepList(unwanted, run, { statement: remove, times: removalsOf, olderThanMs });
    // A boot that never was is over.
    const disown = `UPDATE culvert.reservation SET boot_id = '' WHERE request_id = ANY($1)`;
    await sweepList(disowned, run, { statement: disown, times: 1, olderThanMs });
  }

  /** One call at a time: a silent server would do both at once, and none of it later. */
  function sweepOnce(run: Run, olderThanMs: number): Promise<void> {
    sweeping ??= sweepAll(run, olderThanMs)
      // They are seen to once it is back, or charged when this process is over.
      .catch(() => undefined)
      .finally(() => {
        sweeping = null;
      });
    return sweeping;
  }

  return {
    /** It was refused, so it must not hold quota: it is removed. */
    unwanted: (requestId: string): void => add(unwanted, requestId),
    /** It was opened once more after a refusal, as what is given back may be: it stays. */
    opened(requestId: string): void {
      if (unwanted.size > 0) unwanted.delete(requestId);
    },
    /** Its close could not be written: it is left to the next recovery, which charges the estimate. */
    disowned: (requestId: string): void => add(disowned, requestId),
    /** Sees to those that came a while ago. Never rejects. */
    sweep: (run: Run): Promise<void> => sweepOnce(run, leftoverSettleMs),
    /** Sees to all of them once more. Never rejects. */
    async end(run: Run): Promise<void> {
      await sweeping;
      await sweepOnce(run, 0);
    },
  };
}

type LeftoverList = Map<string, { sinceMs: number; statements: number }>;
