import type { Clock } from '../../kernel/clock.ts';
import type { UsageEvent } from '../../metering/ledger.ts';
import { closeBatchRows, closeDelayMs, closeRetryMs } from '../ledger-waits.ts';
import { isRowsFault } from './database.ts';
import { reasonOf } from './unavailable.ts';

const batchRowsMax = 500;
const firstRetryMs = 50;
const retryMaxMs = 1_000;

/** Bounded by the caller: every close here was a reservation that the caller admitted. */
export interface CloseQueue {
  close(event: UsageEvent): void;
  /** Writes waiting closes at once. Resolves when all are written or given up, or after `waitMaxMs`. */
  flush(waitMaxMs: number): Promise<void>;
  queued(): number;
  /** Gives up the rest. */
  stop(): void;
}

export interface CloseObserver {
  onOutcome(error: unknown): void;
  /** Closes that will not be written, and why. */
  onDropped(events: readonly UsageEvent[], reason: string): void;
}

interface Waiting {
  event: UsageEvent;
  sinceMs: number;
}

/** One batch at a time, in order. `write` writes all of its events or none, and a repeat changes nothing. */
export function createCloseQueue(
  write: (events: readonly UsageEvent[]) => Promise<void>,
  clock: Clock,
  observer: CloseObserver,
): CloseQueue {
  let queue: Waiting[] = [];
  let running = false;
  let stopped = false;
  let timer: NodeJS.Timeout | null = null;
  let retryMs = 0;
  /** How many ever came, and how many of these, the oldest, are done with. */
  let came = 0;
  let done = 0;
  let flushes: { upTo: number; resolve(): void }[] = [];

  function kick(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (running || queue.length === 0) return;
    running = true;
    void writeBatch().finally(() => {
      running = false;
      if (stopped) giveUp(queue.length, 'Culvert is shutting down');
      else if (queue.length >= closeBatchRows && retryMs === 0) kick();
      else if (queue.length > 0) wait(retryMs === 0 && flushes.length > 0 ? 0 : Math.max(closeDelayMs, retryMs));
    });
  }

  function wait(ms: number): void {
    timer ??= setTimeout(kick, ms);
  }

  async function writeBatch(): Promise<void> {
    const batch = queue.slice(0, batchRowsMax);
    const { written, error } = await attempt(batch);
    queue = queue.slice(written);
    finish(written);
    if (error === null) {
      retryMs = 0;
      observer.onOutcome(null);
      return;
    }
    observer.onOutcome(error);
    retryMs = Math.min(retryMaxMs, Math.max(firstRetryMs, retryMs * 2));
    expire(reasonOf(error));
  }

  /** How many of the batch, from its beginning, are written or given up. */
  async function attempt(batch: readonly Waiting[]): Promise<{ written: number; error: unknown }> {
    try {
      await write(batch.map((one) => one.event));
      return { written: batch.length, error: null };
    } catch (error) {
      if (!isRowsFault(error)) return { written: 0, error };
      if (batch.length === 1) {
        observer.onDropped([batch[0]!.event], reasonOf(error));
        return { written: 1, error: null };
      }
    }
    // One event cannot be written at all: it must not take the others with it.
    for (let at = 0; at < batch.length; at += 1) {
      const { error } = await attempt(batch.slice(at, at + 1));
      if (error !== null) return { written: at, error };
    }
    return { written: batch.length, error: null };
  }

  function expire(reason: string): void {
    const nowMs = clock.monotonicMs();
    let late = 0;
    while (late < queue.length && nowMs - queue[late]!.sinceMs >= closeRetryMs) late += 1;
    giveUp(late, reason);
  }

  function giveUp(count: number, reason: string): void {
    if (count === 0) return;
    observer.onDropped(
      queue.slice(0, count).map((one) => one.event),
      reason,
    );
    queue = queue.slice(count);
    finish(count);
  }

  function finish(count: number): void {
    done += count;
    const over = flushes.filter((one) => one.upTo <= done);
    if (over.length === 0) return;
    flushes = flushes.filter((one) => one.upTo > done);
    for (const one of over) one.resolve();
  }

  return {
    close(event) {
      came += 1;
      queue.push({ event, sinceMs: clock.monotonicMs() });
      if (queue.length >= closeBatchRows && retryMs === 0) kick();
      else wait(Math.max(closeDelayMs, retryMs));
    },
    flush(waitMaxMs) {
      if (done === came) return Promise.resolve();
      return new Promise((resolve) => {
        const tooLong = setTimeout(() => {
          flushes = flushes.filter((one) => one !== flush);
          resolve();
        }, waitMaxMs);
        const flush = {
          upTo: came,
          resolve() {
            clearTimeout(tooLong);
            resolve();
          },
        };
        flushes.push(flush);
        if (retryMs === 0) kick();
      });
    },
    queued: () => queue.length,
    stop() {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
      // A batch on its way may still arrive; it reports itself.
      if (!running) giveUp(queue.length, 'Culvert is shutting down');
    },
  };
}
