import { keepPreviousData, type QueryKey, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { pagesName, useFilters } from '../parts/filters.ts';
import { get, type Query } from './request.ts';

/** A list's answer, as every list of `/admin/v1` gives it. */
export interface Listed<Row, Cursor = string> {
  data: Row[];
  next_cursor: Cursor | null;
  /** Says what is missing in it, and why. */
  missing?: string | undefined;
}

export interface Pages<Row> {
  rows: Row[] | undefined;
  error: Error | null;
  /** Says what is missing in the rows, and why. */
  missing: string | undefined;
  /** The shown data still belong to the earlier page or filter. */
  waiting: boolean;
  refetch: () => void;
  /** From 1. */
  page: number;
  next: (() => void) | null;
  /** To the page after a first one that others have kept up to date: where that begins now is read first. */
  nextAnew: () => void;
  previous: (() => void) | null;
  /** Rows of all pages, from the first one on: whole pages, until there are at least so many. */
  all: (most: number) => Promise<{ rows: Row[]; more: boolean }>;
}

export const pageSize = 50;
/** Longest text that a list searches for. */
export const textMax = 256;

/** One page of a list of `/admin/v1` at a time, by the server's cursors. Begins again when `query` changes. */
export function usePages<Row>(
  path: string,
  query: Query = {},
  {
    limit = pageSize,
    everyMs = false,
    inUrl = false,
  }: { limit?: number; everyMs?: number | false; inUrl?: boolean } = {},
): Pages<Row> {
  const ask: Asking<Row, string> = (cursor, signal) => get<Listed<Row>>(path, { limit, ...query, cursor }, signal);
  return usePagesOf([path, query], ask, { everyMs: () => everyMs, inUrl });
}

type Asking<Row, Cursor> = (cursor: Cursor | undefined, signal: AbortSignal) => Promise<Listed<Row, Cursor>>;

interface PageQuery<Row> {
  everyMs?: (rows: readonly Row[] | undefined) => number | false;
  /** A page is requested again when this changes, and stays meanwhile. */
  revisionOf?: (page: number) => unknown;
  /** The URL keeps the page, so that Back returns to it: for one list of a page, whose cursors are texts. */
  inUrl?: boolean;
}

/** Pages that a URL remembers; a reader who went further begins again from there. */
const pagesInUrlMax = 40;

/** The cursors of the pages up to this one, in the URL or only here, and the number of earlier ones that the URL left out. */
function usePlace<Cursor extends string | number>(queryKey: string, inUrl: boolean) {
  const [filters, setFilters] = useFilters<typeof pagesName>();
  const [place, setPlace] = useState<{ queryKey: string; cursors: Cursor[] }>({ queryKey, cursors: [] });
  if (!inUrl) {
    const go = (cursors: Cursor[]) => setPlace({ queryKey, cursors });
    return [place.queryKey === queryKey ? place.cursors : [], go, 0] as const;
  }
  const texts = (filters[pagesName] ?? '').split(' ').filter((cursor) => cursor !== '');
  const leftOut = Number(/^~(\d+)$/.exec(texts[0] ?? '')?.[1] ?? 0);
  const go = (next: Cursor[]) => {
    const more = leftOut + Math.max(0, next.length - pagesInUrlMax);
    const last = next.slice(-pagesInUrlMax);
    setFilters({ [pagesName]: (more === 0 || last.length === 0 ? last : [`~${more}`, ...last]).join(' ') });
  };
  return [texts.slice(leftOut === 0 ? 0 : 1) as Cursor[], go, leftOut] as const;
}

/** The same for any other list. Begins again when `key` changes. */
export function usePagesOf<Row, Cursor extends string | number>(
  key: QueryKey,
  ask: Asking<Row, Cursor>,
  { everyMs = () => false, revisionOf, inUrl = false }: PageQuery<Row> = {},
): Pages<Row> {
  const queryKey = JSON.stringify(key);
  const [cursors, setCursors, leftOut] = usePlace<Cursor>(queryKey, inUrl);
  const cursor = cursors.at(-1);
  const page = leftOut + cursors.length + 1;
  const { data, error, isPlaceholderData, refetch } = useQuery({
    queryKey: [...key, cursor ?? null, revisionOf?.(page) ?? null],
    queryFn: ({ signal }) => ask(cursor, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => everyMs(state.data?.data),
  });
  const next = data?.next_cursor ?? null;
  const nextAnew = async () => {
    const { data: now } = await refetch();
    if (now?.next_cursor != null) setCursors([...cursors, now.next_cursor]);
  };
  const all = async (most: number) => {
    const rows: Row[] = [];
    let place: Cursor | undefined;
    do {
      const page: Listed<Row, Cursor> = await ask(place, new AbortController().signal);
      rows.push(...page.data);
      place = page.next_cursor ?? undefined;
    } while (place !== undefined && rows.length < most);
    return { rows: rows.slice(0, most), more: place !== undefined || rows.length > most };
  };
  return {
    all,
    rows: data?.data,
    error,
    missing: data?.missing,
    waiting: isPlaceholderData && revisionOf === undefined,
    refetch: () => void refetch(),
    page,
    next: next === null || isPlaceholderData ? null : () => setCursors([...cursors, next]),
    nextAnew: () => void nextAnew(),
    previous: cursors.length === 0 ? null : () => setCursors(cursors.slice(0, -1)),
  };
}
