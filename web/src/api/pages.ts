import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get, type Query } from './request.ts';

/** A list's answer, as every list of `/admin/v1` gives it. */
export interface Listed<Row> {
  data: Row[];
  next_cursor: string | null;
}

export interface Pages<Row> {
  rows: Row[] | undefined;
  error: Error | null;
  /** What is shown is still the page, or the filter, before. */
  waiting: boolean;
  refetch: () => void;
  /** From 1. */
  page: number;
  next: (() => void) | null;
  previous: (() => void) | null;
}

export const pageSize = 50;

/** One page of a list at a time, by the server's cursors. Begins again when `query` changes. */
export function usePages<Row>(
  path: string,
  query: Query = {},
  options: { limit?: number; everyMs?: number } = {},
): Pages<Row> {
  const asked = JSON.stringify(query);
  const [place, setPlace] = useState<{ asked: string; cursors: string[] }>({ asked, cursors: [] });
  const cursors = place.asked === asked ? place.cursors : [];
  const cursor = cursors.at(-1);
  const { data, error, isPlaceholderData, refetch } = useQuery({
    queryKey: [path, query, cursor ?? null],
    queryFn: ({ signal }) => get<Listed<Row>>(path, { limit: options.limit ?? pageSize, ...query, cursor }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: options.everyMs ?? false,
  });
  const next = data?.next_cursor ?? null;
  return {
    rows: data?.data,
    error,
    waiting: isPlaceholderData,
    refetch: () => void refetch(),
    page: cursors.length + 1,
    next: next === null || isPlaceholderData ? null : () => setPlace({ asked, cursors: [...cursors, next] }),
    previous: cursors.length === 0 ? null : () => setPlace({ asked, cursors: cursors.slice(0, -1) }),
  };
}
