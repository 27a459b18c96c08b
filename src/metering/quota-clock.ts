import type { Clock } from '../kernel/clock.ts';

/** The time that quota is counted by: whole ms since the epoch that never run back. */
export interface QuotaClock {
  /**
   * Whichever is later: the last answer and the time that has really passed since, or the wall clock. So a wall clock
   * set back gives nobody a false 429, and one set forward frees no more than the step (faults.md F28).
   */
  nowMs(): number;
  /** What the wall will show at that instant, as far as the last `nowMs` knew: for what people read. */
  toWallMs(quotaMs: number): number;
  /** Never again before this: the newest bucket of an earlier run, whose wall clock may have been ahead of ours. */
  startAt(lastMs: number): void;
}

export function createQuotaClock(clock: Clock): QuotaClock {
  let monotonicMs = clock.monotonicMs();
  /** Not rounded: rounding each delta would lose the fractions of a million requests. */
  let quotaMs = clock.wallMs();
  /** By how much the wall is behind. */
  let aheadMs = 0;

  function nowMs(): number {
    const monotonicNowMs = clock.monotonicMs();
    const wallMs = clock.wallMs();
    quotaMs = Math.max(quotaMs + Math.max(0, monotonicNowMs - monotonicMs), wallMs);
    monotonicMs = monotonicNowMs;
    const now = Math.floor(quotaMs);
    aheadMs = now - wallMs;
    return now;
  }

  return {
    nowMs,
    toWallMs: (atMs) => atMs - aheadMs,
    startAt(lastMs) {
      if (lastMs > nowMs()) {
        aheadMs += lastMs - Math.floor(quotaMs);
        quotaMs = lastMs;
      }
    },
  };
}
