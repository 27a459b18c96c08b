import type { Random } from '../../../kernel/random.ts';
import { readKeyPath } from '../../filter/read-key-path.ts';
import { startNumber } from '../../order-number.ts';
import type { PointId } from '../../point.ts';
import { comparePointIds } from '../../point-id.ts';
import type { OrderBy } from '../../vector-store.ts';
import type { OrderedSlot } from '../columns/columns.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { PointTable } from '../point-table.ts';

/** Ids read at a time while a filter is walked. */
const walkBatch = 512;
/** Filters that leave fewer points than this share are sorted by id; the ids of all points are walked for others. */
const sortedShare = 1 / 8;

/** Up to `limit` points in order of ids, from `from` on (inclusive), of `slots` alone when they are given. */
export function idOrder(
  points: PointTable,
  { cid, row }: OpenCollection,
  slots: Uint32Array | null,
  from: PointId | null,
  limit: number,
): { slot: number; id: PointId }[] {
  if (slots === null) return points.byId(cid, from, limit);
  if (slots.length < row.points * sortedShare) {
    return Array.from(slots, (slot) => ({ slot, id: points.row(cid, slot).id }))
      .filter(({ id }) => from === null || comparePointIds(id, from) >= 0)
      .sort((a, b) => comparePointIds(a.id, b.id))
      .slice(0, limit);
  }
  const slotSet = new Set(slots);
  const found: { slot: number; id: PointId }[] = [];
  let next = from;
  for (;;) {
    const batch = points.byId(cid, next, walkBatch);
    // The first of each further batch is the last of the one before it.
    const fresh = next === from ? batch : batch.slice(1);
    for (const point of fresh) {
      if (!slotSet.has(point.slot)) continue;
      found.push(point);
      if (found.length === limit) return found;
    }
    const last = batch[walkBatch - 1];
    if (last === undefined) return found;
    next = last.id;
  }
}

/** Up to `limit` entries in order of a key's values, one for each that a point has; points without one are left out. */
export function orderByValue(
  open: OpenCollection,
  order: OrderBy,
  slots: Uint32Array | null,
  limit: number,
): OrderedSlot[] {
  const startFrom = startNumber(order);
  const path = readKeyPath(order.key, 'order_by.key');
  return open.memory.columns().order(path, { direction: order.direction, startFrom, slots, limit });
}

/** `count` points by chance, each at most once. */
export function sampleSlots(
  points: PointTable,
  { cid, row }: OpenCollection,
  slots: Uint32Array | null,
  count: number,
  random: Random,
): number[] {
  const from = slots === null ? Array.from(points.slots(cid)) : Array.from(slots);
  const taken = Math.min(count, from.length, row.points);
  for (let i = 0; i < taken; i++) {
    const other = i + Math.floor(random.next() * (from.length - i));
    [from[i], from[other]] = [from[other]!, from[i]!];
  }
  return from.slice(0, taken);
}
