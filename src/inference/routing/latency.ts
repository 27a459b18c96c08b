/** How fast an old time to first token is forgotten. */
const decayMs = 10_000;
/** What one waits for where nothing is known yet and a first try is already under way. */
const unknownFirstTokenMs = 1_000;
/** Nothing is told apart below this. */
const firstTokenFloorMs = 1;

/**
 * Peak-sensitive moving average of the time to first token: a slower answer counts at once, a faster one by and by.
 */
export class PeakEwma {
  #valueMs = 0;
  /** -1: never observed. */
  #atMs = -1;

  observe(firstTokenMs: number, nowMs: number): void {
    const observedMs = Math.max(firstTokenFloorMs, firstTokenMs);
    if (this.#atMs < 0 || observedMs >= this.#valueMs) {
      this.#valueMs = observedMs;
    } else {
      const old = Math.exp(-Math.max(0, nowMs - this.#atMs) / decayMs);
      this.#valueMs = this.#valueMs * old + observedMs * (1 - old);
    }
    this.#atMs = nowMs;
  }

  /**
   * Expected ms to first token. While nothing awaits its first token the value fades, and an unknown one is the
   * floor, so that new and formerly slow targets are tried again: by one scout. Once `awaiting` > 0 the full value
   * (or a guess) counts, or all callers would follow the scout before it has answered.
   */
  readMs(awaiting: number, nowMs: number): number {
    if (this.#atMs < 0) return awaiting > 0 ? unknownFirstTokenMs : firstTokenFloorMs;
    if (awaiting > 0) return this.#valueMs;
    return Math.max(firstTokenFloorMs, this.#valueMs * Math.exp(-Math.max(0, nowMs - this.#atMs) / decayMs));
  }

  /** Null while nothing was observed; unfaded. For people. */
  lastMs(): number | null {
    return this.#atMs < 0 ? null : this.#valueMs;
  }
}
