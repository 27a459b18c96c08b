import { rollupSums } from '../../books/ledger/batch-sums.ts';
import { unpricedSql } from '../../books/ledger/columns.ts';
import {
  type DayTable,
  hourTables,
  narrowHourTables,
  narrowTables,
  type PartTable,
  wideTables,
} from '../../books/ledger/day-sums.ts';
import { dayMs, hourMs } from '../../kernel/clock.ts';
import type { Ddl } from '../schema/ddl.ts';

const sumList = rollupSums.map(({ name }) => name).join(', ');
const summed = rollupSums.map(({ name }) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ');
const keysOf = ({ key }: DayTable) => key.map(({ name }) => (name === 'user' ? '"user"' : name)).join(', ');

/** The columns of a table of days, as statements name them. */
export const columnsOfDays = (table: DayTable): string => `${keysOf(table)}, ${sumList}`;
export const [dayTable, nameTable, ...tablesOfNames] = wideTables;

/** Days; `to` is not in. */
export interface DayRange {
  from: number;
  to: number;
}

/** Days that are added up, those of them that the narrow tables have too, and those that the hours of names have. */
export interface SummedDays {
  days: DayRange;
  narrow: DayRange;
  named: DayRange;
}

/** Bounds of a day as a statement has them: values or marks. `to` is not in. */
export interface Bounds {
  from: number | string;
  to: number | string;
}

/** A day's rows of `rollup_day`, from its hours. */
export function daySql(schema: '' | 'culvert.', hours: Bounds): string {
  return `SELECT hour / 24 AS day, account, key_id, endpoint, alias, provider, ${summed}
    FROM ${schema}rollup WHERE hour >= ${hours.from} AND hour < ${hours.to} GROUP BY 1, 2, 3, 4, 5, 6`;
}

const tokens = 'input_tokens + output_tokens';
const usdNano = 'CAST(round(coalesce(cost_usd, 0) * 1e9) AS BIGINT)';
const ofSource = (amount: string, source: string) => `CASE WHEN usage_source = '${source}' THEN ${amount} ELSE 0 END`;
/** SQL of the share of one event in each sum, as in `BatchSums.add`; absent: its column of that name. */
export const ofEvent: Readonly<Record<string, string>> = {
  requests: '1',
  errors: `CASE WHEN class = 'ok' THEN 0 ELSE 1 END`,
  usd_nano: usdNano,
  counted_tokens: ofSource(tokens, 'counted'),
  estimated_tokens: ofSource(tokens, 'estimated'),
  counted_usd_nano: ofSource(usdNano, 'counted'),
  estimated_usd_nano: ofSource(usdNano, 'estimated'),
  unpriced: `CASE WHEN ${unpricedSql} THEN 1 ELSE 0 END`,
};
const eventSums = rollupSums.map(({ name }) => `CAST(sum(${ofEvent[name] ?? name}) AS BIGINT) AS ${name}`).join(', ');

/** The same of `rollup_name`, from single requests; `keys` bounds them by their primary key. */
export function nameSql(schema: '' | 'culvert.', times: Bounds, keys: string): string {
  return `SELECT at_ms / ${dayMs} AS day, account, key_id, alias, coalesce("user", '') AS "user", coalesce(tag, '') AS tag,
    ${eventSums} FROM ${schema}usage_event
    WHERE ${keys} AND at_ms >= ${times.from} AND at_ms < ${times.to} AND usage_source <> 'refused'
    GROUP BY 1, 2, 3, 4, 5, 6`;
}

/** The same of hours, users and tags together, from single requests: `nameHourTables` add these up. */
export function nameHourSql(schema: '' | 'culvert.', times: Bounds, keys: string): string {
  return `SELECT at_ms / ${dayMs} AS day, coalesce("user", '') AS "user", coalesce(tag, '') AS tag,
    at_ms / ${hourMs} AS hour, ${eventSums} FROM ${schema}usage_event
    WHERE ${keys} AND at_ms >= ${times.from} AND at_ms < ${times.to} AND usage_source <> 'refused'
    GROUP BY 1, 2, 3, 4`;
}

/** The rows of one of `nameHourTables`, from those of `nameHourSql`. */
export function ofNameHoursSql(table: DayTable, rows: string): string {
  const keys = keysOf(table);
  return `SELECT ${keys}, ${summed} FROM ${rows} GROUP BY ${keys}`;
}

/** The columns of `nameHourSql`, as statements name them. */
export const nameHourColumns = `day, "user", tag, hour, ${sumList}`;

/** The rows of a table, from those of one day of the table that it adds up. `day` is a value or a mark. */
export function partSql(schema: '' | 'culvert.', table: PartTable, day: number | string): string {
  const keys = keysOf(table);
  const isOfHours = table.of === 'rollup';
  const named = isOfHours ? keys.replace('day', 'hour / 24 AS day') : keys;
  const within = isOfHours ? `hour >= ${day} * 24 AND hour < (${day} + 1) * 24` : `day = ${day}`;
  return `SELECT ${named}, ${summed} FROM ${schema}${table.of} WHERE ${within} GROUP BY ${keys}`;
}

/** The narrow tables, of days and of their hours, all made of other sums. */
export const allNarrowTables = [...narrowTables, ...narrowHourTables];

/** Table of one row that tells which days some tables have: the narrow ones, or `nameHourTables`. */
export type DayMarks = 'narrowed' | 'named';

/**
 * The next day to add up in such tables, of those that are in the wide ones: what follows the days they have, then what
 * is before them. The latter an older version added up, or the one of a backup. Hours of names are made of single
 * requests, and go back to the first day of which these are all there.
 */
export function nextDaySql(schema: '' | 'culvert.', marks: DayMarks): string {
  const wide = `FROM ${schema}rollup_day WHERE day < (SELECT until_ms / ${dayMs} FROM ${schema}summed)`;
  const id = schema === '' ? 'key' : 'request_id';
  const whole = `AND (day > (SELECT at_ms / ${dayMs} FROM ${schema}usage_event ORDER BY ${id} LIMIT 1)
    OR day = (SELECT min(day) FROM ${schema}rollup_day))`;
  const which = marks === 'named' ? whole : '';
  return `SELECT coalesce(
    (SELECT min(day) ${wide} AND day >= (SELECT until_day FROM ${schema}${marks})),
    (SELECT max(day) ${wide} AND day < coalesce((SELECT from_day FROM ${schema}${marks}), ${dayMax}) ${which})) AS day`;
}

/** Beyond every day. */
const dayMax = 1_000_000_000;

/** The newest day of a range that has other sums in one table than in another. */
function unequalDaySql(
  schema: '' | 'culvert.',
  [one, other]: readonly [DayTable['name'], DayTable['name']],
  days: string,
): string {
  const sums = rollupSums.map(({ name }) => name);
  const signed = (sign: '' | '-') => sums.map((name) => `${sign}${name} AS ${name}`).join(', ');
  return `SELECT max(day) AS day FROM (SELECT day FROM (
      SELECT day, ${signed('')} FROM ${schema}${one} WHERE ${days}
      UNION ALL SELECT day, ${signed('-')} FROM ${schema}${other} WHERE ${days}
    ) AS both_tables GROUP BY day HAVING ${sums.map((name) => `sum(${name}) <> 0`).join(' OR ')}) AS unequal`;
}

/** A day whose sums are not those of the wide tables: an older replica changed these alone. */
export function staleDaySql(schema: '' | 'culvert.', marks: DayMarks): string {
  const known = `FROM ${schema}${marks})`;
  return unequalDaySql(
    schema,
    ['rollup_day', marks === 'narrowed' ? 'rollup_day_model' : 'rollup_hour_tag'],
    `day >= (SELECT from_day ${known} AND day < (SELECT until_day ${known}`,
  );
}

/** Answers the day when its hours of names lack something: then some of its requests are removed. */
export function lackingHoursSql(schema: '' | 'culvert.', day: number): string {
  return unequalDaySql(schema, ['rollup_day', 'rollup_hour_tag'], `day = ${day}`);
}

/** Notes that the tables have this day. */
export function haveDaySql(schema: '' | 'culvert.', marks: DayMarks, day: number): string {
  return `INSERT INTO ${schema}${marks} AS known VALUES (1, ${day}, ${day + 1}) ON CONFLICT (one) DO UPDATE SET
    from_day = CASE WHEN excluded.from_day < known.from_day THEN excluded.from_day ELSE known.from_day END,
    until_day = CASE WHEN excluded.until_day > known.until_day THEN excluded.until_day ELSE known.until_day END`;
}

/** Notes that hours of names lack this day, unless it is before those that they have: then they begin behind it. */
export function lackDaySql(schema: '' | 'culvert.', day: number): string {
  return `UPDATE ${schema}named SET from_day = ${day + 1},
    until_day = CASE WHEN until_day < ${day + 1} THEN ${day + 1} ELSE until_day END WHERE from_day <= ${day}`;
}

/** Which days are added up, for `summedDays`: one row, once there are any. */
export function summedSql(schema: '' | 'culvert.'): string {
  return `SELECT until_ms, (SELECT min(day) FROM ${schema}rollup_day) AS first_day,
    narrowed.from_day, narrowed.until_day, named.from_day AS named_from_day, named.until_day AS named_until_day
    FROM ${schema}summed LEFT JOIN ${schema}narrowed ON true LEFT JOIN ${schema}named ON true`;
}

export function summedDays(row: Readonly<Record<string, unknown>> | undefined): SummedDays {
  const to = Math.floor(Number(row?.until_ms ?? 0) / dayMs);
  const dayOf = (day: unknown) => Math.min(to, Number(day ?? to));
  return {
    days: { from: dayOf(row?.first_day), to },
    narrow: { from: dayOf(row?.from_day), to: dayOf(row?.until_day) },
    named: { from: dayOf(row?.named_from_day), to: dayOf(row?.named_until_day) },
  };
}

/** Sums that the tables of days were made with. */
const firstSums = rollupSums.map(({ name }) => name).filter((name) => name !== 'unpriced');

/** For the migrations that made tables of days: the columns of their sums. */
export function firstSumColumns(whole: 'INTEGER' | 'BIGINT' | 'WHOLE'): string {
  return firstSums.map((name) => `${name} ${whole} NOT NULL`).join(', ');
}

/** For the migration that made them: both tables, filled with the days that are added up. */
export function nameTablesSql(schema: '' | 'culvert.', whole: 'INTEGER' | 'BIGINT', after: string): string {
  const summed = firstSums.map((name) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ');
  return tablesOfNames
    .map((table) => {
      const keys = keysOf(table);
      const columns = keys.split(', ').map((name) => `${name} ${name === 'day' ? whole : 'TEXT'} NOT NULL`);
      return `CREATE TABLE ${schema}${table.name} (${columns.join(', ')}, ${firstSumColumns(whole)}, PRIMARY KEY (${keys})) ${after};
        INSERT INTO ${schema}${table.name} (${keys}, ${firstSums.join(', ')})
          SELECT ${keys}, ${summed} FROM ${schema}rollup_name GROUP BY ${keys};`;
    })
    .join('\n');
}

function tableDdl(table: DayTable): Ddl {
  const keys = table.key.map(({ name, type }) => `"${name}" ${type === 'whole' ? 'WHOLE' : 'TEXT'} NOT NULL,`);
  const sums = rollupSums.map(({ name }) => `${name} WHOLE NOT NULL,`);
  return `CREATE TABLE @${table.name} (${[...keys, ...sums].join(' ')} PRIMARY KEY (${keysOf(table)})) KEYED;`;
}

const marksDdl = (marks: DayMarks): Ddl =>
  `CREATE TABLE @${marks} (one INTEGER PRIMARY KEY CHECK (one = 1), from_day WHOLE NOT NULL,
    until_day WHOLE NOT NULL) ROWS;`;

/** The narrow tables of days, and which days they have: at most one row, without which they have none. */
export const narrowDdl: Ddl = [...narrowTables.map(tableDdl), marksDdl('narrowed')].join('\n');

/** Tables of hours, in place of those that development versions had with another key. */
export const hourDdl: Ddl = [
  ...narrowHourTables.map(({ name }) => `DROP TABLE IF EXISTS @${name};`),
  'DELETE FROM @narrowed;',
  ...hourTables.map(tableDdl),
  marksDdl('named'),
].join('\n');

/** Requests of a day, as hours know them: two days that differ in it were not read at one moment. */
export function requestsOfDaySql(schema: '' | 'culvert.', day: number): string {
  return `SELECT CAST(coalesce(sum(requests), 0) AS BIGINT) AS requests FROM ${schema}rollup
    WHERE hour >= ${day * 24} AND hour < ${(day + 1) * 24}`;
}

/** The oldest hour that is not added up. */
export function nextHourSql(schema: '' | 'culvert.', untilMs: number): string {
  return `SELECT min(hour) AS hour FROM ${schema}rollup WHERE hour >= ${Math.floor(untilMs / hourMs)}`;
}
