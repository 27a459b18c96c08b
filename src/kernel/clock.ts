/** Time and chance are given to everything that decides, not taken, so that tests can move them. */
export interface Clock {
  /** Wall-clock ms since the epoch, for what people and other machines read. */
  wallMs(): number;
  /** Ms on a clock that never jumps: for durations, breakers, timeouts. */
  monotonicMs(): number;
}

/** The machine's own time. */
export const systemClock: Clock = { wallMs: Date.now, monotonicMs: performance.now.bind(performance) };
