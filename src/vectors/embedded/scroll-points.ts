import type { StoredPoint } from '../point.ts';
import type { Page, ScrollQuery } from '../store.ts';
import { createAnswerBudget } from './answer-budget.ts';
import type { CallBounds } from './call-bounds.ts';
import type { OpenCollection } from './open-collection.ts';
import { idOrder, orderByValue } from './order-points.ts';
import type { PointTable } from './point-table.ts';
import { pointReader } from './stored-points.ts';

/** One page; by `orderBy` there is no next one, as in Qdrant: `startFrom` goes on from the last value. */
export function readScroll(points: PointTable, open: OpenCollection, query: ScrollQuery, bounds: CallBounds): Page {
  const { filter, limit, offset, orderBy, pageBytes = Number.POSITIVE_INFINITY } = query;
  const slots = filter === null ? null : open.memory.select(filter);
  const budget = createAnswerBudget(bounds);
  const read = pointReader(points, open, query.want, budget);
  if (orderBy !== null) {
    const page = orderByValue(open, orderBy, slots, limit);
    return { points: page.map(({ slot, value }) => ({ ...read(slot), orderValue: value })), next: null };
  }
  const found = idOrder(points, open, slots, offset, limit + 1);
  const page: StoredPoint[] = [];
  for (const { slot } of found.slice(0, limit)) {
    page.push(read(slot));
    if (budget.keptBytes >= pageBytes) break;
  }
  return { points: page, next: found[page.length]?.id ?? null };
}
