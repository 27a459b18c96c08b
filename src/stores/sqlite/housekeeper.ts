import { FailureError } from '../../kernel/failure.ts';
import { callThread, type Remote, remoteOf } from '../../kernel/threads/remote.ts';
import { createWorkThread } from '../../kernel/threads/work-thread.ts';
import { checkpointing, type Database } from './database.ts';
import type { Housekeeping } from './housekeeping.ts';

/** Runs database work that may take milliseconds, in a thread that starts at its first job. */
export type Housekeeper = Remote<Housekeeping>;

/** Reports that were asked for and are not there; more are refused. */
const jobsMax = 64;

/** One checkpoint at a time: a second call joins the running one. `close` finishes running jobs and ends the thread. */
export function createHousekeeper(file: string): Housekeeper {
  const entry = new URL('./housekeeping.ts', import.meta.url);
  const thread = createWorkThread(entry, `housekeeping thread of ${file}`, { workerData: file, heap: 'usual' });
  const open = new Set<Promise<unknown>>();
  let used = false;
  let checkpoint: Promise<void> | null = null;

  function run(job: keyof Housekeeping, args: unknown[]): Promise<unknown> {
    if (open.size >= jobsMax) {
      const message = 'Too many reports are being made. Retry in a moment.';
      return Promise.reject(new FailureError({ kind: 'overloaded', message }));
    }
    used = true;
    const answer = callThread(thread, job, args);
    open.add(answer);
    const ended = () => void open.delete(answer);
    answer.then(ended, ended);
    return answer;
  }

  return remoteOf<Housekeeping>(run, {
    checkpoint() {
      checkpoint ??= checkpointing(file, async () => void (await run('checkpoint', []))).finally(() => {
        checkpoint = null;
      });
      return checkpoint;
    },
    async close() {
      if (!used) return;
      await Promise.allSettled(open);
      await run('close', []);
      thread.letGo();
    },
  });
}

/** A row may be a megabyte: the log is moved before it grows far beyond this. */
const walCheckpointBytes = 16 * 1024 * 1024;
/** The log is measured once so much was written: it costs as much as a small commit. */
const measuredBytes = 1024 * 1024;
/** Pages that a commit changes apart from its large values: of the table, of its indexes, of both their inner nodes. */
const commitBytes = 32 * 1024;

/**
 * Moves a write-ahead log into its database in another thread, so that no commit on the loop ever does. For a connection
 * opened with `checkpoint`; `onFailed` is called for a failed checkpoint.
 */
export function createLateCheckpoint(database: Database, housekeeper: Housekeeper, onFailed: (error: unknown) => void) {
  database.exec('PRAGMA wal_autocheckpoint = 0');
  const measure = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  const frameBytes = Number(database.prepare('PRAGMA page_size').get()?.page_size) + 24;
  let unmeasured = 0;
  return {
    /** Call it after each commit. `bytes`: of large values in it. */
    wrote(bytes = 0): void {
      unmeasured += bytes + commitBytes;
      if (unmeasured < measuredBytes) return;
      unmeasured = 0;
      const row = measure.get();
      if ((Number(row?.log) - Number(row?.checkpointed)) * frameBytes < walCheckpointBytes) return;
      housekeeper.checkpoint().catch(onFailed);
    },
  };
}
