import type { BucketRow } from '../../metering/counters.ts';
import type { ReservationRow, UsageEvent } from '../../metering/ledger.ts';
import { type BucketsOf, createBatchSums, isRefusal, rollupKeyCells, rollupSumCells } from '../batch-sums.ts';
import { eventCells, reservationCells } from '../ledger-rows.ts';
import { bulkInsert } from './bulk-insert.ts';
import type { Connections, Run } from './database.ts';

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

const insertReservations = bulkInsert('reservation', reservationCells, 'ON CONFLICT DO NOTHING');
const insertEvents = bulkInsert('usage_event', eventCells, 'ON CONFLICT DO NOTHING');
const addBuckets = bulkInsert<BucketRow>(
  'quota_bucket',
  [
    ['scope', 'text', (row) => row.scope],
    ['grain_ms', 'whole', (row) => row.grainMs],
    ['bucket', 'whole', (row) => row.bucket],
    ['units', 'whole', (row) => row.units],
    ['tokens', 'whole', (row) => row.tokens],
    ['usd_nano', 'whole', (row) => row.usdNano],
  ],
  `ON CONFLICT (scope, grain_ms, bucket) DO UPDATE SET units = quota_bucket.units + excluded.units,
    tokens = quota_bucket.tokens + excluded.tokens, usd_nano = quota_bucket.usd_nano + excluded.usd_nano`,
);
const addRollups = bulkInsert(
  'rollup',
  [...rollupKeyCells, ...rollupSumCells],
  `ON CONFLICT (${rollupKeyCells.map(([name]) => name).join(', ')}) DO UPDATE SET ${rollupSumCells
    .map(([name]) => `${name} = rollup.${name} + excluded.${name}`)
    .join(', ')}`,
);
const deleteReservations = {
  name: 'reservation-close',
  text: 'DELETE FROM culvert.reservation WHERE request_id = ANY($1) RETURNING request_id',
};
