/**
 * How often something happened in the last `buckets × bucketMs` ms, the running bucket included. Fixed memory: what
 * leaves the window is forgotten a bucket at a time. Time that runs backwards counts as the newest time seen.
 */
export class RollingCount {
  readonly #bucketMs: number;
  readonly #slots: Int32Array;
  /** Number of the newest bucket since the clock's zero. */
  #head = -1;
  #total = 0;

  constructor(bucketMs: number, buckets: number) {
    this.#bucketMs = bucketMs;
    this.#slots = new Int32Array(buckets);
  }

  add(nowMs: number): void {
    this.#roll(nowMs);
    const slot = this.#head % this.#slots.length;
    this.#slots[slot] = this.#slots[slot]! + 1;
    this.#total++;
  }

  total(nowMs: number): number {
    this.#roll(nowMs);
    return this.#total;
  }

  clear(): void {
    this.#slots.fill(0);
    this.#total = 0;
  }

  /** The first instant at which no more than `allowed` are left, if none is added; `nowMs` if that is already so. */
  atMostMs(allowed: number, nowMs: number): number {
    this.#roll(nowMs);
    const length = this.#slots.length;
    let left = this.#total;
    if (left <= allowed) return nowMs;
    for (let age = length - 1; age >= 0; age--) {
      const bucket = this.#head - age;
      if (bucket < 0) continue;
      left -= this.#slots[bucket % length]!;
      if (left <= allowed) return (bucket + length) * this.#bucketMs;
    }
    return (this.#head + length) * this.#bucketMs;
  }

  #roll(nowMs: number): void {
    const bucket = Math.floor(nowMs / this.#bucketMs);
    if (bucket <= this.#head) return;
    const length = this.#slots.length;
    const steps = Math.min(bucket - this.#head, length);
    for (let step = 0; step < steps; step++) {
      const slot = (bucket - step) % length;
      this.#total -= this.#slots[slot]!;
      this.#slots[slot] = 0;
    }
    this.#head = bucket;
  }
}
