import type { Full, Limit, Measure, Scope } from '../../src/books/metering/counters.ts';
import { bucketAt, bucketLeavesAtMs, spans } from '../../src/books/metering/window.ts';

/** One thing that was counted, with the exact instant in quota time. */
export interface Counted {
  atMs: number;
  scopes: readonly Scope[];
  measure: Measure;
  /** Falls when some of it is given back. */
  amount: number;
}

/** Windows by remembering every event: slow, and too simple to be wrong. */
export class MeteringModel {
  readonly events: Counted[] = [];

  count(atMs: number, scopes: readonly Scope[], measure: Measure, amount: number): Counted {
    const event = { atMs, scopes, measure, amount };
    this.events.push(event);
    return event;
  }

  /** True usage within the span before `nowMs`, both ends included, whatever buckets there are. */
  truly(limit: Limit, nowMs: number, marginMs = 0): number {
    const { spanMs } = spans[limit.span];
    return this.#of(limit).reduce(
      (sum, { atMs, amount }) => (atMs >= nowMs - spanMs - marginMs ? sum + amount : sum),
      0,
    );
  }

  /** What counts at `nowMs` by the rule of design §11: a bucket counts until its end has left the span. */
  byBuckets(limit: Limit, nowMs: number): number {
    const span = spans[limit.span];
    return this.#of(limit).reduce(
      (sum, { atMs, amount }) => (nowMs < bucketLeavesAtMs(span, bucketAt(span, atMs)) ? sum + amount : sum),
      0,
    );
  }

  passes(limit: Limit, used: number, cost: number): boolean {
    return limit.rule === 'exact'
      ? used + (limit.measure === 'units' ? cost : 0) <= limit.allowed
      : used < limit.allowed;
  }

  /** Which limit a refusal must name, and the instant in quota time at which all pass; null: none refuses. */
  refusal(limits: readonly Limit[], nowMs: number, cost: number): Pick<Full, 'limit' | 'used' | 'freeAtMs'> | null {
    let last: Pick<Full, 'limit' | 'used' | 'freeAtMs'> | null = null;
    for (const limit of limits) {
      const used = this.byBuckets(limit, nowMs);
      if (this.passes(limit, used, cost)) continue;
      const span = spans[limit.span];
      const freeAtMs =
        this.#of(limit)
          .map(({ atMs }) => bucketLeavesAtMs(span, bucketAt(span, atMs)))
          .sort((a, b) => a - b)
          .find((atMs) => atMs > nowMs && this.passes(limit, this.byBuckets(limit, atMs), cost)) ?? null;
      const later = (freeAtMs ?? Number.POSITIVE_INFINITY) > (last?.freeAtMs ?? Number.POSITIVE_INFINITY);
      if (last === null || later) last = { limit: limit.id, used, freeAtMs };
    }
    return last;
  }

  #of(limit: Limit): Counted[] {
    return this.events.filter(
      ({ measure, scopes, amount }) => measure === limit.measure && amount > 0 && scopes.includes(limit.scope),
    );
  }
}
