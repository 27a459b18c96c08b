import type { RequestFilter, RequestQuery, UsageFilter } from '../../books/metering/ledger.ts';
import { hourMs } from '../../kernel/clock.ts';
import type { SqlWords } from '../sql-tables.ts';

/** Writes a value into a statement: each call keeps it and gives its mark. */
export interface Marks {
  of(value: string | number): string;
  /** `column` is one of these. */
  oneOf(column: string, values: readonly (string | number)[]): string;
}

/** Marks of one statement, and the values that belong to them, in their order. */
export function marksIn({ oneOf }: Pick<SqlWords, 'oneOf'>): { marks: Marks; values: unknown[] } {
  const values: unknown[] = [];
  const of = (value: unknown) => `$${values.push(value)}`;
  return { marks: { of, oneOf: (column, all) => oneOf(column, of(all)) }, values };
}

/** A filter whose members may also be undefined. */
type Some<Filter> = { readonly [Name in keyof Filter]?: Filter[Name] | undefined };

/**
 * Conditions on `usage_event`, for both databases. Filters compare whole values, so no text of a caller is a pattern.
 * Refused requests are listed only with a status or a class; all others together are what the sums cover.
 */
export function requestConditions(
  accounts: readonly string[] | null,
  filter: Some<RequestFilter>,
  marks: Marks,
): string[] {
  const { key, alias, provider, endpoint, status, class: class_, stream, costUsdMin, unitsMin } = filter;
  const all: string[] = [];
  if (accounts !== null) all.push(marks.oneOf('account', accounts));
  if (key !== undefined) all.push(`key_id = ${marks.of(key)}`);
  if (filter.keys !== undefined) all.push(marks.oneOf('key_id', filter.keys));
  if (alias !== undefined) all.push(`alias = ${marks.of(alias)}`);
  if (filter.mcpServer !== undefined) {
    const { name, prefix } = filter.mcpServer;
    all.push(`(alias = ${marks.of(name)} OR substr(alias, 1, ${[...prefix].length}) = ${marks.of(prefix)})`);
  }
  if (provider !== undefined) {
    const prefix = `${provider}/`;
    all.push(`substr(target, 1, ${[...prefix].length}) = ${marks.of(prefix)}`);
  }
  if (endpoint !== undefined) all.push(`endpoint = ${marks.of(endpoint)}`);
  if (stream !== undefined) all.push(`stream = ${stream ? 1 : 0}`);
  if (filter.user !== undefined) all.push(`"user" = ${marks.of(filter.user)}`);
  if (filter.session === 'any') all.push('session IS NOT NULL');
  else if (filter.session !== undefined) all.push(`session = ${marks.of(filter.session.name)}`);
  if (filter.tag !== undefined) all.push(`tag = ${marks.of(filter.tag)}`);
  if (costUsdMin !== undefined) all.push(`cost_usd >= ${marks.of(costUsdMin)}`);
  if (unitsMin !== undefined) all.push(`cost_milli >= ${marks.of(milliAtLeast(unitsMin))}`);
  if (status !== undefined && status < 10) all.push(`status BETWEEN ${status * 100} AND ${status * 100 + 99}`);
  else if (status !== undefined) all.push(`status = ${marks.of(status)}`);
  if (class_ === 'failed') all.push(`class <> 'ok'`);
  else if (class_ !== undefined && class_ !== 'any') all.push(`class = ${marks.of(class_)}`);
  if (status === undefined && (class_ === undefined || class_ === 'ok')) all.push(`usage_source <> 'refused'`);
  return all;
}

/** Conditions on roll-ups, whose columns are named so in each of them, and on events (`of: 'events'`). */
export function usageConditions(
  accounts: readonly string[] | null,
  { key, keys, alias, provider, endpoint, user, tag }: Some<UsageFilter>,
  marks: Marks,
  of: 'rollups' | 'events',
): string[] {
  if (of === 'events') return requestConditions(accounts, { key, keys, alias, provider, endpoint, user, tag }, marks);
  const all: string[] = [];
  if (accounts !== null) all.push(marks.oneOf('account', accounts));
  if (keys !== undefined) all.push(marks.oneOf('key_id', keys));
  const equal = { key_id: key, alias, provider, endpoint, '"user"': user, tag };
  for (const [column, value] of Object.entries(equal))
    if (value !== undefined) all.push(`${column} = ${marks.of(value)}`);
  return all;
}

/** SQL of the column of sessions, and of the indexes by which lists find them: few requests name one. */
export function sessionColumn(schema: '' | 'culvert.', key: 'key' | 'request_id'): string {
  const of = `ON ${schema}usage_event`;
  return `ALTER TABLE ${schema}usage_event ADD COLUMN session TEXT;
    CREATE INDEX usage_event_session ${of} (session, ${key}) WHERE session IS NOT NULL;
    CREATE INDEX usage_event_sessions ${of} (${key}) WHERE session IS NOT NULL;`;
}

/** SQL of the index by which lists find refused requests, of which there are few. */
export function refusedIndex(schema: '' | 'culvert.'): string {
  return `CREATE INDEX usage_event_refused ON ${schema}usage_event (at_ms) WHERE usage_source = 'refused'`;
}

/**
 * Conditions on `rollup` that hold in every hour with a matching request that ran; null when roll-ups cannot tell, or
 * when no condition is one that they know. Refused requests are in none of them (`refusedSql`).
 */
function hourConditions(
  accounts: readonly string[] | null,
  { status, class: class_, key, keys, alias, provider, endpoint }: RequestFilter,
  marks: Marks,
): string[] | null {
  if (status !== undefined || (class_ !== undefined && class_ !== 'ok' && class_ !== 'any')) return null;
  const conditions = usageConditions(accounts, { key, keys, alias, provider, endpoint }, marks, 'rollups');
  return conditions.length === 0 ? null : conditions;
}

/** Beyond every hour that a request may have come in. */
export const hourMax = 1_000_000_000;

/**
 * SQL for the newest hour up to another one, the last of the marks, in which a request may pass the filter; null when
 * roll-ups cannot tell.
 */
export function newestHourSql(
  schema: '' | 'culvert.',
  { accounts, where }: Pick<RequestQuery, 'accounts' | 'where'>,
  marks: Marks,
): string | null {
  const ran = hourConditions(accounts, where, marks);
  if (ran === null) return null;
  const refused = where.class === 'any' ? requestConditions(accounts, where, marks) : null;
  const hour = marks.of(0);
  const newest = `SELECT hour FROM ${schema}rollup WHERE ${ran.join(' AND ')} AND hour <= ${hour} ORDER BY hour DESC LIMIT 1`;
  if (refused === null) return newest;
  const before = [`usage_source = 'refused'`, `at_ms < (${hour} + 1) * ${hourMs}`];
  return `SELECT max(hour) AS hour FROM (SELECT * FROM (${newest}) AS ran UNION ALL SELECT * FROM (
    SELECT at_ms / ${hourMs} AS hour FROM ${schema}usage_event
    WHERE ${[...refused, ...before].join(' AND ')} ORDER BY at_ms DESC LIMIT 1) AS refused) AS newest`;
}

/** Thousandths of a unit, as whole as the column: no request costs more than the largest. */
function milliAtLeast(units: number): number {
  // 16.1 * 1000 is 16100.000000000002.
  return Math.min(Math.ceil(units * 1_000 - 1e-6), Number.MAX_SAFE_INTEGER);
}
