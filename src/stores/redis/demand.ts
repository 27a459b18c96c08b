/** Time over which demand is measured. */
export const demandMs = 200;

/** Fewer requests in that time are counted exactly: there is little to save. */
const busyFrom = 8;

/** Demand for operations of one kind. */
export class Demand {
  requests = 0;
  milli = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #nowRequests = 0;
  #nowMilli = 0;

  add(nowMs: number, milli: number): void {
    const ms = nowMs - this.#sinceMs;
    if (ms >= demandMs) {
      const isNext = ms < 2 * demandMs;
      this.requests = isNext ? this.#nowRequests : 0;
      this.milli = isNext ? this.#nowMilli : 0;
      this.#nowRequests = 0;
      this.#nowMilli = 0;
      this.#sinceMs = nowMs;
    }
    this.#nowRequests += 1;
    this.#nowMilli += milli;
    // A burst counts at once.
    if (this.#nowMilli > this.milli) this.milli = this.#nowMilli;
    if (this.#nowRequests > this.requests) this.requests = this.#nowRequests;
  }

  isBusy(): boolean {
    return this.requests >= busyFrom;
  }
}
