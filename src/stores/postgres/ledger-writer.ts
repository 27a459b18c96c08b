import {
  BatchSums,
  type BucketsOf,
  bucketKey,
  bucketSums,
  bucketTable,
  isRefusal,
  type RollupRow,
  rollupKey,
  rollupSums,
  rollupTable,
} from '../../ledger/batch-sums.ts';
import { eventTable, reservationTable } from '../../ledger/columns.ts';
import { type TrafficRow, trafficKey, trafficSums, trafficTable } from '../../ledger/traffic.ts';
import type { BucketRow } from '../../metering/counters.ts';
import type { ReservationRow, UsageEvent } from '../../metering/ledger.ts';
import type { RecordOrder } from '../../metering/record-store.ts';
import { bulkInsert } from './bulk-insert.ts';
import type { Connections, Run } from './database.ts';
import { writeLate } from './ledger-days.ts';
import { orderRecords } from './record-order.ts';
import { inOrder, onConflictAdd } from './row-order.ts';

/**
 * Writes reservations in one statement, which is its own commit. Again after a lost answer changes nothing: a row that
 * is there stays.
 */
export function writeReservations(run: Run, rows: readonly ReservationRow[]): Promise<void> {
  return insertReservations.into(run, rows);
}

export interface EventRules {
  bucketsOf: BucketsOf;
  order?: RecordOrder;
  nowMs: number;
}

/**
 * Replaces reservations by their events in one commit. Resolves to the written ones. A request without its reservation
 * is not written. A repeat after a lost answer changes nothing, because the reservations went with the first commit.
 */
export function writeCloses(
  connections: Connections,
  events: readonly UsageEvent[],
  rules: EventRules,
): Promise<readonly UsageEvent[]> {
  return connections.transaction('write', async (run) => {
    const { rows } = await run<{ request_id: string }>(deleteReservations, [events.map((event) => event.requestId)]);
    const open = new Set(rows.map((row) => row.request_id));
    const known = events.filter((event) => open.has(event.requestId) || isRefusal(event));
    await writeEvents(run, known, rules);
    return known;
  });
}

/**
 * Events and what they add up to, for a transaction that has taken their reservations away. Every transaction touches
 * buckets, then roll-ups, each in one order: replicas that write at one moment wait for each other, never in a ring.
 */
export async function writeEvents(
  run: Run,
  events: readonly UsageEvent[],
  { bucketsOf, order, nowMs }: EventRules,
): Promise<void> {
  await insertEvents.into(run, events);
  const sums = new BatchSums(bucketsOf);
  const counted = events.filter((event) => !isRefusal(event));
  for (const event of counted) sums.add(event);
  await addBuckets.into(run, inOrder(sums.buckets(), bucketKey));
  await addRollups.into(run, inOrder(sums.rollups(), rollupKey));
  await writeLate(run, counted, bucketsOf, nowMs);
  if (order !== undefined) await orderRecords(run, counted, order);
}

/** Adds to the present values, all of it in one statement, in the order that every replica has. */
export function writeTraffic(run: Run, rows: TrafficRow[]): Promise<void> {
  return addTraffic.into(run, inOrder(rows, trafficKey));
}

const insertReservations = bulkInsert<ReservationRow>('reservation', reservationTable, 'ON CONFLICT DO NOTHING');
const insertEvents = bulkInsert<UsageEvent>('usage_event', eventTable, 'ON CONFLICT DO NOTHING');
const addBuckets = bulkInsert<BucketRow>(
  'quota_bucket',
  bucketTable,
  onConflictAdd('quota_bucket', bucketKey, bucketSums),
);
const addRollups = bulkInsert<RollupRow>('rollup', rollupTable, onConflictAdd('rollup', rollupKey, rollupSums));
const addTraffic = bulkInsert<TrafficRow>('traffic', trafficTable, onConflictAdd('traffic', trafficKey, trafficSums));
const deleteReservations = {
  name: 'reservation-close',
  text: 'DELETE FROM culvert.reservation WHERE request_id = ANY($1) RETURNING request_id',
};
