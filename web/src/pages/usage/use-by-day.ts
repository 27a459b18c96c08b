import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { UsageReply } from '../../../../src/admin/usage.ts';
import { get, type Query } from '../../api/request.ts';

export type UsageRow = UsageReply['data'][number];

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Rows of one answer. */
const rowsMax = 1_000;

export interface ByDay {
  /** Beginnings of every step of the range, also of those in which nothing was used. */
  times: number[];
  stepMs: number;
  /** Usage of each step by group: null for none. The largest first. */
  parts: { group: string; rows: (UsageRow | null)[] }[];
}

/** Use over time, in days (hours for `24h`), apart by `groupBy` where that is not a time itself. */
export function useByDay(query: Query, groupBy: string, from: string, sizeOf: (row: UsageRow) => number) {
  const step = from === '24h' ? 'hour' : 'day';
  const split = groupBy === 'day' ? undefined : groupBy;
  const asked = { ...query, from, group_by: step, split_by: split, limit: rowsMax };
  const { data, error, isPlaceholderData } = useQuery({
    queryKey: ['/admin/v1/usage', asked],
    queryFn: ({ signal }) => get<UsageReply>('/admin/v1/usage', asked, signal),
    placeholderData: keepPreviousData,
  });
  return {
    byDay: data === undefined ? undefined : arranged(data.data, step, from, sizeOf),
    error,
    waiting: isPlaceholderData,
  };
}

function arranged(
  rows: readonly UsageRow[],
  step: 'hour' | 'day',
  from: string,
  sizeOf: (row: UsageRow) => number,
): ByDay {
  const stepMs = step === 'hour' ? hourMs : dayMs;
  const spanMs = Number.parseInt(from, 10) * (from.endsWith('h') ? hourMs : dayMs);
  const lastMs = Math.floor(Date.now() / stepMs) * stepMs;
  const first = Math.floor((Date.now() - spanMs) / stepMs) * stepMs;
  const times = Array.from({ length: (lastMs - first) / stepMs + 1 }, (_, at) => first + at * stepMs);
  const places = new Map(times.map((atMs, at) => [atMs, at]));
  const parts = new Map<string, { rows: (UsageRow | null)[]; size: number }>();
  for (const row of rows) {
    const at = places.get(Date.parse(row.group));
    if (at === undefined) continue;
    const group = row.split ?? '';
    const part = parts.get(group) ?? { rows: times.map(() => null), size: 0 };
    part.rows[at] = row;
    part.size += sizeOf(row);
    parts.set(group, part);
  }
  const ordered = [...parts].sort(([, a], [, b]) => b.size - a.size);
  return { times, stepMs, parts: ordered.map(([group, { rows }]) => ({ group, rows })) };
}
