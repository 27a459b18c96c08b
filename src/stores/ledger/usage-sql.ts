import { unpricedSql } from '../../books/ledger/columns.ts';
import type { DayTable } from '../../books/ledger/day-sums.ts';
import { dayOfHourSql } from '../../books/ledger/zone-days.ts';
import type { UsageGroup, UsageQuery, UsageRow } from '../../books/metering/ledger.ts';
import { usageRowsMax } from '../../kernel/limits.ts';
import { type Marks, usageConditions } from './ledger-filters.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const hoursPerDay = 24;
const nanoPerUsd = 1e9;

/** Source of sums: hours, days that are over and added up, also by user and tag, or single requests. */
export type UsageSource = 'rollup' | DayTable['name'] | 'usage_event';

/** Part of the requested time: hours, days or ms, by its source. `to` is excluded. */
export interface UsagePart {
  source: UsageSource;
  from: number;
  to: number;
}

/** Differences between the databases. */
export interface UsageDialect {
  /** Prefix of the tables. */
  schema: '' | 'culvert.';
  /** SQL for where the slash of `target` is. */
  slash: string;
}

/**
 * Sources of the sums of a query, chosen to read as little as possible. `summedMs`: all days before it are added up.
 */
export function usageParts(query: UsageQuery, summedMs: number): UsagePart[] {
  const { groupBy, splitBy, where, fromMs, toMs } = query;
  const dimensions = new Set<string>([groupBy, splitBy ?? '', ...Object.keys(where)]);
  const isByName = dimensions.has('user') || dimensions.has('tag');
  const isOfEvents = isByName || query.exact === true;
  const source = isOfEvents ? 'usage_event' : 'rollup';
  const unitMs = isOfEvents ? 1 : hourMs;
  const from = Math.floor(fromMs / unitMs);
  const to = Math.ceil(toMs / unitMs);
  const perDay = dayMs / unitMs;
  const firstDay = Math.ceil(from / perDay);
  const endDay = Math.min(Math.floor(to / perDay), Math.floor(summedMs / dayMs));
  // Days are not kept by hour or in a time zone, and by user and tag not by these.
  const isByHour = dimensions.has('hour') || (dimensions.has('day') && query.days !== undefined);
  const hasDayTable =
    query.exact !== true && !isByHour && !(isByName && (dimensions.has('provider') || dimensions.has('endpoint')));
  if (!hasDayTable || endDay <= firstDay) return [{ source, from, to }];
  const parts: UsagePart[] = [
    { source, from, to: firstDay * perDay },
    { source: daysOf(dimensions), from: firstDay, to: endDay },
    { source, from: endDay * perDay, to },
  ];
  return parts.filter((part) => part.from < part.to);
}

function daysOf(dimensions: ReadonlySet<string>): DayTable['name'] {
  if (dimensions.has('user')) return dimensions.has('tag') ? 'rollup_name' : 'rollup_user';
  return dimensions.has('tag') ? 'rollup_tag' : 'rollup_day';
}

export const usageSumNames = [
  'requests',
  'errors',
  'cost_milli',
  'input_tokens',
  'output_tokens',
  'usd_nano',
  'counted_tokens',
  'estimated_tokens',
  'counted_usd_nano',
  'estimated_usd_nano',
  'unpriced',
] as const;

/** Each sum as a column, for a statement that adds them up again. */
export const usageSums = usageSumNames.map((name) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ');

/** Rows of a part as `name, split` and the sums, one for each row of its source. */
export function usagePartSql(
  query: UsageQuery,
  part: UsagePart,
  marks: Marks,
  { schema, slash }: UsageDialect,
  conditions: readonly string[] = [],
): string {
  const { source, from, to } = part;
  const isEvents = source === 'usage_event';
  const time = isEvents ? 'at_ms' : source === 'rollup' ? 'hour' : 'day';
  const where = [
    `${time} >= ${from} AND ${time} < ${to}`,
    ...conditions,
    ...usageConditions(query.accounts, query.where, marks, isEvents ? 'events' : 'rollups'),
  ];
  const column = (group: UsageGroup) => columnOf(query, group, source, slash);
  const name = column(query.groupBy);
  const split = query.splitBy === null ? "''" : column(query.splitBy);
  const sums = isEvents ? eventSums : usageSumNames.join(', ');
  return `SELECT ${name} AS name, ${split} AS split, ${sums} FROM ${schema}${source} WHERE ${where.join(' AND ')}`;
}

const tokens = 'input_tokens + output_tokens';
const usdNano = `CAST(round(coalesce(cost_usd, 0) * ${nanoPerUsd}) AS BIGINT)`;
const ofSource = (amount: string, source: 'counted' | 'estimated') =>
  `CASE WHEN usage_source = '${source}' THEN ${amount} ELSE 0 END AS ${source}_${amount === tokens ? 'tokens' : 'usd_nano'}`;
/** The sums of one event, in their order. */
const eventSums = [
  '1 AS requests',
  `CASE WHEN class = 'ok' THEN 0 ELSE 1 END AS errors`,
  'cost_milli',
  'input_tokens',
  'output_tokens',
  `${usdNano} AS usd_nano`,
  ofSource(tokens, 'counted'),
  ofSource(tokens, 'estimated'),
  ofSource(usdNano, 'counted'),
  ofSource(usdNano, 'estimated'),
  `CASE WHEN ${unpricedSql} THEN 1 ELSE 0 END AS unpriced`,
].join(', ');

function columnOf({ days }: UsageQuery, group: UsageGroup, source: UsageSource, slash: string): string {
  const isEvents = source === 'usage_event';
  switch (group) {
    case 'hour':
      return isEvents ? `at_ms / ${hourMs}` : 'hour';
    case 'day':
      if (days !== undefined) return dayOfHourSql(days, isEvents ? `(at_ms / ${hourMs})` : 'hour');
      return isEvents ? `at_ms / ${dayMs}` : source === 'rollup' ? `hour / ${hoursPerDay}` : 'day';
    case 'model':
      return 'alias';
    case 'key':
      return 'key_id';
    case 'provider':
      return isEvents ? `coalesce(substr(target, 1, ${slash} - 1), '')` : 'provider';
    case 'user':
      return isEvents ? `coalesce("user", '')` : '"user"';
    case 'tag':
      return isEvents ? `coalesce(tag, '')` : 'tag';
    default:
      return group;
  }
}

/** The whole statement over rows of `name, split` and sums; the largest groups where there are too many. */
export function usageSumSql(rows: string): string {
  return `SELECT name, split, ${usageSums} FROM (${rows}) AS part GROUP BY name, split
    ORDER BY sum(cost_milli) DESC, name, split LIMIT ${usageRowsMax}`;
}

/** Rows of that statement in the port's form: times are sorted, other groups keep their order. */
export function usageRows(query: UsageQuery, rows: readonly Readonly<Record<string, unknown>>[]): UsageRow[] {
  const { groupBy, splitBy } = query;
  const usage = rows.map((row) => {
    const number = (name: (typeof usageSumNames)[number]) => Number(row[name]);
    return {
      group: shown(groupBy, row.name),
      split: splitBy === null ? null : shown(splitBy, row.split),
      requests: number('requests'),
      milliUnits: number('cost_milli'),
      inputTokens: number('input_tokens'),
      outputTokens: number('output_tokens'),
      costUsd: number('usd_nano') / nanoPerUsd,
      errors: number('errors'),
      countedTokens: number('counted_tokens'),
      estimatedTokens: number('estimated_tokens'),
      countedCostUsd: number('counted_usd_nano') / nanoPerUsd,
      estimatedCostUsd: number('estimated_usd_nano') / nanoPerUsd,
      unpriced: number('unpriced'),
    };
  });
  if (groupBy !== 'day' && groupBy !== 'hour') return usage;
  // Sorting keeps the order of those within one.
  return usage.toSorted((a, b) => (a.group < b.group ? -1 : a.group > b.group ? 1 : 0));
}

function shown(group: UsageGroup, name: unknown): string {
  if (group === 'day') return new Date(Number(name) * dayMs).toISOString().slice(0, 10);
  if (group === 'hour') return `${new Date(Number(name) * hourMs).toISOString().slice(0, 16)}Z`;
  return String(name);
}
