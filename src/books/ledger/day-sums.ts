import { dayMs } from '../../kernel/clock.ts';
import { BatchSums, type BucketsOf, type RollupRow, rollupSums } from './batch-sums.ts';
import { type Column, columnsOf, type UsageEvent } from './columns.ts';

const hoursPerDay = 24;

/** A day is added up when it has been over for this long: then hardly any of its rows is still to come. */
export const sumDelayMs = 2 * 3_600_000;
/** A request that came less than this ago cannot belong to a day that is added up, by whichever replica's clock. */
export const lateAfterMs = sumDelayMs / 2;

/** A table of days, and what tells its rows apart; their sums are those of `rollup`. */
export interface DayTable {
  name: (typeof dayTables)[number]['name'];
  key: readonly Column[];
}

/** A table of days, or of their hours, whose rows add up those of another one. */
export interface PartTable extends DayTable {
  of: DayTable['name'] | 'rollup';
}

const dayTable = <Name extends string>(name: Name, ...texts: string[]) => ({
  name,
  key: columnsOf([['day', 'whole'], ...texts.map((text): [string, 'text'] => [text, 'text'])]),
});
/** The hour is last in the key: so the same hours of each day are added up in its order, which needs no sorting. */
const hourTable = <Name extends string>(name: Name, ...texts: string[]) => {
  const { key } = dayTable(name, ...texts);
  return { name, key: [...key, ...columnsOf([['hour', 'whole']])] };
};

/** Users and tags multiply each other in `rollup_name`, so the usual questions, by one of them, have separate tables. */
export const wideTables = [
  dayTable('rollup_day', 'account', 'key_id', 'endpoint', 'alias', 'provider'),
  dayTable('rollup_name', 'account', 'key_id', 'alias', 'user', 'tag'),
  { ...dayTable('rollup_user', 'account', 'key_id', 'alias', 'user'), of: 'rollup_name' },
  { ...dayTable('rollup_tag', 'account', 'key_id', 'alias', 'tag'), of: 'rollup_name' },
] as const;

/**
 * Few rows a day each, for questions that name nothing else. Where many accounts ask, the wide tables have so many rows
 * that 90 days of them are slow to sum.
 */
export const narrowTables = [
  { ...dayTable('rollup_day_model', 'endpoint', 'alias', 'provider'), of: 'rollup_day' },
  { ...dayTable('rollup_day_key', 'account', 'key_id'), of: 'rollup_day' },
  { ...dayTable('rollup_day_user', 'user'), of: 'rollup_user' },
  { ...dayTable('rollup_day_tag', 'tag'), of: 'rollup_tag' },
] as const;

/** The same of single hours, of which days in time zones are made. */
export const narrowHourTables = [
  { ...hourTable('rollup_hour_model', 'endpoint', 'alias', 'provider'), of: 'rollup' },
  { ...hourTable('rollup_hour_key', 'account', 'key_id'), of: 'rollup' },
] as const;

/** Hours of users and of tags, which single requests alone know: no other table has them once these are removed. */
export const nameHourTables = [hourTable('rollup_hour_user', 'user'), hourTable('rollup_hour_tag', 'tag')] as const;

export const hourTables = [...narrowHourTables, ...nameHourTables] as const;
export const dayTables = [...wideTables, ...narrowTables, ...hourTables] as const;

type DayRow = RollupRow & Record<string, unknown>;

/** Sums of events of days that are added up already, for the rows of each of `dayTables`: crashes that are charged late, mostly. */
export function lateSums(events: readonly UsageEvent[], untilMs: number, bucketsOf: BucketsOf): object[][] {
  const tables = dayTables.map(() => new Map<string, DayRow>());
  for (const event of events) {
    if (Math.floor(event.atMs / dayMs) * dayMs >= untilMs) continue;
    const sums = new BatchSums(bucketsOf);
    sums.add(event);
    const [row] = sums.rollups();
    if (row === undefined) continue;
    const day = Math.floor(row.hour / hoursPerDay);
    const names = { user: event.user ?? '', tag: event.tag ?? '' };
    for (const [at, { key }] of dayTables.entries()) addTo(tables[at]!, key, { ...row, day, ...names });
  }
  return tables.map((rows) => [...rows.values()]);
}

function addTo(rows: Map<string, DayRow>, key: readonly Column[], row: DayRow): void {
  const name = JSON.stringify(key.map(({ field }) => row[field]));
  const there = rows.get(name);
  if (there === undefined) rows.set(name, row);
  else for (const { field } of rollupSums) there[field] += row[field];
}
