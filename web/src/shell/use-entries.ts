import { useQueries, useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { speaksAs } from '../api/caller.ts';
import { type Listed, textMax } from '../api/pages.ts';
import { get } from '../api/request.ts';
import { type Area, whyNot } from '../api/rights.ts';
import type { Session } from '../api/session.ts';
import { prefixOf } from '../parts/key-prefix.ts';
import { useRested } from '../parts/use-rested.ts';

/** An entry of a list, which has a page. */
export interface FoundEntry {
  kind: string;
  name: string;
  /** Facts that tell it apart from others of the name. */
  more: string;
  to: string;
}

interface Kind {
  kind: string;
  area: Area;
  /** Below `/admin/v1` and `/dashboard`. */
  path: string;
  /** The list may be long, and its server searches. Others are read whole. */
  search?: true;
}

const kinds: readonly Kind[] = [
  { kind: 'Account', area: 'accounts', path: 'accounts', search: true },
  { kind: 'Key', area: 'keys', path: 'keys', search: true },
  { kind: 'Model', area: 'models', path: 'models', search: true },
  { kind: 'Provider', area: 'providers', path: 'providers' },
  { kind: 'Plan', area: 'plans', path: 'plans' },
  { kind: 'Guard', area: 'models', path: 'guards' },
  { kind: 'Rule', area: 'models', path: 'routes' },
  { kind: 'Prompt', area: 'models', path: 'prompts' },
  { kind: 'Agent', area: 'providers', path: 'agents' },
  { kind: 'MCP server', area: 'providers', path: 'mcp-servers' },
];

type Row = Partial<Record<'id' | 'name' | 'account' | 'prefix', string | null>>;

/** Entries shown of each kind, at most. */
const foundMax = 6;
/** The server also finds those whose tag or target holds the text, and sorts by id. */
const searchedMax = 100;
const listMax = 1_000;
/** How long typing rests before the server is asked. */
const restMs = 120;

/** Accounts, keys, models and all else that has a page and holds the text. Nothing for an empty one. */
export function useEntries(text: string, session: Session): FoundEntry[] {
  const searchText = useDeferredValue(useRested(prefixOf(text).trim().slice(0, textMax), restMs));
  const visible = session.kind === 'operator' && searchText !== '';
  const results = useQueries({
    queries: kinds.map(({ path, area, search }) => {
      const query = search === true ? { text: searchText, limit: searchedMax } : { limit: listMax };
      return {
        queryKey: [`/admin/v1/${path}`, 'find', query],
        queryFn: ({ signal }: { signal: AbortSignal }) => get<Listed<Row>>(`/admin/v1/${path}`, query, signal),
        enabled: visible && whyNot(session, area, 'read') === null,
        staleTime: 30_000,
      };
    }),
  });
  const { data: collections } = useCollections(session, visible);
  const lower = prefixOf(text).trim().toLowerCase();
  if (!visible || lower === '') return [];
  const ofKinds = kinds.flatMap((kind, at) =>
    (results[at]?.data?.data ?? [])
      .filter((row) => namesIn(kind, row).toLowerCase().includes(lower))
      .map((row) => entryOf(kind, row))
      .slice(0, foundMax),
  );
  return [
    ...ofKinds,
    ...(collections ?? []).filter(({ name }) => name.toLowerCase().includes(lower)).slice(0, foundMax),
  ];
}

/** Collections of the key that the operator's calls use. */
function useCollections(session: Session, visible: boolean) {
  return useQuery({
    queryKey: ['/v1/vectors', 'find'],
    async queryFn({ signal }): Promise<FoundEntry[]> {
      const caller = await speaksAs(session, signal);
      if (caller === null) return [];
      const path = '/v1/vectors/collections';
      const { result } = await get<{ result: { collections: { name: string }[] } }>(path, {}, signal, caller.headers);
      return result.collections.map(({ name }) => ({
        kind: 'Collection',
        name,
        more: `${caller.key.account}/${caller.key.name}`,
        to: `/dashboard/vectors?${new URLSearchParams({ collection: name, key: caller.key.id })}`,
      }));
    },
    enabled: visible && whyNot(session, 'calls', 'write') === null,
    staleTime: 30_000,
  });
}

/** Texts by which people know an entry, such as the prefix of a key, or its account/name. */
function namesIn(kind: Kind, row: Row): string {
  const { name, more, to } = entryOf(kind, row);
  return `${name} ${more} ${to} ${row.account == null ? '' : `${row.account}/${row.name} ${row.prefix}`}`;
}

function entryOf({ kind, path }: Kind, { id, name, account }: Row): FoundEntry {
  const place = id ?? name ?? '';
  const title = name === null || name === undefined || name === '' ? place : name;
  const more = account == null ? (title === place ? '' : place) : account;
  return { kind, name: title, more, to: `/dashboard/${path}/${encodeURIComponent(place)}` };
}
