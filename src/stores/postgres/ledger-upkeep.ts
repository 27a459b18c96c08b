import { setTimeout as pause } from 'node:timers/promises';
import { readEvent } from '../../books/ledger/columns.ts';
import { nameHourTables, type PartTable, sumDelayMs } from '../../books/ledger/day-sums.ts';
import { trafficGrainsMs, trafficRetentionMs } from '../../books/ledger/minute-sums.ts';
import type { OrderedRecord, RecordStore } from '../../books/metering/record-store.ts';
import { dayMs, hourMs } from '../../kernel/clock.ts';
import { requestIdAt } from '../../kernel/ids.ts';
import * as days from '../ledger/day-sums.ts';
import { sinkForgottenMs } from '../ledger/ledger-waits.ts';
import { deadBefore, quotaGrainsMs } from '../ledger/quota-grains.ts';
import { idSlackMs } from '../ledger/request-pages.ts';
import { databaseNowMs } from './boots.ts';
import { type Connections, type Database, type Row, type Run, type Statement, unavailable } from './database.ts';
import { summedMs } from './ledger-reader.ts';

/** The port over PostgreSQL. `holder` names this process. */
export function createPostgresRecords({ rest }: Pick<Database, 'rest'>, holder: string): RecordStore {
  const ask: Run = (sql, values) => unavailable(rest.run(sql, values));
  return {
    async begin(sinks) {
      await unavailable(
        rest.transaction('write', async (run) => {
          await run(
            `INSERT INTO culvert.sink (name, position, seen_ms)
             SELECT name, (SELECT position FROM culvert.record_sequence), ${databaseNowMs} FROM unnest($1::text[]) AS name
             ON CONFLICT (name) DO UPDATE SET seen_ms = excluded.seen_ms`,
            [sinks],
          );
          await run(`DELETE FROM culvert.sink WHERE seen_ms < ${databaseNowMs} - ${sinkForgottenMs}`);
        }),
      );
    },
    async take(sink, leaseMs) {
      const { rows } = await ask<{ position: number }>(
        `UPDATE culvert.sink SET holder = $2, held_until_ms = ${databaseNowMs} + $3::bigint, seen_ms = ${databaseNowMs}
         WHERE name = $1 AND (holder = $2 OR held_until_ms <= ${databaseNowMs}) RETURNING position`,
        [sink, holder, leaseMs],
      );
      return rows[0]?.position ?? null;
    },
    async failed(sink, failure) {
      await ask('UPDATE culvert.sink SET failure = $3, behind_ms = $4 WHERE name = $1 AND holder = $2', [
        sink,
        holder,
        failure?.why ?? null,
        failure?.sinceMs ?? null,
      ]);
    },
    async failure(sink) {
      const { rows } = await ask<{ why: string | null; sinceMs: number | null }>(
        'SELECT failure AS why, behind_ms AS "sinceMs" FROM culvert.sink WHERE name = $1',
        [sink],
      );
      const [{ why, sinceMs } = { why: null, sinceMs: null }] = rows;
      return why === null ? null : { why, sinceMs };
    },
    async letGo(sink) {
      await ask('UPDATE culvert.sink SET held_until_ms = 0 WHERE name = $1 AND holder = $2', [sink, holder]);
    },
    async read(after, limit) {
      const { rows } = await ask<Row & { position: number; bodies: string | null }>(
        `SELECT record_order.position, record_order.bodies, usage_event.* FROM culvert.record_order
         JOIN culvert.usage_event USING (request_id)
         WHERE record_order.position > $1 ORDER BY record_order.position LIMIT $2`,
        [after, limit],
      );
      return rows.map((row): OrderedRecord => ({ position: row.position, event: readEvent(row), bodies: row.bodies }));
    },
    async arrived(sink, position) {
      await unavailable(
        rest.transaction('write', async (run) => {
          // One that lost its lease meanwhile may be behind the one that has it now.
          await run('UPDATE culvert.sink SET position = greatest(position, $2) WHERE name = $1', [sink, position]);
          await run('DELETE FROM culvert.record_order WHERE position <= (SELECT min(position) FROM culvert.sink)');
        }),
      );
    },
  };
}

/** A day of many millions of requests takes a while. */
const sumTimeoutMs = 600_000;
/**
 * A lock that the process holds which adds a day up, and that writers of such days share. The number is arbitrary, and
 * nobody else takes it.
 */
export const daysLock = 0x64_61_79_73;

/**
 * Adds up the days that are over, oldest first, then the narrow tables and the hours of names: each day in a separate
 * transaction. Replicas wait for each other. Days that a replica of an older version changed are added up again.
 */
export async function sumDays(connections: Connections, nowMs: number): Promise<void> {
  while (await connections.transaction('write', (run) => sumNextDay(run, nowMs)));
  for (const marks of ['narrowed', 'named'] as const)
    for (const which of [days.nextDaySql('culvert.', marks), days.staleDaySql('culvert.', marks)])
      while (await connections.transaction('write', (run) => addDayOf(run, marks, which)));
}

/** Whether there was one. */
async function sumNextDay(run: Run, nowMs: number): Promise<boolean> {
  await run(`SET LOCAL statement_timeout = ${sumTimeoutMs}`);
  // Every writer of such a day has committed by now, or waits.
  await run('SELECT pg_advisory_xact_lock($1)', [daysLock]);
  const { rows } = await run<{ hour: number | null }>(days.nextHourSql('culvert.', await summedMs(run)));
  const hour = rows[0]?.hour ?? null;
  if (hour === null) return false;
  const day = Math.floor((hour * hourMs) / dayMs);
  if ((day + 1) * dayMs + sumDelayMs > nowMs) return false;
  await run(addDay, [day * 24, (day + 1) * 24]);
  await run(addNamesOfDay, requestsOf(day));
  for (const statement of addPartsOfNames) await run(statement, [day]);
  await run('INSERT INTO culvert.summed VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET until_ms = excluded.until_ms', [
    (day + 1) * dayMs,
  ]);
  return true;
}

const bounds = { from: '$1', to: '$2' };
const ids = 'request_id >= $3 AND request_id < $4';
/** Values for `bounds` and `ids`. */
function requestsOf(day: number): unknown[] {
  const [fromMs, toMs] = [day * dayMs, (day + 1) * dayMs];
  return [fromMs, toMs, requestIdAt(fromMs - idSlackMs), requestIdAt(toMs + idSlackMs)];
}
const addDay: Statement = {
  name: 'add-day',
  text: `INSERT INTO culvert.rollup_day (${days.columnsOfDays(days.dayTable)}) ${days.daySql('culvert.', bounds)}`,
  answerMaxMs: sumTimeoutMs,
};
const addNamesOfDay: Statement = {
  name: 'add-day-by-name',
  text: `INSERT INTO culvert.rollup_name (${days.columnsOfDays(days.nameTable)})
    ${days.nameSql('culvert.', bounds, ids)}`,
  answerMaxMs: sumTimeoutMs,
};
const addTo = (table: PartTable): Statement => ({
  name: `add-day-to-${table.name}`,
  text: `INSERT INTO culvert.${table.name} (${days.columnsOfDays(table)}) ${days.partSql('culvert.', table, '$1')}`,
  answerMaxMs: sumTimeoutMs,
});
const addPartsOfNames = days.tablesOfNames.map(addTo);
const addNarrow = days.allNarrowTables.map(addTo);

const [addUserHours, addTagHours] = nameHourTables.map(
  (table) => `INSERT INTO culvert.${table.name} (${days.columnsOfDays(table)}) ${days.ofNameHoursSql(table, 'hours')}`,
);
/** Reads the requests once for both tables. */
const addNameHours: Statement = {
  name: 'add-hours-by-name',
  text: `WITH hours AS MATERIALIZED (${days.nameHourSql('culvert.', bounds, ids)}), users AS (${addUserHours}) ${addTagHours}`,
  answerMaxMs: sumTimeoutMs,
};

/** Whether there was one, and it is there. */
async function addDayOf(run: Run, marks: days.DayMarks, which: string): Promise<boolean> {
  await run(`SET LOCAL statement_timeout = ${sumTimeoutMs}`);
  await run('SELECT pg_advisory_xact_lock($1)', [daysLock]);
  const { rows } = await run<{ day: number | null }>(which);
  const day = rows[0]?.day ?? null;
  if (day === null) return false;
  // Rows of requests that came late.
  for (const table of marks === 'named' ? nameHourTables : days.allNarrowTables)
    await run(`DELETE FROM culvert.${table.name} WHERE day = $1`, [day]);
  if (marks === 'named') {
    await run(addNameHours, requestsOf(day));
    const { rows: lacking } = await run<{ day: number | null }>(days.lackingHoursSql('culvert.', day));
    if ((lacking[0]?.day ?? null) !== null) {
      await run(days.lackDaySql('culvert.', day));
      return false;
    }
  } else for (const statement of addNarrow) await run(statement, [day]);
  await run(days.haveDaySql('culvert.', marks, day));
  return true;
}

const prunedAtOnce = 1_000;
/** Between two batches, so that requests get in. */
const pauseMs = 20;

/** Removes events that came before and quota buckets that count no more, in small commits; resolves to how many events. */
export async function pruneLedger(run: Run, beforeMs: number, nowMs: number): Promise<number> {
  const events = await inBatches(run, deleteEvents, [requestIdAt(beforeMs)]);
  await inBatches(run, deleteFeedback, [requestIdAt(beforeMs)]);
  while ((await run(deleteRecordOrder, [requestIdAt(beforeMs)])).changes > 0) await pause(pauseMs);
  for (const grainMs of quotaGrainsMs) await inBatches(run, deleteBuckets, [grainMs, deadBefore(grainMs, nowMs)]);
  for (const grain of ['minute', 'hour'] as const) {
    const grainMs = trafficGrainsMs[grain];
    const dead = Math.floor((nowMs - trafficRetentionMs[grain]) / grainMs);
    for (const statement of deleteTraffic) await inBatches(run, statement, [grainMs, dead]);
  }
  return events;
}

async function inBatches(run: Run, statement: string, values: readonly unknown[]): Promise<number> {
  let removed = 0;
  for (;;) {
    const { changes } = await run(statement, values);
    removed += changes;
    if (changes < prunedAtOnce) return removed;
    await pause(pauseMs);
  }
}

// Replicas that prune at one moment take different rows.
const deleteEvents = `
  DELETE FROM culvert.usage_event WHERE request_id IN (
    SELECT request_id FROM culvert.usage_event WHERE request_id < $1
    ORDER BY request_id LIMIT ${prunedAtOnce} FOR UPDATE SKIP LOCKED)`;
const deleteFeedback = `
  DELETE FROM culvert.feedback WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM culvert.feedback WHERE request_id < $1 LIMIT ${prunedAtOnce} FOR UPDATE SKIP LOCKED))`;
/** Takes the oldest few: while a sink is away there may be millions. One that settled late is removed later. */
const deleteRecordOrder = `
  DELETE FROM culvert.record_order WHERE request_id < $1 AND position IN (
    SELECT position FROM culvert.record_order ORDER BY position LIMIT ${prunedAtOnce})`;
const deleteBuckets = `
  DELETE FROM culvert.quota_bucket WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM culvert.quota_bucket WHERE grain_ms = $1 AND bucket < $2
    LIMIT ${prunedAtOnce} FOR UPDATE SKIP LOCKED))`;
const deleteTraffic = ['traffic', 'attempt_sum'].map(
  (table) => `
  DELETE FROM culvert.${table} WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM culvert.${table} WHERE grain_ms = $1 AND bucket < $2
    LIMIT ${prunedAtOnce} FOR UPDATE SKIP LOCKED))`,
);
