import type { RequestFilter, UsageFilter } from '../../books/metering/ledger.ts';

/** How a driver writes a value into a statement: each call keeps it and gives its mark. */
export interface Marks {
  of(value: string | number): string;
  /** `column` is one of these. */
  oneOf(column: string, values: readonly string[]): string;
}

/**
 * Conditions on `usage_event`, for both databases. Filters compare whole values, so no text of a caller is a pattern.
 * Refused requests are listed only with a status or a class; all others together are what the sums cover.
 */
export function requestConditions(accounts: readonly string[] | null, filter: RequestFilter, marks: Marks): string[] {
  const { key, alias, provider, endpoint, status, class: class_, stream, costUsdMin, unitsMin } = filter;
  const all: string[] = [];
  if (accounts !== null) all.push(marks.oneOf('account', accounts));
  if (key !== undefined) all.push(`key_id = ${marks.of(key)}`);
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
  if (filter.tag !== undefined) all.push(`tag = ${marks.of(filter.tag)}`);
  if (costUsdMin !== undefined) all.push(`cost_usd >= ${marks.of(costUsdMin)}`);
  if (unitsMin !== undefined) all.push(`cost_milli >= ${marks.of(Math.ceil(unitsMin * 1_000))}`);
  if (status !== undefined && status < 10) all.push(`status BETWEEN ${status * 100} AND ${status * 100 + 99}`);
  else if (status !== undefined) all.push(`status = ${marks.of(status)}`);
  if (class_ !== undefined) all.push(class_ === 'failed' ? `class <> 'ok'` : `class = ${marks.of(class_)}`);
  if (status === undefined && (class_ === undefined || class_ === 'ok')) all.push(`usage_source <> 'refused'`);
  return all;
}

/** Conditions on roll-ups, whose columns are named so in each of them, and on events (`of: 'events'`). */
export function usageConditions(
  accounts: readonly string[] | null,
  { key, alias, provider, endpoint, user, tag }: UsageFilter,
  marks: Marks,
  of: 'rollups' | 'events',
): string[] {
  if (of === 'events') {
    const filter = { key, alias, provider, endpoint, user, tag };
    const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
    return requestConditions(accounts, given as RequestFilter, marks);
  }
  const all: string[] = [];
  if (accounts !== null) all.push(marks.oneOf('account', accounts));
  const equal = { key_id: key, alias, provider, endpoint, '"user"': user, tag };
  for (const [column, value] of Object.entries(equal))
    if (value !== undefined) all.push(`${column} = ${marks.of(value)}`);
  return all;
}

/**
 * Conditions on `rollup` that hold in every hour with a matching request; null when roll-ups cannot tell, as for
 * refused requests, or when no condition is one that they know.
 */
export function hourConditions(
  accounts: readonly string[] | null,
  { status, class: class_, key, alias, provider, endpoint }: RequestFilter,
  marks: Marks,
): string[] | null {
  if (status !== undefined || (class_ !== undefined && class_ !== 'ok')) return null;
  const filter: UsageFilter = {};
  if (key !== undefined) filter.key = key;
  if (alias !== undefined) filter.alias = alias;
  if (provider !== undefined) filter.provider = provider;
  if (endpoint !== undefined) filter.endpoint = endpoint;
  const conditions = usageConditions(accounts, filter, marks, 'rollups');
  return conditions.length === 0 ? null : conditions;
}
