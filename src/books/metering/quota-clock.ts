import type { Clock } from '../../kernel/clock.ts';

/**
 * The time that quota is counted by: whole ms since the epoch that never run back, over restarts too. A clock set back
 * gives no false 429, and one set forward frees no more than the step (faults.md F28).
 */
export class QuotaClock {
  readonly #clock: Clock;
  #monotonicMs: number;
  /** Not rounded: rounding each delta would lose the fractions of a million requests. */
  #quotaMs: number;
  /** By how much the wall is behind. */
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#monotonicMs = clock.monotonicMs();
    this.#quotaMs = clock.wallMs();
  }

  /** Whichever is later: the last answer and the time that has really passed since, or the wall clock. */
  nowMs(): number {
    const monotonicMs = this.#clock.monotonicMs();
    const wallMs = this.#clock.wallMs();
    this.#quotaMs = Math.max(this.#quotaMs + Math.max(0, monotonicMs - this.#monotonicMs), wallMs);
    this.#monotonicMs = monotonicMs;
    const now = Math.floor(this.#quotaMs);
    this.#aheadMs = now - wallMs;
    return now;
  }

  /** The wall clock at that instant, as far as the last `nowMs` knew, for what people read. */
  toWallMs(quotaMs: number): number {
    return quotaMs - this.#aheadMs;
  }

  /** Never goes back before this: the newest bucket of an earlier run, whose wall clock may have been ahead of ours. */
  startAt(lastMs: number): void {
    if (lastMs <= this.nowMs()) return;
    this.#aheadMs += lastMs - Math.floor(this.#quotaMs);
    this.#quotaMs = lastMs;
  }
}
