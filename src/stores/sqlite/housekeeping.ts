import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Repriced } from '../../books/ledger/repricing.ts';
import type { AttemptQuery } from '../../books/ledger/traffic-queries.ts';
import type { ResultsQuery } from '../../books/metering/experiments/experiment-book.ts';
import type {
  CacheUseQuery,
  RepricedQuery,
  RequestQuery,
  TrafficQuery,
  UsageQuery,
} from '../../books/metering/ledger.ts';
import { oneAfterTheOther } from '../../kernel/sharing/one-after-the-other.ts';
import { answerCalls } from '../../kernel/threads/thread-port.ts';
import { objectUpkeep } from '../accounts/provider-object-store.ts';
import { readResults } from '../ledger/experiment-book.ts';
import { ledgerSums } from '../ledger/ledger-sums.ts';
import { listRequests } from '../ledger/request-pages.ts';
import { type Database, openDatabase, patiently } from './database.ts';
import { byKey } from './ledger-reader.ts';
import {
  pruneAttempts,
  pruneBuckets,
  pruneEvents,
  pruneFeedback,
  pruneRecordOrder,
  pruneTraffic,
  repriceRequests,
} from './ledger-upkeep.ts';
import { sumDays, sumUsage } from './ledger-usage.ts';
import { readRecords, recordsArrived } from './record-order.ts';
import { tablesIn } from './tables.ts';

/** While this thread waits for a lock it may itself hold the writer's: not longer than a request can bear. */
const busyTimeoutMs = 50;

/** Each round of a checkpoint copies what was written during the one before, mostly less and less of it. */
const passiveRounds = 4;
/** So few pages are copied in less time than their sync takes. */
const fewFrames = 64;

/** Jobs of the thread, called by name. */
export type Housekeeping = ReturnType<typeof housekeepingOf>;

if (parentPort !== null) answerCalls(housekeepingOf(String(workerData)));

function housekeepingOf(file: string) {
  const database = openDatabase(file, 'checkpoint', busyTimeoutMs);
  let reading: Database | null = null;
  /** Jobs that write run one after the other; those that read wait for nobody. */
  const inTurn = oneAfterTheOther();

  /** Requests go first: it waits for them much longer than they would. */
  function objects() {
    return objectUpkeep(tablesIn(database, { waitMaxMs: 1_000 }));
  }

  /** A separate connection: a read within a transaction of `prune` would see half of it. */
  const openReader = () => openDatabase(file, 'checkpoint', busyTimeoutMs);
  const reader = () => (reading ??= openReader());

  function checkpoint(): void {
    const passive = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
    // Counts what was written during that, too.
    const measure = database.prepare('PRAGMA wal_checkpoint(NOOP)');
    // Passive copies and syncs while the writer runs; restart then has little left to do while it holds the lock.
    for (let round = 0; round < passiveRounds; round += 1) {
      passive.get();
      const row = measure.get();
      const left = Number(row?.log) - Number(row?.checkpointed);
      // Then the next commit starts the log over.
      if (left === 0) return;
      if (left < fewFrames) break;
    }
    // Its own `busy` answer is not a failure: a reader is in the way, and the next round tries again.
    database.prepare('PRAGMA wal_checkpoint(RESTART)').get();
  }

  const sums = () => ledgerSums(tablesIn(reader()));

  return {
    /** Moves the write-ahead log into the database, durably, and starts it over. */
    checkpoint: () => inTurn(checkpoint),
    /** Removes events with keys below and quota buckets that are dead; resolves to how many events. */
    prune: (beforeKey: number, nowMs: number) =>
      inTurn(async () => {
        // Runs before old rows are removed: only single requests know users and tags. Its rows are read in many turns, and
        // meanwhile SQLite drops no table of the same connection, such as one of `usage`.
        const days = openReader();
        await sumDays(days, database, nowMs, nextTurn).finally(() => days.close());
        const removed = await pruneEvents(database, beforeKey);
        await pruneFeedback(database, beforeKey);
        await pruneRecordOrder(database, beforeKey);
        await pruneBuckets(database, nowMs);
        await pruneTraffic(database, nowMs);
        await pruneAttempts(database, nowMs);
        return removed;
      }),
    /** Removes a tenant's oldest objects at providers beyond `keepMax`, and those that expired; resolves to how many. */
    trimObjects: (tenant: string, keepMax: number) => inTurn(() => objects().trim(tenant, keepMax)),
    sweepObjects: (nowMs: number) => inTurn(() => objects().sweep(nowMs)),
    /** See the port `books/metering/record-store`. */
    readRecords: (after: number, limit: number) => readRecords(reader(), after, limit),
    recordsArrived: (sink: string, position: number, nowMs: number) =>
      inTurn(() => patiently(database, () => recordsArrived(database, sink, position, nowMs))),
    list: (query: RequestQuery) => listRequests(tablesIn(reader()), byKey, query, nextTurn),
    usage: (query: UsageQuery) => sumUsage(reader(), query, nextTurn),
    traffic: (query: TrafficQuery) => sums().traffic(query),
    attempts: (query: AttemptQuery) => sums().attempts(query),
    cacheUses: (query: CacheUseQuery) => sums().cacheUses(query),
    promptCacheDays: (query: CacheUseQuery) => sums().promptCacheDays(query),
    results: (query: ResultsQuery) => readResults(tablesIn(reader()), byKey, query),
    /** Resolves to the ids of the requests that were changed. */
    reprice: (changes: readonly Repriced[], atMs: number, nowMs: number) =>
      inTurn(() => repriceRequests(database, changes, { atMs, nowMs })),
    repriced: (query: RepricedQuery) => sums().repriced(query),
    close: () =>
      inTurn(() => {
        reading?.close();
        database.close();
      }),
  };
}
