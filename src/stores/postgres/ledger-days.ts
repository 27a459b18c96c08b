import { type BucketsOf, rollupSums } from '../../ledger/batch-sums.ts';
import { dayKey, dayTable, lateAfterMs, lateSums, nameKey, nameTable, sumDelayMs } from '../../ledger/day-sums.ts';
import type { UsageEvent } from '../../metering/ledger.ts';
import { dayColumns, daySql, nameColumns, nameSql, nextHourSql } from '../day-sums.ts';
import { bulkInsert } from './bulk-insert.ts';
import type { Connections, Run, Statement } from './database.ts';
import { requestIdAt } from './ledger-reader.ts';
import { inOrder, onConflictAdd } from './row-order.ts';
import { summedMs } from './usage-rows.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const idSlackMs = 60_000;
/** A day of many millions of requests takes a while. */
const sumTimeoutMs = 600_000;
/** Held by who adds a day up, and shared by those who write of days that may be: any number that nobody else takes. */
const daysLock = 0x64_61_79_73;

/** Adds up the days that are over, oldest first, each in a transaction of its own. Replicas wait for each other. */
export async function sumDays(connections: Connections, nowMs: number): Promise<void> {
  while (await connections.transaction('write', (run) => sumNextDay(run, nowMs)));
}

/** Whether there was one. */
async function sumNextDay(run: Run, nowMs: number): Promise<boolean> {
  await run(`SET LOCAL statement_timeout = ${sumTimeoutMs}`);
  // Whoever writes of such a day has committed by now, or waits.
  await run('SELECT pg_advisory_xact_lock($1)', [daysLock]);
  const { rows } = await run<{ hour: number | null }>(nextHourSql('culvert.', await summedMs(run)));
  const hour = rows[0]?.hour ?? null;
  if (hour === null) return false;
  const day = Math.floor((hour * hourMs) / dayMs);
  if ((day + 1) * dayMs + sumDelayMs > nowMs) return false;
  const [fromMs, toMs] = [day * dayMs, (day + 1) * dayMs];
  await run(addDay, [day * 24, (day + 1) * 24]);
  await run(addNamesOfDay, [fromMs, toMs, requestIdAt(fromMs - idSlackMs), requestIdAt(toMs + idSlackMs)]);
  await run('INSERT INTO culvert.summed VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET until_ms = excluded.until_ms', [
    (day + 1) * dayMs,
  ]);
  return true;
}

const bounds = { from: '$1', to: '$2' };
const addDay: Statement = {
  name: 'add-day',
  text: `INSERT INTO culvert.rollup_day (${dayColumns}) ${daySql('culvert.', bounds)}`,
  answerMaxMs: sumTimeoutMs,
};
const addNamesOfDay: Statement = {
  name: 'add-day-by-name',
  text: `INSERT INTO culvert.rollup_name (${nameColumns})
    ${nameSql('culvert.', bounds, 'request_id >= $3 AND request_id < $4')}`,
  answerMaxMs: sumTimeoutMs,
};

/** For the transaction that writes these events: what they add to days that are added up already. */
export async function writeLate(
  run: Run,
  events: readonly UsageEvent[],
  bucketsOf: BucketsOf,
  nowMs: number,
): Promise<void> {
  const late = events.filter(({ atMs }) => atMs < nowMs - lateAfterMs);
  if (late.length === 0) return;
  await run('SELECT pg_advisory_xact_lock_shared($1)', [daysLock]);
  const { days, names } = lateSums(late, await summedMs(run), bucketsOf);
  await addDays.into(run, inOrder(days, dayKey));
  await addNames.into(run, inOrder(names, nameKey));
}

const addDays = bulkInsert<object>('rollup_day', dayTable, onConflictAdd('rollup_day', dayKey, rollupSums));
const addNames = bulkInsert<object>('rollup_name', nameTable, onConflictAdd('rollup_name', nameKey, rollupSums));
