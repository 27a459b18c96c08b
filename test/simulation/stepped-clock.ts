import type { Clock } from '../../src/kernel/clock.ts';

/** A clock whose wall somebody sets, as NTP or an operator does, while true time goes on. */
export interface SteppedClock extends Clock {
  advance(ms: number): void;
  /** Sets the wall forward, or back when negative. */
  step(ms: number): void;
}

export function steppedClock(startMs = 1_750_000_000_000): SteppedClock {
  let trueMs = 0;
  let wallOffsetMs = startMs;
  return {
    // A wall shows whole milliseconds; the other one does not.
    wallMs: () => Math.floor(wallOffsetMs + trueMs),
    monotonicMs: () => trueMs,
    advance(ms) {
      trueMs += ms;
    },
    step(ms) {
      wallOffsetMs += ms;
    },
  };
}
