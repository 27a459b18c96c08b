import type { Clock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { ShardFile } from './shard-file.ts';
import { notWritable, overloaded, storageTrouble } from './storage-trouble.ts';

/** Points one transaction takes, unless a single call has more: bounds how long the thread is held. */
const groupPointsMax = 1_024;
/** Calls that may wait for their turn; further ones are refused with 503. */
const waitingMax = 4_096;

/** A change of the file. All of it runs within one turn of the loop. */
export interface Job<T> {
  /** How much of a group it fills. */
  points: number;
  /** Inside the transaction. An error rolls back this job alone. */
  run(): T;
  /** The transaction is on the disk: the state in memory follows, in the same turn. Must not throw. */
  committed(): void;
  /** It was rolled back, alone or with its group (then in reverse order): memory goes back too. Must not throw. */
  undone(): void;
}

export interface GroupCommit {
  /** Resolves after the commit. Rejects with the job's error, or a 503 when the file cannot be written. */
  add<T>(job: Job<T>): Promise<T>;
  /** Commits that reached the disk. */
  commits(): number;
  /** Whether nothing waits. */
  idle(): boolean;
  /** Runs all that waits. */
  flush(): void;
}

interface Waiting {
  job: Job<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export interface GroupCommitOptions {
  /** Nothing waits any more. */
  onIdle(): void;
  /** For the operator: writes fail, or pass again. */
  tell(message: string): void;
  clock: Pick<Clock, 'monotonicMs'>;
}

/** A disk that is nearly full fails some commits and not others: the log gets no more than a line in this time. */
const quietMs = 10_000;

/**
 * Group commit: whatever is queued when the previous commit has returned goes into one transaction and one fsync. There
 * is no timer: calls that come in while the disk is waited for are the next group.
 */
export function createGroupCommit(shard: ShardFile, { onIdle, tell, clock }: GroupCommitOptions): GroupCommit {
  const waiting: Waiting[] = [];
  let scheduled = false;
  let commits = 0;
  let failing = false;
  let toldMs = Number.NEGATIVE_INFINITY;
  /** Set once an fsync failed: nobody knows what is on the disk until the file is opened anew. */
  let unsynced = false;

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      commitGroup(takeGroup());
      if (waiting.length > 0) schedule();
      else onIdle();
    });
  }

  function takeGroup(): Waiting[] {
    let points = 0;
    let taken = 0;
    while (taken < waiting.length && (taken === 0 || points + waiting[taken]!.job.points <= groupPointsMax)) {
      points += waiting[taken++]!.job.points;
    }
    return waiting.splice(0, taken);
  }

  function commitGroup(group: readonly Waiting[]): void {
    if (group.length === 0) return;
    const ran: Waiting[] = [];
    const values: unknown[] = [];
    const refused = new Map<Waiting, unknown>();
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
    if (failing) tell('vectors: writes work again');
    failing = false;
    for (const entry of ran) entry.job.committed();
    ran.forEach((entry, i) => {
      entry.resolve(values[i]);
    });
    for (const [entry, error] of refused) entry.reject(error);
    shard.checkpoint();
  }

  /** The whole group is rolled back; those that were refused by themselves keep their own reason. */
  function fail(
    error: unknown,
    group: readonly Waiting[],
    ran: readonly Waiting[],
    refused: ReadonlyMap<Waiting, unknown>,
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
    if (failing || nowMs - toldMs < quietMs) return;
    failing = true;
    toldMs = nowMs;
    tell(`vectors: writes fail: ${error instanceof Error ? error.message : error}`);
  }

  return {
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
      if (waiting.length >= waitingMax) {
        return Promise.reject(overloaded(`Too many vector writes wait (${waitingMax}). Retry shortly.`));
      }
      return new Promise<T>((resolve, reject) => {
        waiting.push({ job, resolve: resolve as (value: unknown) => void, reject });
        schedule();
      });
    },
    commits: () => commits,
    idle: () => waiting.length === 0,
    flush() {
      while (waiting.length > 0) commitGroup(takeGroup());
    },
  };
}

function isWritesTrouble(error: unknown): boolean {
  const trouble = storageTrouble(error);
  return trouble === 'full' || trouble === 'unsynced' || trouble === 'passing';
}
