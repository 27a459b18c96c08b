import type { BucketRow, Measure } from './counters.ts';
import { RollingSum } from './rolling-sum.ts';
import { type SpanName, spans } from './window.ts';

/** Usage of one scope, in every measure and span of limits. Amounts as in counters.ts. */
export class RollingScope {
  readonly #calls = new RollingSum(spans.minute);
  readonly #unitsByMinute = new RollingSum(spans['5h']);
  readonly #unitsByHour = new RollingSum(spans.month, spans.week);
  readonly #tokensBySecond = new RollingSum(spans.minute);
  readonly #tokensByMinute = new RollingSum(spans['5h']);
  readonly #tokensByHour = new RollingSum(spans.month, spans.week);
  readonly #usdByMinute = new RollingSum(spans['5h']);
  readonly #usdByHour = new RollingSum(spans.month, spans.week);
  /** Requests that run now. */
  running = 0;
  /** Holds that are not settled: what they stand in must not be forgotten. */
  holds = 0;
  /** Quota time at which somebody last asked for it. */
  lastUsedMs = 0;

  addCalls(nowMs: number, callMilli: number): void {
    this.#calls.add(nowMs, callMilli);
  }

  addUnits(nowMs: number, costMilli: number): void {
    this.#unitsByMinute.add(nowMs, costMilli);
    this.#unitsByHour.add(nowMs, costMilli);
  }

  /** Takes units back from the buckets of that instant, while those live. */
  removeUnits(nowMs: number, countedMs: number, costMilli: number): void {
    this.#unitsByMinute.remove(nowMs, countedMs, costMilli);
    this.#unitsByHour.remove(nowMs, countedMs, costMilli);
  }

  /** The same of USD. */
  removeUsd(nowMs: number, countedMs: number, usdNano: number): void {
    this.#usdByMinute.remove(nowMs, countedMs, usdNano);
    this.#usdByHour.remove(nowMs, countedMs, usdNano);
  }

  addSpent(nowMs: number, tokens: number, usdNano: number): void {
    if (tokens > 0) {
      this.#tokensBySecond.add(nowMs, tokens);
      this.#tokensByMinute.add(nowMs, tokens);
      this.#tokensByHour.add(nowMs, tokens);
    }
    if (usdNano > 0) {
      this.#usdByMinute.add(nowMs, usdNano);
      this.#usdByHour.add(nowMs, usdNano);
    }
  }

  /** A settled bucket of the books, in ascending order. */
  seedBucket(nowMs: number, row: BucketRow): void {
    const { bucket } = row;
    if (row.grainMs === spans.month.bucketMs) {
      this.#unitsByHour.seed(nowMs, bucket, row.units);
      this.#tokensByHour.seed(nowMs, bucket, row.tokens);
      this.#usdByHour.seed(nowMs, bucket, row.usdNano);
    } else {
      this.#unitsByMinute.seed(nowMs, bucket, row.units);
      this.#tokensByMinute.seed(nowMs, bucket, row.tokens);
      this.#usdByMinute.seed(nowMs, bucket, row.usdNano);
      // The ledger does not know the second. The latest possible one lets nobody have more than the plan.
      const endMs = Math.min((bucket + 1) * row.grainMs - 1, nowMs);
      this.#tokensBySecond.seed(nowMs, Math.floor(endMs / spans.minute.bucketMs), row.tokens);
    }
  }

  /** A call of the last minute, in ascending order. */
  seedCalls(nowMs: number, atMs: number, callMilli: number): void {
    this.#calls.seed(nowMs, Math.floor(Math.min(atMs, nowMs) / spans.minute.bucketMs), callMilli);
  }

  /** Where a limit of this measure and span is counted. */
  sumOf(measure: Measure, span: SpanName): RollingSum {
    if (measure === 'units') {
      if (span === '5h') return this.#unitsByMinute;
      if (span !== 'minute') return this.#unitsByHour;
    } else if (measure === 'calls') {
      if (span === 'minute') return this.#calls;
    } else if (measure === 'tokens') {
      if (span === 'minute') return this.#tokensBySecond;
      return span === '5h' ? this.#tokensByMinute : this.#tokensByHour;
    } else if (span !== 'minute') return span === '5h' ? this.#usdByMinute : this.#usdByHour;
    throw new Error(`${measure} are not counted by ${span}`);
  }
}
