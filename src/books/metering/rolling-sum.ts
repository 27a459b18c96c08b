import type { Clock } from '../../kernel/clock.ts';
import { everGrainMs } from './counter-scope.ts';
import type { BucketRow, LimitState, Measure } from './counters.ts';
import {
  bucketAt,
  bucketLeavesAtMs,
  type CalendarPeriod,
  periodMaxMs,
  type Span,
  type SpanName,
  spans,
} from './window.ts';

/** Dead places at the front of the arrays before they are closed up; with fewer it is not worth the copying. */
const deadPlacesMin = 32;

/**
 * Counts over one rolling span, or over two with buckets of the same size (week and month). It keeps the buckets with
 * counts, oldest first, and a running total for each span. Amounts are whole numbers. A bucket counts until its *end*
 * has left the span, so that no sliding window is ever above the plan. `nowMs` must never run back (QuotaClock). An
 * addition costs O(1) amortised and allocates only to grow.
 */
export class RollingSum {
  readonly #long: Span;
  readonly #longBuckets: number;
  readonly #shortBuckets: number;
  /** Maximum age of a bucket in the arrays: calendar months are longer than the longest span. */
  readonly #bucketsRetained: number;
  /** Bucket numbers, ascending; those before `#longFirst` are dead. */
  readonly #buckets: number[] = [];
  readonly #amounts: number[] = [];
  /** First place of each span. Its count is not zero, so it tells when the oldest leaves. */
  #longFirst = 0;
  #shortFirst = 0;
  #longTotal = 0;
  #shortTotal = 0;
  /** The bucket that `nowMs` was in last, and its end: until then nothing expires. */
  #bucketNow = -1;
  #bucketEndsMs = Number.NEGATIVE_INFINITY;

  constructor(long: Span, short: Span = long, retentionMs = long.spanMs) {
    this.#long = long;
    this.#longBuckets = long.spanMs / long.bucketMs;
    this.#shortBuckets = short.spanMs / short.bucketMs;
    this.#bucketsRetained = Math.ceil(retentionMs / long.bucketMs);
  }

  /** Counts in the bucket of now; nothing when the amount is none. */
  add(nowMs: number, amount: number): void {
    // This form also excludes NaN, which would stay in the totals for ever.
    if (!(amount > 0)) return;
    this.#expire(nowMs);
    this.#append(this.#bucketNow, amount);
  }

  /**
   * Counts of an earlier run, in ascending order of buckets and before anything else is added. Dead buckets and those
   * of the future are ignored.
   */
  seed(nowMs: number, bucket: number, amount: number): void {
    this.#expire(nowMs);
    const age = this.#bucketNow - bucket;
    if (amount > 0 && age >= 0 && age <= this.#bucketsRetained) {
      this.#append(bucket, amount);
      this.#skip();
    }
  }

  /** Takes back a count of that instant; nothing, once its bucket is gone. */
  remove(nowMs: number, countedMs: number, amount: number): void {
    this.#expire(nowMs);
    const i = this.#find(bucketAt(this.#long, countedMs));
    if (i === -1) return;
    const taken = Math.min(amount, this.#amounts[i]!);
    this.#amounts[i]! -= taken;
    this.#longTotal -= taken;
    if (i >= this.#shortFirst) this.#shortTotal -= taken;
    this.#dropEmptyTail();
    this.#skip();
  }

  usedAt(nowMs: number, span: Span): number {
    this.#expire(nowMs);
    return span === this.#long ? this.#longTotal : this.#shortTotal;
  }

  /** Amount since this time, the beginning of a bucket that is still kept. */
  usedSince(nowMs: number, sinceMs: number): number {
    this.#expire(nowMs);
    const first = bucketAt(this.#long, sinceMs);
    let used = 0;
    for (let i = this.#buckets.length - 1; (this.#buckets[i] ?? -1) >= first; i--) used += this.#amounts[i] ?? 0;
    return used;
  }

  /**
   * Writes how full this span is into `state`, by a wall that is `aheadMs` behind `nowMs`. Nothing is allocated: numbers
   * that are given back would be.
   */
  writeState(state: LimitState, nowMs: number, span: Span, aheadMs: number): void {
    this.#expire(nowMs);
    const isLong = span === this.#long;
    const bucket = this.#buckets[isLong ? this.#longFirst : this.#shortFirst];
    state.used = isLong ? this.#longTotal : this.#shortTotal;
    if (bucket === undefined) state.leavesAtMs = null;
    else {
      const leavesAtMs = bucketLeavesAtMs(span, bucket) - aheadMs;
      // The same for many requests.
      if (state.leavesAtMs !== leavesAtMs) state.leavesAtMs = leavesAtMs;
    }
  }

  /** The first instant at which at least `amount` has left this span; null when it does not hold so much. */
  freeAtMs(nowMs: number, span: Span, amount: number): number | null {
    this.#expire(nowMs);
    if (amount <= 0) return nowMs;
    let left = 0;
    for (let i = span === this.#long ? this.#longFirst : this.#shortFirst; i < this.#buckets.length; i++) {
      left += this.#amounts[i]!;
      if (left >= amount) return bucketLeavesAtMs(span, this.#buckets[i]!);
    }
    return null;
  }

  #append(bucket: number, amount: number): void {
    const last = this.#buckets.length - 1;
    this.#longTotal += amount;
    if (last >= this.#longFirst && this.#buckets[last] === bucket) {
      this.#amounts[last]! += amount;
      if (last >= this.#shortFirst) this.#shortTotal += amount;
    } else {
      this.#buckets.push(bucket);
      this.#amounts.push(amount);
      this.#shortTotal += amount;
    }
  }

  /** An empty last bucket would be skipped, and then counted in again behind the pointers. */
  #dropEmptyTail(): void {
    let end = this.#buckets.length;
    while (end > this.#longFirst && this.#amounts[end - 1] === 0) end--;
    this.#buckets.length = end;
    this.#amounts.length = end;
    this.#shortFirst = Math.min(this.#shortFirst, end);
  }

  #expire(nowMs: number): void {
    if (nowMs < this.#bucketEndsMs) return;
    this.#bucketNow = bucketAt(this.#long, nowMs);
    this.#bucketEndsMs = (this.#bucketNow + 1) * this.#long.bucketMs;
    this.#skip();
  }

  /** Moves both pointers over buckets that have left or are empty. */
  #skip(): void {
    const buckets = this.#buckets;
    const amounts = this.#amounts;
    const end = buckets.length;
    const shortLive = this.#bucketNow - this.#shortBuckets;
    let i = this.#shortFirst;
    for (; i < end && (buckets[i]! < shortLive || amounts[i] === 0); i++) this.#shortTotal -= amounts[i]!;
    this.#shortFirst = i;
    const longLive = this.#bucketNow - this.#longBuckets;
    i = this.#longFirst;
    for (; i < end && (buckets[i]! < longLive || amounts[i] === 0); i++) this.#longTotal -= amounts[i]!;
    this.#longFirst = i;
    if (i === end || (i >= deadPlacesMin && i * 2 >= end)) this.#closeUp();
  }

  #closeUp(): void {
    const oldest = this.#bucketNow - this.#bucketsRetained;
    let dead = this.#longFirst;
    if (this.#bucketsRetained > this.#longBuckets) {
      dead = 0;
      while (dead < this.#longFirst && (this.#buckets[dead] ?? oldest) < oldest) dead++;
    }
    if (dead === 0) return;
    const live = this.#buckets.length - dead;
    this.#buckets.copyWithin(0, dead);
    this.#amounts.copyWithin(0, dead);
    this.#buckets.length = live;
    this.#amounts.length = live;
    this.#shortFirst -= dead;
    this.#longFirst -= dead;
  }

  /** The live place of a bucket, or -1. */
  #find(bucket: number): number {
    let low = this.#longFirst;
    let high = this.#buckets.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = this.#buckets[middle]!;
      if (found === bucket) return middle;
      if (found < bucket) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

/**
 * USD of a period of the calendar, of the hours that a RollingSum keeps. It is the period of the wall clock: quota time
 * stays ahead of one that was set forward and back, for good. What was counted meanwhile counts in the later period.
 */
export class CalendarSum implements Pick<RollingSum, 'usedAt' | 'writeState' | 'freeAtMs'> {
  readonly #sum: RollingSum;
  readonly #period: CalendarPeriod;
  readonly #clock: QuotaClock;

  constructor(sum: RollingSum, period: CalendarPeriod, clock: QuotaClock) {
    this.#sum = sum;
    this.#period = period;
    this.#clock = clock;
  }

  usedAt(nowMs: number): number {
    return this.#sum.usedSince(nowMs, this.#period.startMs(this.#clock.toWallMs(nowMs)));
  }

  writeState(state: LimitState, nowMs: number, _span: Span, aheadMs: number): void {
    state.used = this.usedAt(nowMs);
    state.leavesAtMs = state.used === 0 ? null : this.#period.endMs(nowMs - aheadMs);
  }

  /** All of it is free when the next period begins. */
  freeAtMs(nowMs: number, _span: Span, amount: number): number | null {
    if (amount > this.usedAt(nowMs)) return null;
    return this.#period.endMs(this.#clock.toWallMs(nowMs)) + this.#clock.aheadMs;
  }
}

/** USD that count for ever. */
class EverSum implements Pick<RollingSum, 'usedAt' | 'writeState' | 'freeAtMs'> {
  used = 0;

  usedAt(): number {
    return this.used;
  }

  writeState(state: LimitState): void {
    state.used = this.used;
    state.leavesAtMs = null;
  }

  freeAtMs(): null {
    return null;
  }
}

/** Usage of one scope, in every measure and span of limits. Amounts as in counters.ts. */
export class RollingScope {
  readonly #calls = new RollingSum(spans.minute);
  readonly #unitsByMinute = new RollingSum(spans['5h']);
  readonly #unitsByHour = new RollingSum(spans.month, spans.week);
  readonly #tokensBySecond = new RollingSum(spans.minute);
  readonly #tokensByMinute = new RollingSum(spans['5h']);
  readonly #tokensByHour = new RollingSum(spans.month, spans.week);
  readonly #usdByMinute = new RollingSum(spans['5h']);
  readonly #usdByHour = new RollingSum(spans.month, spans.week, periodMaxMs);
  /** USD that were ever spent. Seeded in the scope of credit alone. */
  readonly usdEver = new EverSum();
  /** Requests that run now. */
  running = 0;
  /** Holds that are not settled: their buckets must not be forgotten. */
  holds = 0;
  /** Quota time of the last use. */
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

  /** Takes tokens and USD back, likewise. */
  removeSpent(nowMs: number, countedMs: number, tokens: number, usdNano: number): void {
    this.#tokensBySecond.remove(nowMs, countedMs, tokens);
    this.#tokensByMinute.remove(nowMs, countedMs, tokens);
    this.#tokensByHour.remove(nowMs, countedMs, tokens);
    this.#usdByMinute.remove(nowMs, countedMs, usdNano);
    this.#usdByHour.remove(nowMs, countedMs, usdNano);
    this.usdEver.used -= usdNano;
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
      this.usdEver.used += usdNano;
    }
  }

  /** A settled bucket of the books, in ascending order. */
  seedBucket(nowMs: number, row: BucketRow): void {
    const { bucket } = row;
    if (row.grainMs === everGrainMs) this.usdEver.used += row.usdNano;
    else if (row.grainMs === spans.month.bucketMs) {
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

  /** Sum that counts a limit of this measure and span. */
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

/**
 * The time that quota is counted by: whole ms since the epoch that never run back, over restarts too. A clock set back
 * gives no false 429, and one set forward frees no more than the step (faults.md F28).
 */
export class QuotaClock {
  readonly #clock: Clock;
  #monotonicMs: number;
  /** Not rounded: rounding each delta would lose the fractions of a million requests. */
  #quotaMs: number;
  /**
   * By how much the wall is behind, in whole ms and rounded down, so that no instant is named before quota time has reached
   * it. As of the last `nowMs`.
   */
  aheadMs = 0;
  /** The same with its fraction. A wall clock shows whole ms, so of many readings the lowest is the closest. */
  #leadMs = 0;

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
    const leadMs = this.#quotaMs - wallMs;
    // One that is higher by two cannot come of the fraction that the wall does not show: the wall was set, or runs slower.
    if (leadMs < this.#leadMs || leadMs >= this.#leadMs + 2) {
      this.#leadMs = leadMs;
      this.aheadMs = Math.floor(leadMs);
    }
    return Math.floor(this.#quotaMs);
  }

  /** The wall clock at that instant, as far as the last `nowMs` knew, for what people read. */
  toWallMs(quotaMs: number): number {
    return quotaMs - this.aheadMs;
  }

  /** Never goes back before this: the newest bucket of an earlier run, whose wall clock may have been ahead of ours. */
  startAt(lastMs: number): void {
    if (lastMs <= this.nowMs()) return;
    this.#leadMs += lastMs - this.#quotaMs;
    this.aheadMs = Math.floor(this.#leadMs);
    this.#quotaMs = lastMs;
  }
}
