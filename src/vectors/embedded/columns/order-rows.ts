import type { OrderedSlot, OrderQuery } from './columns.ts';

/** The first `limit` of the entries that are added, in order; equal values by slot. */
export interface OrderedRows {
  add(slot: number, value: number): void;
  result(): OrderedSlot[];
}

export function createOrderedRows(query: Pick<OrderQuery, 'direction' | 'startFrom' | 'limit'>): OrderedRows {
  const sign = query.direction === 'asc' ? 1 : -1;
  const compare = (a: OrderedSlot, b: OrderedSlot) => sign * (a.value - b.value) || a.slot - b.slot;
  let kept: OrderedSlot[] = [];
  /** No entry behind it can be among the first any more. */
  let worst: OrderedSlot | null = null;

  function trim(): void {
    kept = kept.sort(compare).slice(0, query.limit);
    worst = kept.length < query.limit ? null : (kept.at(-1) ?? null);
  }

  return {
    add(slot, value) {
      if (query.startFrom !== null && sign * (value - query.startFrom) < 0) return;
      const entry = { slot, value };
      if (worst !== null && compare(entry, worst) > 0) return;
      kept.push(entry);
      // Trimmed at twice the limit: each entry is sorted a few times at most.
      if (kept.length >= 2 * query.limit + 1_024) trim();
    },
    result() {
      trim();
      return kept;
    },
  };
}
