/** Time and chance are given to everything that decides, not taken, so that tests can move them. */
export interface Clock {
  /** Wall-clock ms since the epoch, for what people and other machines read. */
  wallMs(): number;
  /** Ms on a clock that never jumps: for durations, breakers, timeouts. */
  monotonicMs(): number;
}

/** The machine's own time. */
export const systemClock: Clock = {
  wallMs: Date.now,
  monotonicMs: performance.now.bind(performance),
};

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
