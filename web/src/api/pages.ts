import { keepPreviousData, type QueryKey, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get, type Query } from './request.ts';

/** A list's answer, as every list of `/admin/v1` gives it. */
export interface Listed<Row, Cursor = string> {
  data: Row[];
  next_cursor: Cursor | null;
}

export interface Pages<Row> {
  rows: Row[] | undefined;
  error: Error | null;
  /** The shown data still belong to the earlier page or filter. */
  waiting: boolean;
  refetch: () => void;
  /** From 1. */
  page: number;
  next: (() => void) | null;
  previous: (() => void) | null;
}

export const pageSize = 50;

/** One page of a list of `/admin/v1` at a time, by the server's cursors. Begins again when `query` changes. */
export function usePages<Row>(
  path: string,
  query: Query = {},
  { limit = pageSize, everyMs = false }: { limit?: number; everyMs?: number | false } = {},
): Pages<Row> {
  const ask: Asking<Row, string> = (cursor, signal) => get<Listed<Row>>(path, { limit, ...query, cursor }, signal);
  return usePagesOf([path, query], ask, { everyMs: () => everyMs });
}

type Asking<Row, Cursor> = (cursor: Cursor | undefined, signal: AbortSignal) => Promise<Listed<Row, Cursor>>;

interface Asked<Row> {
  everyMs?: (rows: readonly Row[] | undefined) => number | false;
  /** A page is requested again when this changes, and stays meanwhile. */
  revisionOf?: (page: number) => unknown;
}

/** The same for any other list. Begins again when `key` changes. */
export function usePagesOf<Row, Cursor extends string | number>(
  key: QueryKey,
  ask: Asking<Row, Cursor>,
  { everyMs = () => false, revisionOf }: Asked<Row> = {},
): Pages<Row> {
  const asked = JSON.stringify(key);
  const [place, setPlace] = useState<{ asked: string; cursors: Cursor[] }>({ asked, cursors: [] });
  const cursors = place.asked === asked ? place.cursors : [];
  const cursor = cursors.at(-1);
  const page = cursors.length + 1;
  const { data, error, isPlaceholderData, refetch } = useQuery({
    queryKey: [...key, cursor ?? null, revisionOf?.(page) ?? null],
    queryFn: ({ signal }) => ask(cursor, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => everyMs(state.data?.data),
  });
  const next = data?.next_cursor ?? null;
  return {
    rows: data?.data,
    error,
    waiting: isPlaceholderData && revisionOf === undefined,
    refetch: () => void refetch(),
    page,
    next: next === null || isPlaceholderData ? null : () => setPlace({ asked, cursors: [...cursors, next] }),
    previous: cursors.length === 0 ? null : () => setPlace({ asked, cursors: cursors.slice(0, -1) }),
  };
}
