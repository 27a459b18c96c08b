import type { BucketRow } from '../../metering/counters.ts';
import type { ReservationRow, UsageEvent } from '../../metering/ledger.ts';
import { type BucketsOf, createBatchSums, isRefusal } from '../batch-sums.ts';
import { bulkInsert } from './bulk-insert.ts';
import type { Connections, Run } from './database.ts';
import { eventColumns, reservationColumns } from './ledger-columns.ts';
import { addRollups } from './usage-rows.ts';

/**
 * Writes reservations in one statement, which is its own commit. Again after a lost answer changes nothing: a row that
 * is there stays.
 */
export function writeReservations(run: Run, rows: readonly ReservationRow[]): Promise<void> {
  return insertReservations.into(run, rows);
}

/**
 * Swaps reservations for their events in one commit; of a request whose reservation is not there (any more) nothing is
 * written. Again after a lost answer changes nothing, since the reservations went with the first commit.
 */
export function writeCloses(
  connections: Connections,
  events: readonly UsageEvent[],
  bucketsOf: BucketsOf,
): Promise<void> {
  return connections.transaction('write', async (run) => {
    const { rows } = await run<{ request_id: string }>(deleteReservations, [events.map((event) => event.requestId)]);
    const open = new Set(rows.map((row) => row.request_id));
    await writeEvents(
      run,
      events.filter((event) => open.has(event.requestId) || isRefusal(event)),
      bucketsOf,
    );
  });
}

/**
 * Events and what they add up to, for a transaction that has taken their reservations away. Every transaction touches
 * buckets, then roll-ups, each in one order: replicas that write at one moment wait for each other, never in a ring.
 */
export async function writeEvents(run: Run, events: readonly UsageEvent[], bucketsOf: BucketsOf): Promise<void> {
  await insertEvents.into(run, events);
  const sums = createBatchSums(bucketsOf);
  for (const event of events) sums.add(event);
  await addBuckets.into(run, sums.buckets());
  await addRollups.into(run, sums.rollups());
}

const insertReservations = bulkInsert('reservation', reservationColumns, 'ON CONFLICT DO NOTHING');
const insertEvents = bulkInsert('usage_event', eventColumns, 'ON CONFLICT DO NOTHING');
const addBuckets = bulkInsert<BucketRow>(
  'quota_bucket',
  [
    ['scope', 'text', (row) => row.scope],
    ['grain_ms', 'bigint', (row) => row.grainMs],
    ['bucket', 'bigint', (row) => row.bucket],
    ['units', 'bigint', (row) => row.units],
    ['tokens', 'bigint', (row) => row.tokens],
    ['usd_nano', 'bigint', (row) => row.usdNano],
  ],
  `ON CONFLICT (scope, grain_ms, bucket) DO UPDATE SET units = quota_bucket.units + excluded.units,
    tokens = quota_bucket.tokens + excluded.tokens, usd_nano = quota_bucket.usd_nano + excluded.usd_nano`,
);
const deleteReservations = {
  name: 'reservation-close',
  text: 'DELETE FROM culvert.reservation WHERE request_id = ANY($1) RETURNING request_id',
};
