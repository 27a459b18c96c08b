import type { Clock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { ShardFile } from './shards/shard-file.ts';
import { notWritable, overloaded, storageTrouble } from './storage-trouble.ts';
import { type Job, type WaitingJob, WaitingJobs } from './waiting-jobs.ts';

/**
 * Points one transaction takes, unless a single call has more: bounds how long the thread is held. The calls of tenants
 * are taken by turns.
 */
const groupPointsMax = 1_024;
/** Calls that may wait for their turn; further ones are refused with 503. */
const waitingMax = 4_096;

export type GroupCommit = ReturnType<typeof createGroupCommit>;

export interface GroupCommitOptions {
  /** Whether this tenant's collections must stay as they are for now: its jobs are held back. Default: never. */
  isHeld?(tenant: string): boolean;
  /** Nothing waits any more. */
  onIdle(): void;
  /** For the operator: writes fail, or pass again. */
  notify(message: string): void;
  clock: Pick<Clock, 'monotonicMs'>;
}

/** A disk that is nearly full fails some commits and not others: the log gets no more than a line in this time. */
const quietMs = 10_000;

/**
 * Group commit: whatever is queued when the previous commit has returned goes into one transaction and one fsync. There
 * is no timer: calls that come in while the disk is waited for are the next group.
 */
export function createGroupCommit(shard: ShardFile, options: GroupCommitOptions) {
  const { onIdle, notify, clock, isHeld = () => false } = options;
  const waiting = new WaitingJobs(groupPointsMax, isHeld);
  let scheduled = false;
  let commits = 0;
  let failing = false;
  let loggedMs = Number.NEGATIVE_INFINITY;
  /** Set once an fsync failed: nobody knows what is on the disk until the file is opened anew. */
  let unsynced = false;

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      commitGroup(waiting.takeGroup('free'));
      if (waiting.count > 0) schedule();
      else onIdle();
    });
  }

  function commitGroup(group: readonly WaitingJob[]): void {
    if (group.length === 0) return;
    const ran: WaitingJob[] = [];
    const values: unknown[] = [];
    const refused = new Map<WaitingJob, unknown>();
    try {
      shard.exec('BEGIN IMMEDIATE');
      for (const entry of group) {
        shard.exec('SAVEPOINT call');
        ran.push(entry);
        try {
          values.push(entry.job.run());
        } catch (error) {
          // The disk was full: SQLite may have ended the whole transaction, and the rest would meet the same.
          if (isWritesTrouble(error) || !shard.inTransaction()) throw error;
          shard.exec('ROLLBACK TO call');
          ran.pop();
          entry.job.undone();
          refused.set(entry, error);
        }
        shard.exec('RELEASE call');
      }
      shard.exec('COMMIT');
    } catch (error) {
      fail(error, group, ran, refused);
      return;
    }
    commits++;
    if (failing) notify('vectors: writes work again');
    failing = false;
    for (const entry of ran) entry.job.committed();
    ran.forEach((entry, i) => {
      entry.resolve(values[i]);
    });
    for (const [entry, error] of refused) entry.reject(error);
    shard.checkpoint();
  }

  /** The whole group is rolled back; members that were refused alone keep their own reason. */
  function fail(
    error: unknown,
    group: readonly WaitingJob[],
    ran: readonly WaitingJob[],
    refused: ReadonlyMap<WaitingJob, unknown>,
  ) {
    for (const entry of ran.toReversed()) entry.job.undone();
    try {
      if (shard.inTransaction()) shard.exec('ROLLBACK');
    } catch {}
    if (storageTrouble(error) === 'unsynced') unsynced = true;
    const failure = error instanceof FailureError ? error : notWritable(error);
    report(error);
    for (const entry of group) entry.reject(refused.get(entry) ?? failure);
  }

  function report(error: unknown): void {
    const nowMs = clock.monotonicMs();
    if (failing || nowMs - loggedMs < quietMs) return;
    failing = true;
    loggedMs = nowMs;
    notify(`vectors: writes fail: ${error instanceof Error ? error.message : error}`);
  }

  return {
    /** Resolves after the commit. Rejects with the job's error, or a 503 when the file cannot be written. */
    add<T>(job: Job<T>): Promise<T> {
      if (unsynced) {
        return Promise.reject(
          overloaded(
            'Vectors cannot be written, because the disk failed to keep a write. Restart Culvert when the disk is sound.',
          ),
        );
      }
      const full = shard.logFull();
      if (full !== null) return Promise.reject(overloaded(`Vectors cannot be written now: ${full}. Retry shortly.`));
      if (waiting.count >= waitingMax) {
        return Promise.reject(overloaded(`Too many vector writes wait (${waitingMax}). Retry shortly.`));
      }
      return new Promise<T>((resolve, reject) => {
        waiting.add({ job, resolve: resolve as (value: unknown) => void, reject });
        schedule();
      });
    },
    /** Commits that reached the disk. */
    commits: (): number => commits,
    /** Whether nothing waits. */
    idle: (): boolean => waiting.count === 0,
    /** Commits what was held back, once its tenant is not held any more. */
    commitHeld(): void {
      if (waiting.holdsBack) commitGroup(waiting.takeGroup('free'));
    },
    /** Runs all that waits. */
    flush(): void {
      while (waiting.count > 0) commitGroup(waiting.takeGroup('all'));
    },
  };
}

function isWritesTrouble(error: unknown): boolean {
  const trouble = storageTrouble(error);
  return trouble === 'full' || trouble === 'unsynced' || trouble === 'passing';
}
