import { setTimeout as pause } from 'node:timers/promises';
import { type DayTable, nameHourTables, type PartTable, sumDelayMs, wideTables } from '../../books/ledger/day-sums.ts';
import type { UsageQuery, UsageRow } from '../../books/metering/ledger.ts';
import { dayMs, hourMs } from '../../kernel/clock.ts';
import * as days from '../ledger/day-sums.ts';
import { readSums } from '../ledger/largest-parts.ts';
import { type Marks, marksIn } from '../ledger/ledger-filters.ts';
import { askIn } from '../ledger/ledger-sums.ts';
import { idSlackMs } from '../ledger/request-pages.ts';
import {
  cutToDays,
  timesOf,
  type UsageDialect,
  type UsagePart,
  usagePartSql,
  usageParts,
  usageSumNames,
  usageSums,
} from '../ledger/usage-sql.ts';
import { type Database, patiently, type SqlValue } from './database.ts';
import { ledgerKeyAt, summedMs } from './ledger-writer.ts';
import { tablesIn } from './tables.ts';

const dialect: UsageDialect = { schema: '', slash: `instr(target, '/')` };
/** Events summed between two breaths: about 10 ms. */
const sliceRows = 10_000;
/** The same of days that are added up. The longest range of the pages is not cut: what is left for the end is summed once. */
const sliceDays = 92;

/** The port's `usage`: from roll-ups, and from single requests what these do not keep. */
export async function sumUsage(
  database: Database,
  query: UsageQuery,
  breathe: () => Promise<void>,
): Promise<UsageRow[]> {
  const parts = usageParts(query, days.summedDays(database.prepare(days.summedSql('')).get()));
  if (parts.some(({ source }) => source === 'usage_event')) return sumInFile(database, query, parts, breathe);
  return readSums(query, { parts, dialect, ask: askIn(tablesIn(database)) });
}

/** Callers choose what they send as `user`: there may be millions, so they are summed in a file, not in memory. */
async function sumInFile(
  database: Database,
  query: UsageQuery,
  parts: readonly UsagePart[],
  breathe: () => Promise<void>,
): Promise<UsageRow[]> {
  const tables = tablesIn(database);
  const table = `name_sum_${++sumsMade}`;
  database.exec(
    `CREATE TEMP TABLE ${table} (name ANY, split ANY, ${usageSumNames.map((name) => `${name} INTEGER`).join(', ')},
     PRIMARY KEY (name, split)) STRICT, WITHOUT ROWID`,
  );
  try {
    const add = (rowsOf: (marks: Marks) => string) => {
      const { marks, values } = marksIn(tables);
      const sql = `INSERT INTO ${table} SELECT name, split, ${usageSums} FROM (${rowsOf(marks)}) WHERE true
        GROUP BY name, split ON CONFLICT DO UPDATE SET ${added}`;
      return tables.run(sql, values);
    };
    const events = parts.filter(({ source }) => source === 'usage_event');
    for (const part of events)
      for (const run of timesOf(part))
        await inSlices(
          database,
          run,
          (keys) => add((marks) => usagePartSql(query, part, marks, dialect, [keys])),
          breathe,
        );
    const slices = cutToDays(
      parts.filter((part) => !events.includes(part)),
      sliceDays,
    );
    const sumsOf = (slice: readonly UsagePart[], marks: Marks) =>
      slice.map((part) => usagePartSql(query, part, marks, dialect));
    for (const slice of slices.slice(0, -1)) {
      await add((marks) => sumsOf(slice, marks).join(' UNION ALL '));
      await breathe();
    }
    const last = slices.at(-1) ?? [];
    // Nothing breathes in here: another question would wait for both statements anyway.
    return await readSums(query, { parts: last, summed: `SELECT * FROM ${table}`, dialect, ask: askIn(tables) });
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
  each: (keys: string) => unknown,
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
    await each(`key >= ${at} AND key < ${high}`);
    at = end === undefined ? null : high;
    await breathe();
  }
}

const nameColumns = days.columnsOfDays(days.nameTable);
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
    const hour = reading.prepare(days.nextHourSql('', summedMs(reading))).get()?.hour ?? null;
    if (hour === null) break;
    const day = Math.floor((Number(hour) * hourMs) / dayMs);
    if ((day + 1) * dayMs + sumDelayMs > nowMs || !(await sumDay(reading, writing, day, breathe))) break;
  }
  await addDays(reading, writing, narrow);
  await addDays(reading, writing, { ...nameHours, copy: (...of) => copyNameHours(...of, breathe) });
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
  await copyRows(reading.prepare(days.daySql('', hours)).iterate(), writing, days.dayTable);
  await ofRequests(reading, day, { columns: nameColumns, sql: days.nameSql, breathe }, async (table) => {
    const sums = nameColumns
      .split(', ')
      .slice(6)
      .map((name) => `sum(${name}) AS ${name}`);
    const rows = reading.prepare(
      `SELECT day, account, key_id, alias, "user", tag, ${sums.join(', ')} FROM ${table} GROUP BY 1, 2, 3, 4, 5, 6`,
    );
    await copyRows(rows.iterate(), writing, days.nameTable);
  });
  await copyParts(reading, writing, days.tablesOfNames, day);
  return patiently(writing, () => {
    if (requestsOfDay(writing, day) !== before) return false;
    writing.prepare('INSERT OR REPLACE INTO summed VALUES (1, ?)').run((day + 1) * dayMs);
    return true;
  });
}

/** Sums single requests of a day some thousand at a time into a table, which is gone after `use`. */
async function ofRequests(
  reading: Database,
  day: number,
  { columns, sql, breathe }: { columns: string; sql: typeof days.nameSql; breathe: () => Promise<void> },
  use: (table: string) => Promise<void>,
): Promise<void> {
  const table = `requests_of_${day}`;
  reading.exec(`CREATE TEMP TABLE ${table} (${columns})`);
  try {
    const range = { from: day * dayMs, to: (day + 1) * dayMs };
    const add = (keys: string) => {
      const rows = sql('', range, keys);
      reading.exec(`INSERT INTO ${table} ${rows}`);
    };
    await inSlices(reading, range, add, breathe);
    await use(table);
  } finally {
    reading.exec(`DROP TABLE ${table}`);
  }
}

function requestsOfDay(database: Database, day: number): number {
  return Number(database.prepare(days.requestsOfDaySql('', day)).get()?.requests);
}

async function copyParts(
  reading: Database,
  writing: Database,
  tables: readonly PartTable[],
  day: number,
): Promise<void> {
  for (const table of tables) await copyRows(reading.prepare(days.partSql('', table, day)).iterate(), writing, table);
}

/** Tables that get days which are in the wide ones, and how. */
interface Follower {
  marks: days.DayMarks;
  tables: readonly DayTable[];
  copy(reading: Database, writing: Database, day: number): Promise<void>;
  /** Whether the tables have all of the day now. */
  isWhole(writing: Database, day: number): boolean;
}

const narrow: Follower = {
  marks: 'narrowed',
  tables: days.allNarrowTables,
  copy: (reading, writing, day) => copyParts(reading, writing, days.allNarrowTables, day),
  isWhole: () => true,
};

const nameHours: Omit<Follower, 'copy'> = {
  marks: 'named',
  tables: nameHourTables,
  isWhole: (writing, day) => (writing.prepare(days.lackingHoursSql('', day)).get()?.day ?? null) === null,
};

async function copyNameHours(
  reading: Database,
  writing: Database,
  day: number,
  breathe: () => Promise<void>,
): Promise<void> {
  await ofRequests(
    reading,
    day,
    { columns: days.nameHourColumns, sql: days.nameHourSql, breathe },
    async (requests) => {
      for (const table of nameHourTables)
        await copyRows(reading.prepare(days.ofNameHoursSql(table, requests)).iterate(), writing, table);
    },
  );
}

async function addDays(reading: Database, writing: Database, to: Follower): Promise<void> {
  for (;;) {
    const day = reading.prepare(days.nextDaySql('', to.marks)).get()?.day ?? null;
    if (day === null || !(await addDay(reading, writing, Number(day), to))) return;
  }
}

/** Whether the day is there: false when requests came late meanwhile, or are removed. */
async function addDay(reading: Database, writing: Database, day: number, to: Follower): Promise<boolean> {
  const before = requestsOfDay(reading, day);
  // Rows of requests that came late, and of a process that ended while it wrote them.
  await patiently(writing, () => {
    for (const { name } of to.tables) writing.exec(`DELETE FROM ${name} WHERE day = ${day}`);
  });
  await to.copy(reading, writing, day);
  return patiently(writing, () => {
    if (requestsOfDay(writing, day) !== before) return false;
    const isWhole = to.isWhole(writing, day);
    writing.exec(isWhole ? days.haveDaySql('', to.marks, day) : days.lackDaySql('', day));
    return isWhole;
  });
}

async function copyRows(
  rows: Iterable<Readonly<Record<string, unknown>>>,
  writing: Database,
  table: DayTable,
): Promise<void> {
  const columns = days.columnsOfDays(table);
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
