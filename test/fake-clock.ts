import type { Clock } from '../src/kernel/clock.ts';

/** A clock for tests: both times start at `startMs` and move only by `advance`. */
export function fakeClock(startMs = 1_750_000_000_000): Clock & { advance(ms: number): void } {
  let nowMs = startMs;
  return {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}
