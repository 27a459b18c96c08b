import { Worker } from 'node:worker_threads';
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
import { FailureError } from '../../kernel/failure.ts';
import { checkpointing, type Database } from './database.ts';
import type { JobEnd, JobName, Jobs } from './housekeeping.ts';

/** Runs database work that may take milliseconds, in a thread that starts at its first job. */
export interface Housekeeper {
  /** Moves the write-ahead log into the database, durably, and starts it over. One at a time: joins a running one. */
  checkpoint(): Promise<void>;
  /** Removes events with keys below and quota buckets that are dead; resolves to how many events. */
  prune(beforeKey: number, nowMs: number): Promise<number>;
  /** Removes a tenant's oldest objects at providers beyond `keepMax`, and those that expired; resolves to how many. */
  trimObjects(tenant: string, keepMax: number): Promise<number>;
  sweepObjects(nowMs: number): Promise<number>;
  /** See the port `books/metering/record-store`. */
  readRecords(after: number, limit: number): Promise<Jobs['readRecords']['answer']>;
  recordsArrived(sink: string, position: number, nowMs: number): Promise<number>;
  list(query: RequestQuery): Promise<Jobs['list']['answer']>;
  usage(query: UsageQuery): Promise<Jobs['usage']['answer']>;
  traffic(query: TrafficQuery): Promise<Jobs['traffic']['answer']>;
  attempts(query: AttemptQuery): Promise<Jobs['attempts']['answer']>;
  cacheUses(query: CacheUseQuery): Promise<Jobs['cacheUses']['answer']>;
  promptCacheDays(query: CacheUseQuery): Promise<Jobs['promptCacheDays']['answer']>;
  results(query: ResultsQuery): Promise<Jobs['results']['answer']>;
  reprice(changes: readonly Repriced[], atMs: number, nowMs: number): Promise<readonly string[]>;
  repriced(query: RepricedQuery): Promise<Jobs['repriced']['answer']>;
  /** Finishes running jobs and ends the thread. */
  close(): Promise<void>;
}

/** Reports that were asked for and are not there; more are refused. */
const jobsMax = 64;

interface Waiting {
  resolve(answer: JobEnd & { kind: 'done' }): void;
  reject(error: Error): void;
}

export function createHousekeeper(file: string): Housekeeper {
  let worker: Worker | null = null;
  let jobs = 0;
  const waiting = new Map<number, Waiting>();
  let checkpoint: Promise<void> | null = null;

  function start(): Worker {
    const started = new Worker(new URL('./housekeeping.ts', import.meta.url), { workerData: file });
    started.unref();
    started.on('message', (end: JobEnd) => {
      const one = waiting.get(end.id);
      waiting.delete(end.id);
      if (waiting.size === 0) started.unref();
      if (end.kind === 'done') one?.resolve(end);
      else one?.reject(end.kind === 'refused' ? new FailureError(end.failure) : new Error(end.message));
    });
    started.on('error', () => {});
    started.on('exit', (code) => {
      worker = null;
      const left = [...waiting.values()];
      waiting.clear();
      for (const one of left) one.reject(new Error(`the housekeeping thread of ${file} ended with ${code}`));
    });
    return started;
  }

  async function run<Name extends JobName>(job: Name, input: Jobs[Name]['input']): Promise<Jobs[Name]['answer']> {
    if (waiting.size >= jobsMax) {
      throw new FailureError({ kind: 'overloaded', message: 'Too many reports are being made. Retry in a moment.' });
    }
    worker ??= start();
    // A checkpoint can be made at the next start. A caller that waits for anything else must get it before the process
    // ends.
    if (job !== 'checkpoint') worker.ref();
    const id = ++jobs;
    worker.postMessage({ id, job, ...input });
    const end = await new Promise<JobEnd & { kind: 'done' }>((resolve, reject) => waiting.set(id, { resolve, reject }));
    return end.answer as Jobs[Name]['answer'];
  }

  return {
    checkpoint() {
      checkpoint ??= checkpointing(file, async () => void (await run('checkpoint', {}))).finally(() => {
        checkpoint = null;
      });
      return checkpoint;
    },
    prune: (beforeKey, nowMs) => run('prune', { beforeKey, nowMs }),
    trimObjects: (tenant, keepMax) => run('trimObjects', { tenant, keepMax }),
    sweepObjects: (nowMs) => run('sweepObjects', { nowMs }),
    readRecords: (after, limit) => run('readRecords', { after, limit }),
    recordsArrived: (sink, position, nowMs) => run('recordsArrived', { sink, position, nowMs }),
    list: (query) => run('list', { query }),
    usage: (query) => run('usage', { query }),
    traffic: (query) => run('traffic', { query }),
    attempts: (query) => run('attempts', { query }),
    cacheUses: (query) => run('cacheUses', { query }),
    promptCacheDays: (query) => run('promptCacheDays', { query }),
    results: (query) => run('results', { query }),
    reprice: (changes, atMs, nowMs) => run('reprice', { changes, atMs, nowMs }),
    repriced: (query) => run('repriced', { query }),
    async close() {
      if (worker !== null) await run('close', {});
    },
  };
}

/** Moves a write-ahead log into its database in another thread, so that no commit on the loop ever does. */
export interface LateCheckpoint {
  /** Call it after each commit. `bytes`: of large values in it. */
  wrote(bytes?: number): void;
}

/** A row may be a megabyte: the log is moved before it grows far beyond this. */
const walCheckpointBytes = 16 * 1024 * 1024;
/** The log is measured once so much was written: it costs as much as a small commit. */
const measuredBytes = 1024 * 1024;
/** Pages that a commit changes apart from its large values: of the table, of its indexes, of both their inner nodes. */
const commitBytes = 32 * 1024;

/** For a connection opened with `checkpoint`; `onFailed` is called for a failed checkpoint. */
export function createLateCheckpoint(
  database: Database,
  housekeeper: Housekeeper,
  onFailed: (error: unknown) => void,
): LateCheckpoint {
  database.exec('PRAGMA wal_autocheckpoint = 0');
  const measure = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  const frameBytes = Number(database.prepare('PRAGMA page_size').get()?.page_size) + 24;
  let unmeasured = 0;
  return {
    wrote(bytes = 0) {
      unmeasured += bytes + commitBytes;
      if (unmeasured < measuredBytes) return;
      unmeasured = 0;
      const row = measure.get();
      if ((Number(row?.log) - Number(row?.checkpointed)) * frameBytes < walCheckpointBytes) return;
      housekeeper.checkpoint().catch(onFailed);
    },
  };
}
