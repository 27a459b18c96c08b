/** Bucket i holds times up to `firstBucketMs × growth^i`: 10 ms to 10 min in 37 steps. */
const firstBucketMs = 10;
const growth = 1.35;
const buckets = 38;
/** Samples below which a percentile says nothing. */
const samplesMin = 20;
/** Counts are halved so often, so that the last minutes speak; but what a quiet target is known by is kept. */
const halvedAfterMs = 120_000;
const keptMin = 2 * samplesMin;

/** How long something usually takes, by the samples of the last minutes. Times are monotonic ms. */
export class UsualTime {
  readonly #counts = new Float32Array(buckets);
  #total = 0;
  #halvedAtMs = Number.NEGATIVE_INFINITY;

  observe(ms: number, nowMs: number): void {
    this.#fade(nowMs);
    const bucket = Math.ceil(Math.log(Math.max(1, ms / firstBucketMs)) / Math.log(growth));
    this.#counts[Math.min(buckets - 1, bucket)]! += 1;
    this.#total += 1;
  }

  /** Upper bound in ms of what `share` (0 to 1) of the samples stayed below; null while fewer than `samples` are known. */
  percentileMs(share: number, nowMs: number, samples = samplesMin): number | null {
    this.#fade(nowMs);
    if (this.#total < samples) return null;
    let left = this.#total * share;
    for (let bucket = 0; bucket < buckets; bucket++) {
      left -= this.#counts[bucket]!;
      if (left <= 0) return firstBucketMs * growth ** bucket;
    }
    return firstBucketMs * growth ** (buckets - 1);
  }

  #fade(nowMs: number): void {
    if (this.#halvedAtMs === Number.NEGATIVE_INFINITY) this.#halvedAtMs = nowMs;
    const halvings = Math.floor((nowMs - this.#halvedAtMs) / halvedAfterMs);
    if (halvings <= 0) return;
    this.#halvedAtMs += halvings * halvedAfterMs;
    if (this.#total <= keptMin) return;
    const factor = Math.max(keptMin / this.#total, 0.5 ** halvings);
    for (let bucket = 0; bucket < buckets; bucket++) this.#counts[bucket]! *= factor;
    this.#total *= factor;
  }
}
