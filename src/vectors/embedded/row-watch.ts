import type { Clock } from '../../kernel/clock.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';

/**
 * How long a call may go through rows: what no index and no column can answer reads every point, however many gigabytes
 * they are, and the thread does nothing else meanwhile. Making indexes and columns does not count: later calls have them.
 */
export type RowWatch = ReturnType<typeof createRowWatch>;

export function createRowWatch(clock: Pick<Clock, 'monotonicMs'>, rowsMs: number) {
  let spentMs = 0;
  /** Grows while other calls ran, which counts for none that goes on. */
  let pausedMs = 0;
  return {
    /** A call begins. */
    begin(): void {
      spentMs = 0;
    },
    /** Others come in between; the function that it gives goes on with the call. */
    pause(): () => void {
      const [heldMs, sinceMs] = [spentMs, clock.monotonicMs() - pausedMs];
      return () => {
        spentMs = heldMs;
        pausedMs = clock.monotonicMs() - sinceMs;
      };
    },
    /** It goes through rows: to be called at each. Throws a FailureError (400) when all of them together took too long. */
    start(): () => void {
      let lastMs = clock.monotonicMs() - pausedMs;
      return () => {
        const nowMs = clock.monotonicMs() - pausedMs;
        spentMs += nowMs - lastMs;
        lastMs = nowMs;
        if (spentMs > rowsMs) throw new FailureError(tooLong(rowsMs));
      };
    },
  };
}

/** For rows in memory, in tests. */
export const unwatched: RowWatch = { begin() {}, pause: () => () => {}, start: () => () => {} };

function tooLong(rowsMs: number) {
  const message = `Every point had to be read, which took more than ${rowsMs / 1_000} s, the longest time of a call. Add a condition on a key with few values, which leaves fewer points, or raise vectors.memory.`;
  return invalid(null, message);
}
