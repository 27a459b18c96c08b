import { type BucketsOf, rollupSums } from '../../ledger/batch-sums.ts';
import { dayTables, lateAfterMs, lateSums, sumDelayMs } from '../../ledger/day-sums.ts';
import type { UsageEvent } from '../../metering/ledger.ts';
import {
  columnsOfDays,
  daySql,
  dayTable,
  nameSql,
  nameTable,
  nextHourSql,
  ofNamesSql,
  tablesOfNames,
} from '../day-sums.ts';
import { idSlackMs } from '../request-pages.ts';
import { bulkInsert } from './bulk-insert.ts';
import type { Connections, Run, Statement } from './database.ts';
import { requestIdAt } from './ledger-reader.ts';
import { inOrder, onConflictAdd } from './row-order.ts';
import { summedMs } from './usage-rows.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** A day of many millions of requests takes a while. */
const sumTimeoutMs = 600_000;
/**
 * A lock that the process holds which adds a day up, and that writers of such days share. The number is arbitrary, and
 * nobody else takes it.
 */
const daysLock = 0x64_61_79_73;

/** Adds up the days that are over, oldest first, each in a transaction of its own. Replicas wait for each other. */
export async function sumDays(connections: Connections, nowMs: number): Promise<void> {
  while (await connections.transaction('write', (run) => sumNextDay(run, nowMs)));
}

/** Whether there was one. */
async function sumNextDay(run: Run, nowMs: number): Promise<boolean> {
  await run(`SET LOCAL statement_timeout = ${sumTimeoutMs}`);
  // Every writer of such a day has committed by now, or waits.
  await run('SELECT pg_advisory_xact_lock($1)', [daysLock]);
  const { rows } = await run<{ hour: number | null }>(nextHourSql('culvert.', await summedMs(run)));
  const hour = rows[0]?.hour ?? null;
  if (hour === null) return false;
  const day = Math.floor((hour * hourMs) / dayMs);
  if ((day + 1) * dayMs + sumDelayMs > nowMs) return false;
  const [fromMs, toMs] = [day * dayMs, (day + 1) * dayMs];
  await run(addDay, [day * 24, (day + 1) * 24]);
  await run(addNamesOfDay, [fromMs, toMs, requestIdAt(fromMs - idSlackMs), requestIdAt(toMs + idSlackMs)]);
  for (const statement of addPartsOfNames) await run(statement, [day]);
  await run('INSERT INTO culvert.summed VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET until_ms = excluded.until_ms', [
    (day + 1) * dayMs,
  ]);
  return true;
}

const bounds = { from: '$1', to: '$2' };
const addDay: Statement = {
  name: 'add-day',
  text: `INSERT INTO culvert.rollup_day (${columnsOfDays(dayTable)}) ${daySql('culvert.', bounds)}`,
  answerMaxMs: sumTimeoutMs,
};
const addNamesOfDay: Statement = {
  name: 'add-day-by-name',
  text: `INSERT INTO culvert.rollup_name (${columnsOfDays(nameTable)})
    ${nameSql('culvert.', bounds, 'request_id >= $3 AND request_id < $4')}`,
  answerMaxMs: sumTimeoutMs,
};
const addPartsOfNames = tablesOfNames.map(
  (table): Statement => ({
    name: `add-day-to-${table.name}`,
    text: `INSERT INTO culvert.${table.name} (${columnsOfDays(table)}) ${ofNamesSql('culvert.', table, 'day = $1')}`,
    answerMaxMs: sumTimeoutMs,
  }),
);

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
  for (const [at, rows] of lateSums(late, await summedMs(run), bucketsOf).entries())
    await addToDays[at]!.into(run, inOrder(rows, dayTables[at]!.key));
}

const addToDays = dayTables.map(({ name, key }) =>
  bulkInsert<object>(name, [...key, ...rollupSums], onConflictAdd(name, key, rollupSums)),
);
