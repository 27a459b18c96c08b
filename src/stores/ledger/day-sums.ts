import { rollupSums } from '../../books/ledger/batch-sums.ts';
import { unpricedSql } from '../../books/ledger/columns.ts';
import { type DayTable, dayTables } from '../../books/ledger/day-sums.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const sumList = rollupSums.map(({ name }) => name).join(', ');
const summed = rollupSums.map(({ name }) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ');
const keysOf = ({ key }: DayTable) => key.map(({ name }) => (name === 'user' ? '"user"' : name)).join(', ');

/** The columns of a table of days, as statements name them. */
export const columnsOfDays = (table: DayTable): string => `${keysOf(table)}, ${sumList}`;
export const [dayTable, nameTable, ...tablesOfNames] = dayTables;

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
/** Share of one event in each sum, as in `BatchSums.add`. */
const ofEvent: Readonly<Record<string, string>> = {
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

/** The rows of one of `tablesOfNames`, from those of `rollup_name` with such a day. */
export function ofNamesSql(schema: '' | 'culvert.', table: DayTable, days: string): string {
  const keys = keysOf(table);
  return `SELECT ${keys}, ${summed} FROM ${schema}rollup_name WHERE ${days} GROUP BY ${keys}`;
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

/** Requests of a day, as hours know them: two days that differ in it were not read at one moment. */
export function requestsOfDaySql(schema: '' | 'culvert.', day: number): string {
  return `SELECT CAST(coalesce(sum(requests), 0) AS BIGINT) AS requests FROM ${schema}rollup
    WHERE hour >= ${day * 24} AND hour < ${(day + 1) * 24}`;
}

/** The oldest hour that is not added up. */
export function nextHourSql(schema: '' | 'culvert.', untilMs: number): string {
  return `SELECT min(hour) AS hour FROM ${schema}rollup WHERE hour >= ${Math.floor(untilMs / hourMs)}`;
}
