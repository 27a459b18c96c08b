/** First tokens by which a target is judged, and how many of them must be too late. */
const samplesMax = 5;
const lateMin = 3;
/** Good looks in a row after which a late target is asked first again. */
const goodMin = 3;
/** One counts as good below this part of the maximum: what is as slow as the maximum would come and go. */
const goodShare = 0.8;
/** One request looks at a late target so often: doubling after each bad look; soon after a good one. */
const lookMinMs = 5_000;
const lookMaxMs = 30_000;
const lookAgainMs = 1_000;
/** How long a look that is due keeps whole answers away. */
const lookDueMaxMs = 300_000;
/** Looks stay rare for a target that was late within this time. */
const lateMemoryMs = 600_000;

/** Whether a target keeps to its `max_first_token`, by its last streams. Times are monotonic ms. */
export class FirstTokenPace {
  readonly #maxMs: number;
  #late = false;
  /** The newest last, true for one that was too late; while it is late, of the looks at it. */
  #bad: boolean[] = [];
  #everyMs = lookMinMs;
  #lookAtMs = 0;
  #changedAtMs = Number.NEGATIVE_INFINITY;

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  /** A first token came after `ms`, or had not come by then. */
  observe(ms: number, nowMs: number): void {
    const bad = ms > this.#maxMs * (this.#late ? goodShare : 1);
    this.#bad.push(bad);
    if (this.#bad.length > samplesMax) this.#bad.shift();
    if (!this.#late) {
      if (this.#bad.filter(Boolean).length >= lateMin) this.#becomesLate(nowMs);
    } else if (bad) {
      this.#bad = [];
      this.#everyMs = Math.min(lookMaxMs, this.#everyMs * 2);
      this.#lookAtMs = nowMs + this.#everyMs;
    } else if (this.#bad.length >= goodMin) {
      this.#late = false;
      this.#bad = [];
      this.#changedAtMs = nowMs;
    } else {
      this.#lookAtMs = nowMs + lookAgainMs;
    }
  }

  /**
   * Others are asked first: it is late, and not due a look. Only a stream can look: a whole answer has no first token. Where
   * no stream looked for long, whole answers need not avoid it.
   */
  isBehind(answer: 'stream' | 'whole', nowMs: number): boolean {
    return this.#late && nowMs < this.#lookAtMs + (answer === 'stream' ? 0 : lookDueMaxMs);
  }

  /** A stream is sent to it: others need not look at it for a while. */
  streamSent(nowMs: number): void {
    if (this.#late && nowMs >= this.#lookAtMs) this.#lookAtMs = nowMs + this.#everyMs;
  }

  #becomesLate(nowMs: number): void {
    if (nowMs - this.#changedAtMs > lateMemoryMs) this.#everyMs = lookMinMs;
    else this.#everyMs = Math.min(lookMaxMs, this.#everyMs * 2);
    this.#late = true;
    this.#bad = [];
    this.#lookAtMs = nowMs + this.#everyMs;
  }
}
