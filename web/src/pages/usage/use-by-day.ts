import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Query } from '../../api/request.ts';
import { beginnings, localText } from '../../parts/ranges/range.ts';
import type { Ranged } from '../../parts/ranges/use-range.ts';
import { type Measure, measures, type UsageRow } from './measures.ts';
import { allRows, rowsMax, usagePath } from './use-usage.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Longer ranges are drawn in days. */
const byHourMaxMs = 50 * hourMs;

/** Parts that a chart draws apart. */
export const partsMax = 5;

export interface ByDay {
  /** Beginnings of every step of the range, also of those in which nothing was used. */
  times: number[];
  stepMs: number;
  /** Usage of each step by group: null for none. The largest first, at most `partsMax`. */
  parts: Part[];
  /** All other groups, together; null where there are no more. */
  others: { count: number; rows: (UsageRow | null)[] } | null;
}

interface Part {
  group: string;
  name: string;
  rows: (UsageRow | null)[];
}

type Step = 'hour' | 'day';

export function stepOf(range: Ranged): Step {
  const { fromMs, toMs } = boundsOf(range);
  return toMs - fromMs <= byHourMaxMs ? 'hour' : 'day';
}

/**
 * Use over time, in days of the range's zone (hours of a short range), apart by `groupBy` unless that is a time: the
 * groups that have most of `measure`.
 */
export function useByDay(query: Query, groupBy: string, range: Ranged, measure: Measure) {
  const step = stepOf(range);
  const split = groupBy === 'day' ? undefined : groupBy;
  const usageQuery = {
    ...query,
    ...range.query,
    group_by: step,
    split_by: split,
    ...(split !== undefined && { parts: partsMax, parts_by: measure }),
    time_zone: range.zone,
    limit: rowsMax,
  };
  const { data, error, isPlaceholderData } = useQuery({
    queryKey: [usagePath, usageQuery],
    queryFn: ({ signal }) => allRows(usageQuery, signal),
    placeholderData: keepPreviousData,
  });
  return {
    byDay:
      data === undefined
        ? undefined
        : arranged(data.data, data.group_by === 'hour' ? 'hour' : 'day', range, measures[measure].of),
    error,
    waiting: isPlaceholderData,
  };
}

function boundsOf(range: Ranged) {
  return range.bounds() ?? { fromMs: Date.now() - 30 * dayMs, toMs: Date.now() };
}

function arranged(rows: readonly UsageRow[], step: Step, range: Ranged, sizeOf: (row: UsageRow) => number): ByDay {
  const bounds = boundsOf(range);
  const times = step === 'hour' ? hoursOf(bounds) : beginnings('day', bounds, range.zone);
  const nameOf = (atMs: number) =>
    step === 'hour' ? `${new Date(atMs).toISOString().slice(0, 16)}Z` : localText(atMs, range.zone).slice(0, 10);
  const places = new Map(times.map((atMs, at) => [nameOf(atMs), at]));
  const parts = new Map<string, { name: string; rows: (UsageRow | null)[]; size: number }>();
  let others: ByDay['others'] = null;
  for (const row of rows) {
    const at = places.get(row.group);
    if (at === undefined) continue;
    if (row.other_parts !== undefined) {
      others ??= { count: row.other_parts, rows: times.map(() => null) };
      others.rows[at] = row;
      continue;
    }
    const group = row.split ?? '';
    const part = parts.get(group) ?? { name: row.split_name ?? group, rows: times.map(() => null), size: 0 };
    part.rows[at] = row;
    part.size += sizeOf(row);
    parts.set(group, part);
  }
  const ordered = [...parts].sort(([, a], [, b]) => b.size - a.size);
  return {
    times,
    stepMs: step === 'hour' ? hourMs : dayMs,
    parts: ordered.map(([group, { name, rows }]) => ({ group, name, rows })),
    others,
  };
}

function hoursOf({ fromMs, toMs }: { fromMs: number; toMs: number }): number[] {
  const first = Math.floor(fromMs / hourMs);
  return Array.from({ length: Math.ceil(toMs / hourMs) - first }, (_, at) => (first + at) * hourMs);
}
