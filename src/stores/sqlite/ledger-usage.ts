import { setTimeout as pause } from 'node:timers/promises';
import { type DayTable, type PartTable, sumDelayMs, wideTables } from '../../books/ledger/day-sums.ts';
import type { UsageQuery, UsageRow } from '../../books/metering/ledger.ts';
import {
  allNarrowTables,
  columnsOfDays,
  daySql,
  dayTable,
  nameSql,
  nameTable,
  narrowedSql,
  nextHourSql,
  nextNarrowSql,
  ofDay,
  partSql,
  requestsOfDaySql,
  summedDays,
  summedSql,
  tablesOfNames,
} from '../ledger/day-sums.ts';
import { idSlackMs } from '../ledger/request-pages.ts';
import {
  timesOf,
  type UsageDialect,
  type UsagePart,
  usagePartSql,
  usageParts,
  usageRows,
  usageSumNames,
  usageSumSql,
  usageSums,
} from '../ledger/usage-sql.ts';
import { type Database, patiently, type SqlValue } from './database.ts';
import { sqliteMarks } from './ledger-reader.ts';
import { ledgerKeyAt, summedMs } from './ledger-writer.ts';

const dialect: UsageDialect = { schema: '', slash: `instr(target, '/')` };
/** Events summed between two breaths: about 10 ms. */
const sliceRows = 10_000;
/** The same of days that are added up. */
const sliceDays = 31;

/** The port's `usage`: from roll-ups, and from single requests what these do not keep. */
export async function sumUsage(
  database: Database,
  query: UsageQuery,
  breathe: () => Promise<void>,
): Promise<UsageRow[]> {
  const parts = usageParts(query, summedDays(database.prepare(summedSql('')).get()));
  if (parts.some(({ source }) => source === 'usage_event')) return sumInFile(database, query, parts, breathe);
  const { marks, values } = sqliteMarks();
  const sql = parts.map((part) => usagePartSql(query, part, marks, dialect)).join(' UNION ALL ');
  return usageRows(query, database.prepare(usageSumSql(sql)).all(...values));
}

/** Callers choose what they send as `user`: there may be millions, so they are summed in a file, not in memory. */
async function sumInFile(
  database: Database,
  query: UsageQuery,
  parts: readonly UsagePart[],
  breathe: () => Promise<void>,
): Promise<UsageRow[]> {
  const table = `name_sum_${++sumsMade}`;
  database.exec(
    `CREATE TEMP TABLE ${table} (name ANY, split ANY, ${usageSumNames.map((name) => `${name} INTEGER`).join(', ')},
     PRIMARY KEY (name, split)) STRICT, WITHOUT ROWID`,
  );
  try {
    const add = (part: UsagePart, conditions: readonly string[] = []) => {
      const { marks, values } = sqliteMarks();
      const rows = usagePartSql(query, part, marks, dialect, conditions);
      database
        .prepare(`INSERT INTO ${table} SELECT name, split, ${usageSums} FROM (${rows}) WHERE true
        GROUP BY name, split ON CONFLICT DO UPDATE SET ${added}`)
        .run(...values);
    };
    for (const part of parts) {
      if (part.source === 'usage_event')
        for (const run of timesOf(part)) await inSlices(database, run, (keys) => add(part, [keys]), breathe);
      else
        for (let day = part.from; day < part.to; day += sliceDays) {
          add({ ...part, from: day, to: Math.min(part.to, day + sliceDays) });
          await breathe();
        }
    }
    return usageRows(query, database.prepare(usageSumSql(`SELECT * FROM ${table}`)).all());
  } finally {
    database.exec(`DROP TABLE ${table}`);
  }
}

const added = usageSumNames.map((name) => `${name} = ${name} + excluded.${name}`).join(', ');

/** Two may run in turns. */
let sumsMade = 0;

/** Reads some thousand events of a part at a time, by a condition on their key. */
async function inSlices(
  database: Database,
  { from, to }: Pick<UsagePart, 'from' | 'to'>,
  each: (keys: string) => void,
  breathe: () => Promise<void>,
): Promise<void> {
  const sliceEnd = database.prepare(
    `SELECT key FROM usage_event WHERE key >= ? AND key < ? ORDER BY key LIMIT 1 OFFSET ${sliceRows}`,
  );
  const until = Math.max(0, ledgerKeyAt(to + idSlackMs));
  let at: number | null = Math.max(0, ledgerKeyAt(from - idSlackMs));
  while (at !== null) {
    const end: unknown = sliceEnd.get(at, until)?.key;
    const high: number = end === undefined ? until : Number(end);
    each(`key >= ${at} AND key < ${high}`);
    at = end === undefined ? null : high;
    await breathe();
  }
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const nameColumns = columnsOfDays(nameTable);
/** In one transaction: the writer waits for it. */
const batchRows = 200;
/** Between two batches, so that the writer gets in first. */
const pauseMs = 10;

/**
 * Adds up the days that are over, oldest first, and then the narrow tables. `writing` writes the rows, some at a time.
 * A day counts once all of its rows are there and none came meanwhile.
 */
export async function sumDays(
  reading: Database,
  writing: Database,
  nowMs: number,
  breathe: () => Promise<void>,
): Promise<void> {
  for (;;) {
    const hour = reading.prepare(nextHourSql('', summedMs(reading))).get()?.hour ?? null;
    if (hour === null) break;
    const day = Math.floor((Number(hour) * hourMs) / dayMs);
    if ((day + 1) * dayMs + sumDelayMs > nowMs || !(await sumDay(reading, writing, day, breathe))) break;
  }
  await narrowDays(reading, writing);
}

async function sumDay(
  reading: Database,
  writing: Database,
  day: number,
  breathe: () => Promise<void>,
): Promise<boolean> {
  const before = requestsOfDay(reading, day);
  // Rows of a process that ended while it wrote them.
  for (const { name } of wideTables)
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
  await copyParts(reading, writing, tablesOfNames, day);
  return patiently(writing, () => {
    if (requestsOfDay(writing, day) !== before) return false;
    writing.prepare('INSERT OR REPLACE INTO summed VALUES (1, ?)').run((day + 1) * dayMs);
    return true;
  });
}

function requestsOfDay(database: Database, day: number): number {
  return Number(database.prepare(requestsOfDaySql('', day)).get()?.requests);
}

async function copyParts(
  reading: Database,
  writing: Database,
  tables: readonly PartTable[],
  day: number,
): Promise<void> {
  for (const table of tables) await copyRows(reading.prepare(partSql('', table, day)).iterate(), writing, table);
}

/** Adds up the narrow tables' rows of days that are in the wide ones. */
async function narrowDays(reading: Database, writing: Database): Promise<void> {
  for (;;) {
    const day = reading.prepare(nextNarrowSql('')).get()?.day ?? null;
    if (day === null || !(await narrowDay(reading, writing, Number(day)))) return;
  }
}

/** Whether the day is there: false when requests came late meanwhile. */
async function narrowDay(reading: Database, writing: Database, day: number): Promise<boolean> {
  const before = requestsOfDay(reading, day);
  // Rows of requests that came late, and of a process that ended while it wrote them.
  await patiently(writing, () => {
    for (const table of allNarrowTables) writing.exec(`DELETE FROM ${table.name} WHERE ${ofDay(table, day)}`);
  });
  await copyParts(reading, writing, allNarrowTables, day);
  return patiently(writing, () => {
    if (requestsOfDay(writing, day) !== before) return false;
    writing.exec(narrowedSql('', day));
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
  // One that is there came late: then the day is counted again.
  const insert = writing.prepare(`INSERT OR REPLACE INTO ${table.name} (${columns}) VALUES (${marks.join(', ')})`);
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
