import type { Page, ScrollQuery } from '../store.ts';
import type { OpenCollection } from './open-collection.ts';
import { idOrder, orderByValue } from './order-points.ts';
import type { PointTable } from './point-table.ts';
import { pointReader } from './stored-points.ts';

/** One page; by `orderBy` there is no next one, as in Qdrant: `startFrom` goes on from the last value. */
export function readScroll(points: PointTable, open: OpenCollection, query: ScrollQuery): Page {
  const { filter, limit, offset, orderBy } = query;
  const slots = filter === null ? null : open.memory.select(filter);
  const read = pointReader(points, open, query.want);
  if (orderBy !== null) {
    const page = orderByValue(open, orderBy, slots, limit);
    return { points: page.map(({ slot, value }) => ({ ...read(slot), orderValue: value })), next: null };
  }
  const found = idOrder(points, open, slots, offset, limit + 1);
  return { points: found.slice(0, limit).map(({ slot }) => read(slot)), next: found[limit]?.id ?? null };
}
