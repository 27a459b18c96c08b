import type { Failure } from '../kernel/failure.ts';
import { bodyStallTimeoutMs } from '../kernel/limits.ts';

/** As much must come in every `bodyStallTimeoutMs`, unless the body ends: about 1 KB/s. */
const paceBytesMin = 64 * 1024;
/** A body as large as is allowed may come as slowly as this; any may take `wholeMsMin`. */
const wholeBytesPerS = 64 * 1024;
const wholeMsMin = 10 * 60_000;

/**
 * Holds a body that is being read to a minimum rate and to a total time: who sends a byte now and then holds what came
 * before for as long as they like.
 */
export class BodyPace {
  readonly #tooSlow: (failure: Failure) => void;
  readonly #wholeMs: number;
  #stall: NodeJS.Timeout;
  /** Set with the first 64 KB: a smaller body has no time for more than one wait. */
  #whole: NodeJS.Timeout | null = null;
  #bytes = 0;

  /** `tooSlow` is told once, with a 408. */
  constructor(limitBytes: number, tooSlow: (failure: Failure) => void) {
    this.#tooSlow = tooSlow;
    this.#wholeMs = Math.max(wholeMsMin, (limitBytes / wholeBytesPerS) * 1_000);
    this.#stall = this.#wait();
  }

  came(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < paceBytesMin) return;
    this.#bytes = 0;
    clearTimeout(this.#stall);
    this.#stall = this.#wait();
    this.#whole ??= setTimeout(() => {
      this.#fail(`The request body took longer than ${Math.round(this.#wholeMs / 60_000)} min to come.`);
    }, this.#wholeMs);
  }

  /** The body is there, or nobody waits for it. Idempotent. */
  end(): void {
    clearTimeout(this.#stall);
    if (this.#whole !== null) clearTimeout(this.#whole);
  }

  #wait(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#fail(
        `The request body comes too slowly: less than ${paceBytesMin / 1024} KB in ${bodyStallTimeoutMs / 1_000} s.`,
      );
    }, bodyStallTimeoutMs);
  }

  #fail(message: string): void {
    this.end();
    this.#tooSlow({ kind: 'request-timeout', message });
  }
}
