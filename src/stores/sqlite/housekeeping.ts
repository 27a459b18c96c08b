import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Repriced } from '../../books/ledger/repricing.ts';
import type { AttemptQuery, AttemptSum } from '../../books/ledger/traffic-queries.ts';
import type { ExperimentRows, ResultsQuery } from '../../books/metering/experiments/experiment-book.ts';
import type {
  CacheUseQuery,
  CacheUses,
  PromptCacheDay,
  RepricedQuery,
  RepricedRow,
  RequestQuery,
  TrafficPoint,
  TrafficQuery,
  UsageEvent,
  UsageQuery,
  UsageRow,
} from '../../books/metering/ledger.ts';
import type { OrderedRecord } from '../../books/metering/record-store.ts';
import { FailureError } from '../../kernel/failure.ts';
import { objectUpkeep } from '../accounts/provider-object-store.ts';
import { readResults } from '../ledger/experiment-book.ts';
import { ledgerSums } from '../ledger/ledger-sums.ts';
import { listRequests } from '../ledger/request-pages.ts';
import { type Database, openDatabase, patiently } from './database.ts';
import { byKey, pruneTraffic } from './ledger-reader.ts';
import { pruneAttempts, pruneBuckets, pruneEvents, pruneFeedback, repriceRequests } from './ledger-upkeep.ts';
import { sumDays, sumUsage } from './ledger-usage.ts';
import { pruneRecordOrder, readRecords, recordsArrived } from './record-order.ts';
import { tablesIn } from './tables.ts';

/** Orders to the worker thread of a database, and its answers. */
export interface Jobs {
  checkpoint: { input: Record<never, never>; answer: number };
  /** Answers how many events were removed. */
  prune: { input: { beforeKey: number; nowMs: number }; answer: number };
  trimObjects: { input: { tenant: string; keepMax: number }; answer: number };
  sweepObjects: { input: { nowMs: number }; answer: number };
  readRecords: { input: { after: number; limit: number }; answer: OrderedRecord[] };
  recordsArrived: { input: { sink: string; position: number; nowMs: number }; answer: number };
  list: { input: { query: RequestQuery }; answer: { events: UsageEvent[]; next: string | null } };
  usage: { input: { query: UsageQuery }; answer: UsageRow[] };
  traffic: { input: { query: TrafficQuery }; answer: readonly TrafficPoint[] };
  attempts: { input: { query: AttemptQuery }; answer: readonly AttemptSum[] };
  cacheUses: { input: { query: CacheUseQuery }; answer: readonly CacheUses[] };
  promptCacheDays: { input: { query: CacheUseQuery }; answer: readonly PromptCacheDay[] };
  results: { input: { query: ResultsQuery }; answer: ExperimentRows };
  /** Answers the ids of the requests that were changed. */
  reprice: { input: { changes: readonly Repriced[]; atMs: number; nowMs: number }; answer: readonly string[] };
  repriced: { input: { query: RepricedQuery }; answer: readonly RepricedRow[] };
  close: { input: Record<never, never>; answer: number };
}

export type JobName = keyof Jobs;

export type Job = { [Name in JobName]: { id: number; job: Name } & Jobs[Name]['input'] }[JobName];

/** One per job, by its id. */
export type JobEnd =
  | { id: number; kind: 'done'; answer: Jobs[JobName]['answer'] }
  | { id: number; kind: 'refused'; failure: FailureError['failure'] }
  | { id: number; kind: 'failed'; message: string };

/** While this thread waits for a lock it may itself hold the writer's: not longer than a request can bear. */
const busyTimeoutMs = 50;

/** Each round of a checkpoint copies what was written during the one before, mostly less and less of it. */
const passiveRounds = 4;
/** So few pages are copied in less time than their sync takes. */
const fewFrames = 64;

if (parentPort !== null) serve(parentPort, String(workerData));

function serve(port: NonNullable<typeof parentPort>, file: string): void {
  const database = openDatabase(file, 'checkpoint', busyTimeoutMs);
  let reading: Database | null = null;
  /** Jobs that write run one after the other; those that read wait for nobody. */
  let lastWrite: Promise<unknown> = Promise.resolve();
  const running = new Set<Promise<void>>();

  /** Requests go first: it waits for them much longer than they would. */
  function objects() {
    return objectUpkeep(tablesIn(database, { waitMaxMs: 1_000 }));
  }

  /** A separate connection: a read within a transaction of `prune` would see half of it. */
  function reader(): Database {
    reading ??= openDatabase(file, 'checkpoint', busyTimeoutMs);
    return reading;
  }

  function inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const mine = lastWrite.then(work);
    lastWrite = mine.catch(() => {});
    return mine;
  }

  function checkpoint(): number {
    const passive = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
    // Counts what was written during that, too.
    const measure = database.prepare('PRAGMA wal_checkpoint(NOOP)');
    // Passive copies and syncs while the writer runs; restart then has little left to do while it holds the lock.
    for (let round = 0; round < passiveRounds; round += 1) {
      passive.get();
      const row = measure.get();
      const left = Number(row?.log) - Number(row?.checkpointed);
      // Then the next commit starts the log over.
      if (left === 0) return 0;
      if (left < fewFrames) break;
    }
    // Its own `busy` answer is not a failure: a reader is in the way, and the next round tries again.
    database.prepare('PRAGMA wal_checkpoint(RESTART)').get();
    return 0;
  }

  async function close(): Promise<number> {
    await Promise.allSettled(running);
    reading?.close();
    database.close();
    return 0;
  }

  async function work(job: Job): Promise<Jobs[JobName]['answer']> {
    switch (job.job) {
      case 'checkpoint':
        return inTurn(checkpoint);
      case 'prune':
        return inTurn(async () => {
          // Runs before old rows are removed: only single requests know users and tags.
          await sumDays(reader(), database, job.nowMs, nextTurn);
          const removed = await pruneEvents(database, job.beforeKey);
          await pruneFeedback(database, job.beforeKey);
          await pruneRecordOrder(database, job.beforeKey);
          await pruneBuckets(database, job.nowMs);
          await pruneTraffic(database, job.nowMs);
          await pruneAttempts(database, job.nowMs);
          return removed;
        });
      case 'trimObjects':
        return inTurn(() => objects().trim(job.tenant, job.keepMax));
      case 'sweepObjects':
        return inTurn(() => objects().sweep(job.nowMs));
      case 'readRecords':
        return readRecords(reader(), job.after, job.limit);
      case 'recordsArrived':
        return inTurn(() => patiently(database, () => recordsArrived(database, job.sink, job.position, job.nowMs)));
      case 'list':
        return listRequests(tablesIn(reader()), byKey, job.query, nextTurn);
      case 'usage':
        return sumUsage(reader(), job.query, nextTurn);
      case 'traffic':
        return ledgerSums(tablesIn(reader())).traffic(job.query);
      case 'attempts':
        return ledgerSums(tablesIn(reader())).attempts(job.query);
      case 'cacheUses':
        return ledgerSums(tablesIn(reader())).cacheUses(job.query);
      case 'promptCacheDays':
        return ledgerSums(tablesIn(reader())).promptCacheDays(job.query);
      case 'results':
        return readResults(tablesIn(reader()), byKey, job.query);
      case 'reprice':
        return inTurn(() => repriceRequests(database, job.changes, job));
      case 'repriced':
        return ledgerSums(tablesIn(reader())).repriced(job.query);
      case 'close':
        return inTurn(close);
    }
  }

  async function run(job: Job): Promise<void> {
    const { id } = job;
    const post = (end: JobEnd) => port.postMessage(end);
    try {
      post({ id, kind: 'done', answer: await work(job) });
    } catch (error) {
      if (error instanceof FailureError) post({ id, kind: 'refused', failure: error.failure });
      else post({ id, kind: 'failed', message: String(error) });
    }
    if (job.job === 'close') port.close();
  }

  port.on('message', (job: Job) => {
    const ended = run(job);
    if (job.job === 'close') return;
    running.add(ended);
    void ended.finally(() => running.delete(ended));
  });
}
