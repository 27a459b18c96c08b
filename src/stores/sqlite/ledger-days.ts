import { setTimeout as pause } from 'node:timers/promises';
import { type DayTable, dayTables, sumDelayMs } from '../../ledger/day-sums.ts';
import {
  columnsOfDays,
  daySql,
  dayTable,
  nameSql,
  nameTable,
  nextHourSql,
  ofNamesSql,
  requestsOfDaySql,
  tablesOfNames,
} from '../day-sums.ts';
import type { Database, SqlValue } from './database.ts';
import { inSlices } from './ledger-usage.ts';
import { patiently } from './patient-transaction.ts';
import { summedMs } from './summed.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const nameColumns = columnsOfDays(nameTable);
/** In one transaction: the writer waits for it. */
const batchRows = 200;
/** Between two batches, so that the writer gets in first. */
const pauseMs = 10;

/**
 * Adds up the days that are over, oldest first, and resolves to the end of the last one. `writing` writes the rows,
 * some at a time. A day counts once all of its rows are there and none came meanwhile.
 */
export async function sumDays(
  reading: Database,
  writing: Database,
  nowMs: number,
  breathe: () => Promise<void>,
): Promise<number> {
  for (;;) {
    const untilMs = summedMs(reading);
    const hour = reading.prepare(nextHourSql('', untilMs)).get()?.hour;
    if (hour === null || hour === undefined) return untilMs;
    const day = Math.floor((Number(hour) * hourMs) / dayMs);
    if ((day + 1) * dayMs + sumDelayMs > nowMs) return untilMs;
    if (!(await sumDay(reading, writing, day, breathe))) return untilMs;
  }
}

async function sumDay(
  reading: Database,
  writing: Database,
  day: number,
  breathe: () => Promise<void>,
): Promise<boolean> {
  const requests = (database: Database) => Number(database.prepare(requestsOfDaySql('', day)).get()?.requests);
  const before = requests(reading);
  // Rows of a process that ended while it wrote them.
  for (const { name } of dayTables)
    if (reading.prepare(`SELECT 1 FROM ${name} WHERE day >= ${day} LIMIT 1`).get() !== undefined)
      await patiently(writing, () => writing.exec(`DELETE FROM ${name} WHERE day >= ${day}`));
  const hours = { from: day * 24, to: (day + 1) * 24 };
  await copyRows(reading.prepare(daySql('', hours)).iterate(), writing, dayTable);
  const table = `name_day_${day}`;
  reading.exec(`CREATE TEMP TABLE ${table} AS SELECT ${nameColumns} FROM rollup_name WHERE false`);
  try {
    const range = { from: day * dayMs, to: (day + 1) * dayMs };
    const add = (keys: string) => reading.exec(`INSERT INTO ${table} ${nameSql('', range, keys)}`);
    await inSlices(reading, range, add, breathe);
    const sums = nameColumns
      .split(', ')
      .slice(6)
      .map((name) => `sum(${name}) AS ${name}`);
    const rows = reading.prepare(
      `SELECT day, account, key_id, alias, "user", tag, ${sums.join(', ')} FROM ${table} GROUP BY 1, 2, 3, 4, 5, 6`,
    );
    await copyRows(rows.iterate(), writing, nameTable);
  } finally {
    reading.exec(`DROP TABLE ${table}`);
  }
  for (const part of tablesOfNames)
    await copyRows(reading.prepare(ofNamesSql('', part, `day = ${day}`)).iterate(), writing, part);
  return patiently(writing, () => {
    if (requests(writing) !== before) return false;
    writing.prepare('INSERT OR REPLACE INTO summed VALUES (1, ?)').run((day + 1) * dayMs);
    return true;
  });
}

async function copyRows(
  rows: Iterable<Readonly<Record<string, unknown>>>,
  writing: Database,
  table: DayTable,
): Promise<void> {
  const columns = columnsOfDays(table);
  const marks = columns.split(', ').map(() => '?');
  const insert = writing.prepare(`INSERT INTO ${table.name} (${columns}) VALUES (${marks.join(', ')})`);
  const write = async (batch: SqlValue[][]) => {
    await patiently(writing, () => {
      for (const row of batch) insert.run(...row);
    });
    await pause(pauseMs);
  };
  let batch: SqlValue[][] = [];
  for (const row of rows) {
    batch.push(Object.values(row) as SqlValue[]);
    if (batch.length < batchRows) continue;
    await write(batch);
    batch = [];
  }
  if (batch.length > 0) await write(batch);
}
