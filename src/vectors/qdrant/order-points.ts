import { FailureError, invalid } from '../../kernel/failure.ts';
import type { JsonValue } from '../../kernel/json.ts';
import type { Filter } from '../filter/filter.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { orderNumber, startNumber } from '../order-number.ts';
import { createOrderedRows } from '../ordered-rows.ts';
import type { PointId, StoredPoint, Want } from '../point.ts';
import type { OrderBy, Page, ScrollQuery } from '../vector-store.ts';
import type { Partition } from './partition.ts';
import { type Reading, scanValues } from './scan-values.ts';
import { writeBetween, writeFilter } from './write-filter.ts';

/** Entries of one order: those that are passed over are put in order, too. */
const orderedMax = 200_000;

/** An entry of an order: a point is there once for each of its values. */
export interface OrderedPoint {
  id: PointId;
  value: number;
}

/**
 * Up to `limit` entries in order of a key's values; those of one value in the order of Qdrant's ids. They are sorted
 * here: Qdrant's own order needs an index of the key's type, and tenants of one Qdrant collection may each have
 * another. It leaves out what comes after the known entries, so that few of many points are sent.
 */
export async function orderPoints(
  reading: Reading,
  partition: Partition,
  order: OrderBy,
  filter: Filter | null,
  limit: number,
): Promise<readonly OrderedPoint[]> {
  const key = readKeyPath(order.key, 'order_by.key');
  if (limit > orderedMax) {
    const message = `offset: with limit, an order by a key reaches ${orderedMax} points; go on with order_by.start_from`;
    throw new FailureError(invalid('offset', message));
  }
  const { direction } = order;
  const startFrom = startNumber(order);
  const rows = createOrderedRows<{ id: PointId; at: number }>({ direction, startFrom, limit }, (a, b) => a.at - b.at);
  const passing = writeFilter(partition, filter);
  let seen = 0;
  const filterOf = () => {
    const condition = writeBetween(key, { direction, from: startFrom, before: rows.last() });
    return { ...passing, must: [...passing.must, condition] };
  };
  const place = (id: PointId, values: readonly JsonValue[]) => {
    const row = { id, at: seen++ };
    for (const value of values) {
      const number = orderNumber(value);
      if (number !== null) rows.add(row, number);
    }
  };
  return reading.inTurn(partition, async () => {
    await scanValues(reading, partition, key, filterOf, place);
    return rows.result().map(({ row: { id }, value }) => ({ id, value }));
  });
}

/** The entries with the wanted parts of their points; those whose point has gone meanwhile are left out. */
export async function withPoints<Entry extends { id: PointId }>(
  { partitions, room, goOn }: Reading,
  partition: Partition,
  entries: readonly Entry[],
  want: Want,
): Promise<{ entry: Entry; point: StoredPoint }[]> {
  if (want.payload === false && want.vector === false) {
    return entries.map((entry) => ({ entry, point: { id: entry.id } }));
  }
  goOn();
  const ids = [...new Set(entries.map(({ id }) => id))];
  const found = ids.length === 0 ? [] : await partitions.lookUp(partition, ids, want, room);
  const byId = new Map(found.map((point) => [point.id, point]));
  return entries.flatMap((entry) => {
    const point = byId.get(entry.id);
    return point === undefined ? [] : [{ entry, point }];
  });
}

/** One page; as in Qdrant, `startFrom` goes on from its last value. */
export async function orderedPage(
  reading: Reading,
  partition: Partition,
  order: OrderBy,
  { filter, limit, want }: Pick<ScrollQuery, 'filter' | 'limit' | 'want'>,
): Promise<Page> {
  const entries = await orderPoints(reading, partition, order, filter, limit);
  const found = await withPoints(reading, partition, entries, want);
  return { points: found.map(({ entry, point }) => ({ ...point, orderValue: entry.value })), next: null };
}
