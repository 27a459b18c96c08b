import { useQueryClient } from '@tanstack/react-query';
import type { UsageReply } from '../../../../src/admin/usage/usage.ts';
import { usageRowsMax } from '../../../../src/kernel/limits.ts';
import { type Listed, type Pages, pageSize, usePagesOf } from '../../api/pages.ts';
import { get, type Query } from '../../api/request.ts';
import { count } from '../../parts/format.ts';
import type { UsageRow } from './measures.ts';

export const usagePath = '/admin/v1/usage';
/** Rows of one answer, and days of one page. */
export const rowsMax = 1_000;

/** Sums of usage by group, a page at a time: the newest day first, other groups in the order of the API. */
export function useUsage(query: Query, groupBy: string): Pages<UsageRow> {
  const client = useQueryClient();
  const ask = async (cursor: string | undefined, signal: AbortSignal): Promise<Listed<UsageRow>> => {
    if (groupBy !== 'day') {
      const reply = await get<UsageReply>(usagePath, { limit: pageSize, ...query, cursor }, signal);
      return { ...reply, missing: missingIn(reply) };
    }
    // The API begins with the oldest day: only who has all of them knows the newest.
    const whole = await client.fetchQuery({
      queryKey: [usagePath, query, 'whole'],
      queryFn: ({ signal }) => allRows({ ...query, limit: rowsMax }, signal),
    });
    const newestFirst = whole.data.toSorted((a, b) => (a.group === b.group ? 0 : a.group < b.group ? 1 : -1));
    const from = Number(cursor ?? 0);
    const to = from + rowsMax;
    return {
      data: newestFirst.slice(from, to),
      next_cursor: to < newestFirst.length ? String(to) : null,
      missing: missingIn(whole),
    };
  };
  return usePagesOf([usagePath, query], ask, { inUrl: true });
}

function missingIn({ truncated }: UsageReply): string | undefined {
  if (truncated === undefined) return undefined;
  return `The ${count(usageRowsMax)} largest rows are shown; there are more. Choose a shorter range, or save all as CSV.`;
}

/** A year has more rows than one answer. */
export async function allRows(query: Query, signal: AbortSignal): Promise<UsageReply> {
  const reply = await get<UsageReply>(usagePath, query, signal);
  const data = [...reply.data];
  for (let cursor = reply.next_cursor; cursor !== null; ) {
    const page = await get<UsageReply>(usagePath, { ...query, cursor }, signal);
    data.push(...page.data);
    cursor = page.next_cursor;
  }
  return { ...reply, data };
}
