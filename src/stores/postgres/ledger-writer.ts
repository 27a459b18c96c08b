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
} from '../../books/ledger/batch-sums.ts';
import {
  type CacheSumRow,
  cacheSumKey,
  cacheSums,
  cacheSumsOf,
  cacheSumTable,
  usesCache,
} from '../../books/ledger/cache-sums.ts';
import { type Column, cellsOf, eventTable, reservationTable, type SqlCell } from '../../books/ledger/columns.ts';
import { dayTables, lateAfterMs, lateSums } from '../../books/ledger/day-sums.ts';
import * as minutes from '../../books/ledger/minute-sums.ts';
import {
  changedColumns,
  type Repriced,
  type RepricingRow,
  repricedSums,
  repricingKey,
  repricingSums,
  repricingTable,
} from '../../books/ledger/repricing.ts';
import type { BucketRow } from '../../books/metering/counters.ts';
import type { ReservationRow, UsageEvent } from '../../books/metering/ledger.ts';
import type { RecordOrder } from '../../books/metering/record-store.ts';
import { CommitUnknown, type Connections, type Run, type Statement } from './database.ts';
import { summedMs } from './ledger-reader.ts';
import { daysLock } from './ledger-upkeep.ts';

const arrayTypes = { text: 'text', whole: 'bigint', real: 'double precision' } as const;

/** Any number of rows in one statement, which stays the same whatever the number: one array a column. */
export interface BulkInsert<T> {
  into(run: Run, rows: readonly T[]): Promise<void>;
}

/** `onConflict` is the SQL that follows; the old row goes by the table's name, the new one is `excluded`. */
export function bulkInsert<T extends object>(
  table: string,
  columns: readonly Column[],
  onConflict: string,
): BulkInsert<T> {
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${arrayTypes[type]}[]`).join(', ');
  const statement: Statement = {
    name: `bulk-${table}`,
    text: `INSERT INTO culvert.${table} (${names}) SELECT * FROM unnest(${arrays}) ${onConflict}`,
  };
  return {
    async into(run, rows) {
      if (rows.length === 0) return;
      const cells = rows.map((row) => cellsOf(columns, row));
      await run(
        statement,
        columns.map((column, at) => arrayOf(column, cells, at)),
      );
    },
  };
}

/**
 * A column's array as PostgreSQL reads it. Made here, as pg looks at each value several times. JSON of ours has no control
 * characters, so making JSON of it again escapes what must be, and is faster.
 */
function arrayOf({ held }: Column, cells: readonly (readonly SqlCell[])[], at: number): string {
  let text = '';
  for (const row of cells) {
    const cell = row[at];
    text += text === '' ? '{' : ',';
    if (typeof cell === 'string') text += held === 'route' || held === 'attempts' ? JSON.stringify(cell) : quoted(cell);
    else text += cell === null || cell === undefined ? 'NULL' : String(cell);
  }
  return `${text}}`;
}

function quoted(text: string): string {
  return /["\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`;
}

/** Sorts rows by their key; text by its UTF-16. */
function inOrder<Row extends object>(rows: Row[], key: readonly Column[]): Row[] {
  const fields = key.map(({ field }) => field as keyof Row);
  return rows.sort((a, b) => {
    for (const field of fields) if (a[field] !== b[field]) return a[field] < b[field] ? -1 : 1;
    return 0;
  });
}

/** Adds to the present values. */
function onConflictAdd(table: string, key: readonly Column[], sums: readonly Column[]): string {
  const added = sums.map(({ name }) => `${name} = ${table}.${name} + excluded.${name}`).join(', ');
  return `ON CONFLICT (${key.map(({ name }) => `"${name}"`).join(', ')}) DO UPDATE SET ${added}`;
}

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
  await addCacheSums.into(run, inOrder(cacheSumsOf(counted.filter(usesCache)), cacheSumKey));
  await writeLate(run, counted, bucketsOf, nowMs);
  if (order !== undefined) await orderRecords(run, counted, order);
}

/** The last statement of a transaction that writes events: from it to the commit other replicas wait. */
async function orderRecords(
  run: Run,
  events: readonly Pick<UsageEvent, 'requestId'>[],
  { bodiesOf }: RecordOrder,
): Promise<void> {
  if (events.length === 0) return;
  const ids = events.map(({ requestId }) => requestId);
  await run(appendRecords, [ids, ids.map(bodiesOf)]);
}

const appendRecords = {
  name: 'record-order',
  text: `
    WITH last AS (
      UPDATE culvert.record_sequence SET position = position + cardinality($1::text[]) RETURNING position
    )
    INSERT INTO culvert.record_order
    SELECT last.position - cardinality($1::text[]) + given.at, given.id, given.bodies
    FROM last, unnest($1::text[], $2::text[]) WITH ORDINALITY AS given(id, bodies, at)`,
};

const insertReservations = bulkInsert<ReservationRow>('reservation', reservationTable, 'ON CONFLICT DO NOTHING');
const insertEvents = bulkInsert<UsageEvent>('usage_event', eventTable, 'ON CONFLICT DO NOTHING');
const addBuckets = bulkInsert<BucketRow>(
  'quota_bucket',
  bucketTable,
  onConflictAdd('quota_bucket', bucketKey, bucketSums),
);
const addRollups = bulkInsert<RollupRow>('rollup', rollupTable, onConflictAdd('rollup', rollupKey, rollupSums));
const addTraffic = bulkInsert<minutes.TrafficRow>(
  'traffic',
  minutes.trafficTable,
  onConflictAdd('traffic', minutes.trafficKey, minutes.trafficSums),
);
const addAttempts = bulkInsert<minutes.AttemptRow>(
  'attempt_sum',
  minutes.attemptTable,
  onConflictAdd('attempt_sum', minutes.attemptKey, minutes.attemptSums),
);
const addCacheSums = bulkInsert<CacheSumRow>(
  'cache_sum',
  cacheSumTable,
  onConflictAdd('cache_sum', cacheSumKey, cacheSums),
);
const deleteReservations = {
  name: 'reservation-close',
  text: 'DELETE FROM culvert.reservation WHERE request_id = ANY($1) RETURNING request_id',
};

/** For the transaction that writes these events: what they add to days that are added up already. */
async function writeLate(run: Run, events: readonly UsageEvent[], bucketsOf: BucketsOf, nowMs: number): Promise<void> {
  const late = events.filter(({ atMs }) => atMs < nowMs - lateAfterMs);
  if (late.length === 0) return;
  await run('SELECT pg_advisory_xact_lock_shared($1)', [daysLock]);
  for (const [at, rows] of lateSums(late, await summedMs(run), bucketsOf).entries())
    await addToDays[at]!.into(run, inOrder(rows, dayTables[at]!.key));
}

const addToDays = dayTables.map(({ name, key }) =>
  bulkInsert<object>(name, [...key, ...rollupSums], onConflictAdd(name, key, rollupSums)),
);

/** The port's `reprice`. Rows are touched in the order of `writeEvents`, and days written as late events do it. */
export function repriceRequests(
  connections: Connections,
  changes: readonly Repriced[],
  times: { atMs: number; nowMs: number },
): Promise<readonly string[]> {
  return connections.transaction('write', async (run) => {
    const inTurn = changes.toSorted((a, b) => (a.before.requestId < b.before.requestId ? -1 : 1));
    const cells = inTurn.map(({ after }) => cellsOf(changedColumns, after));
    const { rows } = await run<{ request_id: string }>(updateCosts, [
      inTurn.map(({ before }) => before.requestId),
      ...changedColumns.map((_, at) => cells.map((row) => row[at])),
      inTurn.map(({ before }) => before.costUsd),
    ]);
    const ids = new Set(rows.map((row) => row.request_id));
    const changed = changes.filter(({ before }) => ids.has(before.requestId));
    if (changed.length === 0) return [];
    const hours = repricedSums(changed, { ...times, summedMs: 0 });
    await addRollups.into(run, inOrder(hours.rollups, rollupKey));
    await addCacheSums.into(run, inOrder(hours.caches, cacheSumKey));
    await run('SELECT pg_advisory_xact_lock_shared($1)', [daysLock]);
    const { days } = repricedSums(changed, { ...times, summedMs: await summedMs(run) });
    for (const [at, { key }] of dayTables.entries()) await addToDays[at]?.into(run, inOrder(days[at] ?? [], key));
    await addTraffic.into(run, inOrder(hours.traffic, minutes.trafficKey));
    await addRepricing.into(run, hours.repricing);
    return [...ids];
  });
}

const setColumns = changedColumns.map(({ name }) => `${name} = given.${name}`).join(', ');
const givenColumns = changedColumns.map(({ name }) => name).join(', ');
const givenArrays = changedColumns.map(({ type }, at) => `$${at + 2}::${arrayTypes[type]}[]`).join(', ');

const updateCosts: Statement = {
  name: 'reprice',
  text: `UPDATE culvert.usage_event AS event
    SET ${setColumns}
    FROM unnest($1::text[], ${givenArrays}, $${changedColumns.length + 2}::double precision[])
      AS given (request_id, ${givenColumns}, was_usd)
    WHERE event.request_id = given.request_id AND event.cost_usd IS NOT DISTINCT FROM given.was_usd
    RETURNING event.request_id`,
};

const addRepricing = bulkInsert<RepricingRow>(
  'repricing',
  repricingTable,
  onConflictAdd('repricing', repricingKey, repricingSums),
);

const minutesMax = 1_000;

/** Traffic of settled requests that this process has not written to the table yet. */
export function createTrafficBook(connections: Pick<Connections, 'transaction'>) {
  const sums = [
    drawnInto(new minutes.TrafficSums(), addTraffic, minutes.trafficKey),
    drawnInto(new minutes.AttemptSums(), addAttempts, minutes.attemptKey),
  ];
  let writing: Promise<void> | null = null;

  async function writeAll(): Promise<void> {
    for (const drawn of sums) await drawn.write(connections);
  }

  return {
    add(events: readonly UsageEvent[]): void {
      for (const event of events) if (!isRefusal(event)) for (const drawn of sums) drawn.add(event);
    },
    /**
     * Writes all of it. Never rejects: rows that were not written wait, and rows of which nobody knows are not written
     * twice.
     */
    async write(): Promise<void> {
      // A caller that waits must find the earlier rows.
      await writing;
      writing ??= writeAll().finally(() => {
        writing = null;
      });
      await writing;
    },
  };
}

/** Sums that pages draw, with the statement that writes them: all in the order that every replica has. */
function drawnInto<Row extends minutes.TimedRow>(
  sums: Pick<minutes.MinuteSums<Row>, 'add' | 'size' | 'take' | 'putBack'>,
  addTo: BulkInsert<Row>,
  key: readonly Column[],
) {
  return {
    add: (event: UsageEvent) => sums.add(event),
    async write({ transaction }: Pick<Connections, 'transaction'>): Promise<void> {
      while (sums.size > 0) {
        const rows = sums.take(minutesMax);
        try {
          await transaction('write', (run) => addTo.into(run, inOrder(rows, key)));
        } catch (error) {
          if (!(error instanceof CommitUnknown)) sums.putBack(rows);
          return;
        }
      }
    },
  };
}
