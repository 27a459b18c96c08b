/** Time and chance are given to everything that decides, not taken, so that tests can move them. */
export interface Clock {
  /** Wall-clock ms since the epoch, for what people and other machines read. */
  wallMs(): number;
  /** Ms on a clock that never jumps: for durations, breakers, timeouts. */
  monotonicMs(): number;
}

/** The machine's own time. */
export const systemClock: Clock = { wallMs: Date.now, monotonicMs: performance.now.bind(performance) };

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
/** Length of a day in UTC, as the tables of the ledger have it. */
export const dayMs = 24 * hourMs;
