import type { OrderBy } from './vector-store.ts';

/** The first `limit` of the rows that are added, in order of their values. */
export interface OrderedRows<Row> {
  add(row: Row, value: number): void;
  /** Value that a further row must come before, or equal; null while any is wanted. */
  last(): number | null;
  result(): { row: Row; value: number }[];
}

/** `compareRows` says the order of rows of one value. `startFrom`: the first value, itself included. */
export function createOrderedRows<Row>(
  { direction, startFrom, limit }: { direction: OrderBy['direction']; startFrom: number | null; limit: number },
  compareRows: (a: Row, b: Row) => number,
): OrderedRows<Row> {
  type Entry = { row: Row; value: number };
  const sign = direction === 'asc' ? 1 : -1;
  const compare = (a: Entry, b: Entry) => sign * (a.value - b.value) || compareRows(a.row, b.row);
  let best: Entry[] = [];
  /** No entry behind it can be among the first any more. */
  let worst: Entry | null = null;

  function trim(): void {
    best = best.sort(compare).slice(0, limit);
    worst = best.length < limit ? null : (best.at(-1) ?? null);
  }

  return {
    add(row, value) {
      if (startFrom !== null && sign * (value - startFrom) < 0) return;
      const entry = { row, value };
      if (worst !== null && compare(entry, worst) > 0) return;
      best.push(entry);
      // Trimmed at twice the limit: each entry is sorted a few times at most.
      if (best.length >= 2 * limit + 1_024) trim();
    },
    last() {
      trim();
      return worst?.value ?? null;
    },
    result() {
      trim();
      return best;
    },
  };
}
