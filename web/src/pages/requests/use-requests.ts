import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { RequestListReply } from '../../../../src/admin/request-schema.ts';
import { pageSize } from '../../api/pages.ts';
import { get, type Query } from '../../api/request.ts';

export type RequestRow = RequestListReply['data'][number];

/** Interval between requests for newly ended ones. */
const everyMs = 2_000;

/**
 * The newest requests of a filter. Those that are `live` are kept up to date, and only newly ended ones come over the
 * wire; those that are `paused` stay as they are.
 */
export function useTail(query: Query, state: 'live' | 'paused' | 'off') {
  const live = state === 'live';
  const client = useQueryClient();
  const queryKey = ['/admin/v1/requests', query, null];
  const found = useQuery({
    queryKey,
    queryFn: ({ signal }) => get<RequestListReply>('/admin/v1/requests', { limit: pageSize, ...query }, signal),
    placeholderData: keepPreviousData,
    enabled: state !== 'off',
    ...(state === 'paused' && { staleTime: Number.POSITIVE_INFINITY }),
  });
  const key = JSON.stringify(queryKey);
  const ready = found.data !== undefined && !found.isPlaceholderData;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` means the query.
  useEffect(() => {
    if (!live || !ready) return;
    const aborting = new AbortController();
    const timer = setInterval(async () => {
      const before = client.getQueryData<RequestListReply>(queryKey);
      if (before === undefined || document.hidden) return;
      const { signal } = aborting;
      const listQuery = { limit: pageSize, ...query, ...(before.tail !== null && { after: before.tail }) };
      const since = await get<RequestListReply>('/admin/v1/requests', listQuery, signal).catch(() => null);
      if (since !== null && !signal.aborted) client.setQueryData(queryKey, merged(before, since));
    }, everyMs);
    return () => {
      aborting.abort();
      clearInterval(timer);
    };
  }, [client, key, live, ready]);
  return found;
}

/** Newest first, each once, no more than a page. */
function merged(before: RequestListReply, since: RequestListReply): RequestListReply {
  if (since.data.length === 0) return before;
  const rows = new Map([...before.data, ...since.data].map((row) => [row.id, row]));
  const data = [...rows.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, pageSize);
  return { data, next_cursor: before.next_cursor, tail: since.tail };
}
