import type { Clock } from './clock.ts';
import { every } from './every.ts';

/** When a wait began: by the loop's own time, and by the clock. */
export interface LoopInstant {
  turnedMs: number;
  atMs: number;
}

/** How much longer a wait may last than intended because of our own loop. */
export const loopLagMaxMs = 500;

const tickMs = 20;
/** Time between two ticks above this does not count: the loop was busy. */
const turnMaxMs = 2 * tickMs;

/**
 * Waits for others without counting the time in which our own loop did not turn: an answer that came in time must not
 * count as late because nobody here could read it. `loopLagMaxMs` bounds what our loop may add to a wait; others that
 * count in real time rely on it. Runs until `stop`, without holding the process.
 */
export function createLoopClock(clock: Pick<Clock, 'monotonicMs'>) {
  let turnedMs = 0;
  let tickedMs = clock.monotonicMs();
  // After a long turn timers run before sockets are read, so the tick knows of it before any answer does.
  const stop = every(tickMs, () => {
    const nowMs = clock.monotonicMs();
    turnedMs += Math.min(nowMs - tickedMs, turnMaxMs);
    tickedMs = nowMs;
  });

  function now(): LoopInstant {
    const atMs = clock.monotonicMs();
    return { turnedMs: turnedMs + Math.min(atMs - tickedMs, turnMaxMs), atMs };
  }

  return {
    now,
    /** Ms left of a wait of `waitMs` that began at `since`; 0 or less when it is over. */
    leftMs(since: LoopInstant, waitMs: number): number {
      const { turnedMs: turned, atMs } = now();
      return Math.min(waitMs - (turned - since.turnedMs), waitMs + loopLagMaxMs - (atMs - since.atMs));
    },
    stop,
  };
}
