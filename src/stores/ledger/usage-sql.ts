import {
  type DayTable,
  hourTables,
  nameHourTables,
  narrowHourTables,
  narrowTables,
} from '../../books/ledger/day-sums.ts';
import { dayOfHourSql, type ZoneDays } from '../../books/ledger/zone-days.ts';
import type { PartMeasure, UsageGroup, UsageQuery, UsageRow } from '../../books/metering/ledger.ts';
import { dayMs, hourMs } from '../../kernel/clock.ts';
import { usageRowsMax } from '../../kernel/limits.ts';
import { type DayRange, ofEvent, type SummedDays } from './day-sums.ts';
import { type Marks, usageConditions } from './ledger-filters.ts';

const hoursPerDay = 24;

/** Source of sums: hours, days that are over and added up, also by user and tag, or single requests. */
export type UsageSource = 'rollup' | DayTable['name'] | 'usage_event';

/** Part of the requested time: hours, days or ms, by its source. `to` is excluded. */
export interface UsagePart {
  source: UsageSource;
  from: number;
  to: number;
  /**
   * Hours within that have another day in the time zone than in UTC: the one before or the one after. Days that are added
   * up have them in UTC's. The part moves their sums from that day to the other.
   */
  moved?: { by: -1 | 1; hours: readonly number[] };
  /** A narrower table of the same time, without the names of `splitBy`: with `parts`, the sums of all come from it. */
  totals?: UsageSource;
}

/** Differences between the databases. */
export interface UsageDialect {
  /** Prefix of the tables. */
  schema: '' | 'culvert.';
  /** SQL for where the slash of `target` is. */
  slash: string;
}

/** Sources of the sums of a query, chosen to read as little as possible. */
export function usageParts(query: UsageQuery, summed: SummedDays): UsagePart[] {
  const { groupBy, splitBy, accounts, where, fromMs, toMs } = query;
  const dimensions = new Set<string>([groupBy, splitBy ?? '', ...Object.keys(where)]);
  if (accounts !== null) dimensions.add('account');
  const isByName = dimensions.has('user') || dimensions.has('tag');
  const isOfEvents = isByName || query.exact === true;
  const source = isOfEvents ? 'usage_event' : 'rollup';
  const unitMs = isOfEvents ? 1 : hourMs;
  const from = Math.floor(fromMs / unitMs);
  const to = Math.ceil(toMs / unitMs);
  const perDay = dayMs / unitMs;
  const firstDay = Math.ceil(from / perDay);
  const endDay = Math.min(Math.floor(to / perDay), summed.days.to);
  const tableOf = (tables: readonly DayTable[]) => tables.find(({ key }) => knows(key, dimensions))?.name;
  const hours = tableOf(isByName ? nameHourTables : narrowHourTables);
  /** Parts of a day. Single requests are many, so whole hours of them come from a table of hours. */
  const edge = (range: DayRange) =>
    edgeParts(source, isByName && query.exact !== true ? hours : undefined, range, summed.named);
  const counted = (all: readonly UsagePart[]) =>
    all.filter((part) => part.from < part.to).map((part) => withTotals(part, query, summed.narrow));
  // Tables of days have no hours, and those by user and tag have neither provider nor endpoint.
  const hasDayTable =
    query.exact !== true &&
    !dimensions.has('hour') &&
    !(isByName && (dimensions.has('provider') || dimensions.has('endpoint')));
  if (!hasDayTable || endDay <= firstDay) return counted(edge({ from, to }));
  const wide = wideOf(dimensions);
  const narrow = tableOf(narrowTables) ?? wide;
  const within = (day: number) => Math.min(endDay, Math.max(firstDay, day));
  const [narrowFrom, narrowTo] = [within(summed.narrow.from), within(summed.narrow.to)];
  const parts: UsagePart[] = [
    ...edge({ from, to: firstDay * perDay }),
    { source: wide, from: firstDay, to: narrowFrom },
    { source: narrow, from: narrowFrom, to: narrowTo },
    { source: wide, from: narrowTo, to: endDay },
    ...edge({ from: endDay * perDay, to }),
  ];
  if (query.days !== undefined && dimensions.has('day')) {
    const known = isByName ? summed.named : summed.narrow;
    const [hoursFrom, hoursTo] = hours === undefined ? [endDay, endDay] : [within(known.from), within(known.to)];
    parts.push(
      // Before the first day there are none.
      ...movedParts(source, query.days, { from: Math.max(firstDay, summed.days.from), to: hoursFrom }),
      ...movedParts(hours ?? source, query.days, { from: hoursFrom, to: hoursTo }),
      ...movedParts(source, query.days, { from: hoursTo, to: endDay }),
    );
  }
  return counted(parts);
}

function withTotals(part: UsagePart, query: UsageQuery, narrow: DayRange): UsagePart {
  const { groupBy, splitBy, accounts, where } = query;
  const isOfHours = isHourTable(part.source);
  const tables: readonly DayTable[] = isOfHours ? narrowHourTables : narrowTables;
  const isNarrow = isOfHours || tables.some(({ name }) => name === part.source);
  const unit = isOfHours ? hoursPerDay : 1;
  if (
    query.parts === undefined ||
    !isNarrow ||
    splitBy === 'day' ||
    part.from < narrow.from * unit ||
    part.to > narrow.to * unit
  )
    return part;
  const dimensions = new Set<string>([groupBy, ...Object.keys(where), ...(accounts === null ? [] : ['account'])]);
  const totals = tables.find(({ key }) => knows(key, dimensions))?.name;
  return totals === undefined || totals === part.source ? part : { ...part, totals };
}

/** Parts of a day, in the unit of the source. Of single requests, which are many, whole hours are taken from their table. */
function edgeParts(
  source: UsageSource,
  hours: UsageSource | undefined,
  { from, to }: DayRange,
  named: DayRange,
): UsagePart[] {
  if (hours === undefined) return [{ source, from, to }];
  const firstHour = Math.max(Math.ceil(from / hourMs), named.from * hoursPerDay);
  const endHour = Math.min(Math.floor(to / hourMs), named.to * hoursPerDay);
  if (endHour <= firstHour) return [{ source, from, to }];
  return [
    { source, from, to: firstHour * hourMs },
    { source: hours, from: firstHour, to: endHour },
    { source, from: endHour * hourMs, to },
  ];
}

/** Cuts parts of days and hours after so many days each: slices of the whole time, the oldest first. */
export function cutToDays(parts: readonly UsagePart[], days: number): UsagePart[][] {
  const dayOf = ({ source }: UsagePart, at: number) => at / (isHourTable(source) ? hoursPerDay : 1);
  const end = Math.max(...parts.map((part) => dayOf(part, part.to)));
  const slices: UsagePart[][] = [];
  let from = Math.floor(Math.min(...parts.map((part) => dayOf(part, part.from))));
  for (; from < end; from += days) {
    const slice = parts.map((part) => {
      const unit = isHourTable(part.source) ? hoursPerDay : 1;
      return { ...part, from: Math.max(part.from, from * unit), to: Math.min(part.to, (from + days) * unit) };
    });
    slices.push(slice.filter((part) => part.from < part.to));
  }
  return slices.filter((slice) => slice.length > 0);
}

function movedParts(source: UsageSource, zone: ZoneDays, { from, to }: DayRange): UsagePart[] {
  const unit = source === 'usage_event' ? dayMs : hoursPerDay;
  return ([-1, 1] as const)
    .map((by) => ({ by, hours: hoursMoved(zone, from * hoursPerDay, to * hoursPerDay, by) }))
    .filter(({ hours }) => hours.length > 0)
    .map((moved) => ({ source, from: from * unit, to: to * unit, moved }));
}

/** Columns of a dimension, where it has another name than its column. */
const dimensionColumns: Readonly<Record<string, string>> = { model: 'alias', key: 'key_id', keys: 'key_id' };

function knows(key: DayTable['key'], dimensions: ReadonlySet<string>): boolean {
  return [...dimensions].every(
    (dimension) => dimension === '' || key.some(({ name }) => name === (dimensionColumns[dimension] ?? dimension)),
  );
}

function wideOf(dimensions: ReadonlySet<string>): DayTable['name'] {
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

const sumsAs = (type: 'BIGINT' | 'DOUBLE PRECISION') =>
  usageSumNames.map((name) => `CAST(sum(${name}) AS ${type}) AS ${name}`).join(', ');
/** Each sum as a column, for a statement that adds them up again. */
export const usageSums = sumsAs('BIGINT');

/** The same where `sign` is 1, and taken away where it is -1. */
export const signedSums = usageSumNames.map((name) => `sign * ${name} AS ${name}`).join(', ');

/** Rows of a part as `name, split` and the sums, one for each row of its source. */
export function usagePartSql(
  query: UsageQuery,
  part: UsagePart,
  marks: Marks,
  { schema, slash }: UsageDialect,
  conditions: readonly string[] = [],
): string {
  const { source, moved } = part;
  const isEvents = source === 'usage_event';
  const where = [
    ...timeConditions(part, query.days, marks),
    ...conditions,
    ...usageConditions(query.accounts, query.where, marks, isEvents ? 'events' : 'rollups'),
  ];
  // Rows that move are those of UTC's days first.
  const days = moved === undefined ? query.days : undefined;
  const column = (group: UsageGroup) => columnOf(group, source, slash, days);
  const name = column(query.groupBy);
  const split = query.splitBy === null ? "''" : column(query.splitBy);
  const sums = isEvents ? eventSums : usageSumNames.join(', ');
  const rows = `SELECT ${name} AS name, ${split} AS split, ${sums} FROM ${schema}${source} WHERE ${where.join(' AND ')}`;
  return moved === undefined ? rows : movedSql(rows, query.groupBy === 'day' ? 'name' : 'split', moved.by);
}

function timeConditions({ source, from, to, moved }: UsagePart, days: ZoneDays | undefined, marks: Marks): string[] {
  const ofHours = `hour >= ${from} AND hour < ${to}`;
  if (isHourTable(source)) {
    const ofDays = `day >= ${Math.floor(from / hoursPerDay)} AND day < ${Math.ceil(to / hoursPerDay)}`;
    // In the order of the key, all hours are passed anyway.
    return [ofDays, moved === undefined ? ofHours : `${dayOfHourSql(days ?? [], 'hour')} = day + (${moved.by})`];
  }
  if (source === 'usage_event')
    return [moved === undefined ? `at_ms >= ${from} AND at_ms < ${to}` : marks.oneOf(hourOfEvent, moved.hours)];
  if (source === 'rollup') return [moved === undefined ? ofHours : marks.oneOf('hour', moved.hours)];
  return [`day >= ${from} AND day < ${to}`];
}

const hourOfEvent = `(at_ms / ${hourMs})`;

/** Adds rows to their day, which is that of the time zone, and takes them from that of UTC. */
function movedSql(rows: string, day: 'name' | 'split', by: -1 | 1): string {
  const dayOr = (column: 'name' | 'split') => (column === day ? `${column} + shift AS ${column}` : column);
  // SQLite would sum the rows once for each sign, if it chose the order.
  return `SELECT ${dayOr('name')}, ${dayOr('split')}, ${signedSums}
    FROM (SELECT name, split, ${usageSums} FROM (${rows}) AS hours GROUP BY name, split) AS moved
      CROSS JOIN (SELECT 1 AS sign, ${by} AS shift UNION ALL SELECT -1 AS sign, 0 AS shift) AS signs`;
}

/** Hours whose day in a time zone is so many days after that of UTC. */
function hoursMoved(days: ZoneDays, from: number, to: number, by: -1 | 1): number[] {
  const moved: number[] = [];
  let at = 0;
  for (let hour = from; hour < to; hour += 1) {
    while (hour >= (days[at]?.untilHour ?? Number.POSITIVE_INFINITY)) at += 1;
    const ahead = days[at]?.ahead ?? 0;
    if (Math.floor((hour + ahead) / hoursPerDay) - Math.floor(hour / hoursPerDay) === by) moved.push(hour);
  }
  return moved;
}

/** The days of a part that is made of days or their hours. */
export function daysOf({ source, from, to }: UsagePart): number[] {
  const unit = isHourTable(source) ? hoursPerDay : 1;
  const first = Math.floor(from / unit);
  return Array.from({ length: Math.ceil(to / unit) - first }, (_, at) => first + at);
}

/** The times of single requests that a part reads, in ms. */
export function timesOf({ from, to, moved }: UsagePart): { from: number; to: number }[] {
  if (moved === undefined) return [{ from, to }];
  const runs: { from: number; to: number }[] = [];
  for (const hour of moved.hours) {
    const last = runs.at(-1);
    if (last?.to === hour * hourMs) last.to += hourMs;
    else runs.push({ from: hour * hourMs, to: (hour + 1) * hourMs });
  }
  return runs;
}

/** The sums of one event, in their order. PostgreSQL adds up parts in parallel where their columns have the same types. */
const eventSums = usageSumNames.map((name) => `CAST(${ofEvent[name] ?? name} AS BIGINT) AS ${name}`).join(', ');

function isHourTable(source: UsageSource): boolean {
  return hourTables.some(({ name }) => name === source);
}

export function columnOf(group: UsageGroup, source: UsageSource, slash: string, days: ZoneDays | undefined): string {
  const isEvents = source === 'usage_event';
  switch (group) {
    case 'hour':
      return isEvents ? hourOfEvent : 'hour';
    case 'day':
      if (source === 'rollup' || isEvents || (days !== undefined && isHourTable(source)))
        return dayOfHourSql(days ?? [], isEvents ? hourOfEvent : 'hour');
      return 'day';
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

export const measureColumns: Readonly<Record<PartMeasure, string>> = {
  units: 'cost_milli',
  requests: 'requests',
  tokens: 'input_tokens + output_tokens',
  cost_usd: 'usd_nano',
  errors: 'errors',
  unpriced_requests: 'unpriced',
};

/**
 * The whole statement over rows of `name, split` and sums; the largest groups where there are too many. Of a group whose
 * hours all moved to another day nothing is left. USD of years may be more than the whole numbers that JavaScript holds.
 */
export function usageSumSql(
  rows: string,
  { rowsMax = usageRowsMax, orderBy = 'units' }: Pick<UsageQuery, 'rowsMax' | 'orderBy'>,
): string {
  return `SELECT name, split, ${sumsAs('DOUBLE PRECISION')} FROM (${rows}) AS part GROUP BY name, split
    HAVING sum(requests) <> 0 ORDER BY sum(${measureColumns[orderBy]}) DESC, name, split LIMIT ${rowsMax}`;
}

/** Rows of that statement in the port's form: times are sorted, other groups keep their order. */
export function usageRows(query: UsageQuery, rows: readonly Readonly<Record<string, unknown>>[]): UsageRow[] {
  const { groupBy, splitBy } = query;
  const usage = rows.map((row) => {
    const number = (name: (typeof usageSumNames)[number]) => Number(row[name]);
    return {
      group: shown(groupBy, row.name),
      split: splitBy === null || row.split === null ? null : shown(splitBy, row.split),
      requests: number('requests'),
      milliUnits: number('cost_milli'),
      inputTokens: number('input_tokens'),
      outputTokens: number('output_tokens'),
      costUsd: number('usd_nano') / 1e9,
      errors: number('errors'),
      countedTokens: number('counted_tokens'),
      estimatedTokens: number('estimated_tokens'),
      countedCostUsd: number('counted_usd_nano') / 1e9,
      estimatedCostUsd: number('estimated_usd_nano') / 1e9,
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
