import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase, sqliteBusy, sqliteCode } from './database.ts';

/** What the ledger's worker thread is asked; each job is answered by one `JobEnd` in order. */
export type Job = { job: 'checkpoint' } | { job: 'prune'; beforeKey: number } | { job: 'close' };

export interface JobEnd {
  /** Rows removed by `prune`; null when the job failed. */
  done: number | null;
  message: string;
}

/** While this thread waits for a lock it may itself hold the writer's: not longer than a request can bear. */
const busyTimeoutMs = 50;
const pruneBatchRows = 500;
/** Between two batches, so that the writer gets in first. */
const prunePauseMs = 20;

if (parentPort !== null) serve(parentPort, String(workerData));

function serve(port: NonNullable<typeof parentPort>, file: string): void {
  const database = openDatabase(file, 'checkpoint', busyTimeoutMs);
  // Passive copies and syncs beside the running writer; restart then has little left to do while it holds the lock.
  const passive = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  const restart = database.prepare('PRAGMA wal_checkpoint(RESTART)');
  const pruneAttempts = database.prepare(
    'DELETE FROM attempt WHERE event IN (SELECT key FROM usage_event WHERE key < ? ORDER BY key LIMIT ?)',
  );
  const pruneEvents = database.prepare(
    'DELETE FROM usage_event WHERE key IN (SELECT key FROM usage_event WHERE key < ? ORDER BY key LIMIT ?)',
  );
  let last: Promise<void> = Promise.resolve();

  function checkpoint(): number {
    passive.get();
    // Its own `busy` answer is no failure: a reader is in the way, the next round tries again.
    restart.get();
    return 0;
  }

  function pruneBatch(beforeKey: number): number {
    database.exec('BEGIN IMMEDIATE');
    try {
      pruneAttempts.run(beforeKey, pruneBatchRows);
      const { changes } = pruneEvents.run(beforeKey, pruneBatchRows);
      database.exec('COMMIT');
      return Number(changes);
    } catch (error) {
      database.exec('ROLLBACK');
      throw error;
    }
  }

  async function prune(beforeKey: number): Promise<number> {
    let removed = 0;
    for (;;) {
      const batch = await patiently(() => pruneBatch(beforeKey));
      removed += batch;
      if (batch < pruneBatchRows) return removed;
      await pause(prunePauseMs);
    }
  }

  async function run(job: Job): Promise<void> {
    try {
      const done = job.job === 'checkpoint' ? checkpoint() : job.job === 'prune' ? await prune(job.beforeKey) : 0;
      if (job.job === 'close') database.close();
      port.postMessage({ done, message: '' } satisfies JobEnd);
      if (job.job === 'close') port.close();
    } catch (error) {
      port.postMessage({ done: null, message: String(error) } satisfies JobEnd);
    }
  }

  port.on('message', (job: Job) => {
    last = last.then(() => run(job));
  });
}

const busyRoundsMax = 20;

async function patiently(work: () => number): Promise<number> {
  for (let round = 1; ; round += 1) {
    try {
      return work();
    } catch (error) {
      if (sqliteCode(error) !== sqliteBusy || round === busyRoundsMax) throw error;
      await pause(prunePauseMs);
    }
  }
}
