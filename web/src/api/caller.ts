import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useFilters } from '../parts/filters.ts';
import { useRested } from '../parts/use-rested.ts';
import { type Listed, pageSize, textMax } from './pages.ts';
import { ApiError, get } from './request.ts';
import { whyNot } from './rights.ts';
import { type Session, useSession } from './session.ts';

/** Whom a call of `/v1` is for: the session's own key, or the one that an operator speaks for. */
export interface Caller {
  key: { id: string; name: string; account: string; prefix: string | null };
  /** Headers of every call, of a GET, too. */
  headers: Record<string, string>;
}

interface KeyRow {
  id: string;
  prefix: string | null;
  account: string;
  name: string;
}

const chosenKey = 'culvert.speaks-as';
const keysPath = '/admin/v1/keys';
/** How long typing rests before the server is asked. */
const restMs = 120;
/** More are found by what is typed. */
const keysMax = 20 * pageSize;

export interface Callers {
  /** Null: there is no key to act for. Undefined while nobody knows. */
  caller: Caller | null | undefined;
  keys: readonly KeyRow[];
  choose: (id: string) => void;
  /** Called with what is typed, so that keys beyond the first ones are found. */
  onText: (text: string) => void;
  error: Error | null;
}

/**
 * The key that calls are made with, and for an operator the others to choose from: `key` of the address, the last
 * choice, or the operator's own key. Where its role makes no calls, `error` says so. `ofKey`: filters of the page that say nothing of another key.
 */
export function useCaller(ofKey: readonly string[] = []): Callers {
  const session = useSession();
  const [{ key: named }, setFilters] = useFilters<string>();
  const [chosen, setChosen] = useState(() => localStorage.getItem(chosenKey));
  const refused = session.kind === 'operator' ? whyNot(session, 'calls', 'write') : null;
  const {
    keys: listed,
    onText,
    error,
  } = useActiveKeys(named || chosen, session.kind === 'operator' && refused === null);
  if (session.kind === 'key') {
    const key = { ...session.key, account: session.account, prefix: null };
    return { caller: callerOf(session, key), keys: [], choose: () => {}, onText, error: null };
  }
  if (refused !== null) return { caller: undefined, keys: [], choose: () => {}, onText, error: new Error(refused) };
  const keys = listed ?? [];
  const key = keys.find(({ id }) => id === (named || chosen)) ?? usualKey(session, keys);
  const choose = (id: string) => {
    localStorage.setItem(chosenKey, id);
    setChosen(id);
    setFilters({ ...Object.fromEntries(ofKey.map((name) => [name, ''])), key: id });
  };
  if (named && key !== undefined && key.id !== named) {
    // With another key, a link would show something else than its sender saw.
    const message = `The key ${named} is not active, or you may not use it. Choose another key.`;
    return { caller: undefined, keys, choose, onText, error: new Error(message) };
  }
  const caller = listed === undefined ? undefined : key === undefined ? null : callerOf(session, key);
  return { caller, keys, choose, onText, error };
}

/** The first keys, and beyond them the chosen one and those that are typed. Undefined while nobody knows. */
function useActiveKeys(chosenId: string | null, enabled: boolean) {
  const [typed, setTyped] = useState('');
  const text = useRested(typed.trim(), restMs);
  const { data, error } = useQuery({
    queryKey: [keysPath, 'active'],
    queryFn: ({ signal }) => get<Listed<KeyRow>>(keysPath, { status: 'active', limit: keysMax }, signal),
    enabled,
  });
  const hasMore = data !== undefined && data.next_cursor !== null;
  const isBeyond = hasMore && chosenId !== null && chosenId !== '' && !data.data.some(({ id }) => id === chosenId);
  const other = useQuery({
    queryKey: [keysPath, 'active', 'one', chosenId],
    queryFn: ({ signal }) => activeKey(chosenId ?? '', signal),
    enabled: isBeyond,
  });
  const found = useQuery({
    queryKey: [keysPath, 'active', 'text', text],
    queryFn: ({ signal }) => get<Listed<KeyRow>>(keysPath, { status: 'active', text, limit: pageSize }, signal),
    enabled: hasMore && text !== '',
    placeholderData: keepPreviousData,
  });
  const onText = (next: string) => setTyped(next.slice(0, textMax));
  if (data === undefined || (isBeyond && other.isPending))
    return { keys: undefined, onText, error: error ?? other.error };
  const all = [...(other.data ? [other.data] : []), ...data.data, ...(found.data?.data ?? [])];
  return { keys: [...new Map(all.map((key) => [key.id, key])).values()], onText, error };
}

/** Null: there is none, or it is revoked, expired or suspended. */
async function activeKey(id: string, signal: AbortSignal): Promise<KeyRow | null> {
  try {
    const key = await get<KeyRow & { status: string }>(`${keysPath}/${encodeURIComponent(id)}`, {}, signal);
    return key.status === 'active' ? key : null;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** The key that an operator chose last for calls, else the first one; null: there is none. */
export async function speaksAs(session: Session, signal: AbortSignal): Promise<Caller | null> {
  const query = { status: 'active', limit: keysMax };
  const { data, next_cursor } = await get<Listed<KeyRow>>(keysPath, query, signal);
  const chosen = localStorage.getItem(chosenKey);
  const listed = data.find(({ id }) => id === chosen);
  const beyond = listed || chosen === null || next_cursor === null ? null : await activeKey(chosen, signal);
  const key = listed ?? beyond ?? usualKey(session, data);
  return key === undefined ? null : callerOf(session, key);
}

/** The key with the operator's name, else the first one. */
function usualKey(session: Session, keys: readonly KeyRow[]): KeyRow | undefined {
  const named = session.kind === 'operator' ? keys.find(({ name }) => name === session.name) : undefined;
  return named ?? keys[0];
}

function callerOf({ csrf, kind }: Session, { id, name, account, prefix }: KeyRow): Caller {
  const headers = { 'x-culvert-csrf': csrf, ...(kind === 'operator' && { 'x-culvert-key': id }) };
  return { key: { id, name, account, prefix }, headers };
}

export type ModelKind = 'chat' | 'embedding' | 'speech' | 'transcription' | 'image';

/** A model of `/v1/models`. */
export interface Model {
  id: string;
  owned_by: string;
  model_type: ModelKind | (string & {});
  tier: string | null;
  capabilities: { vision: boolean; tools: boolean; reasoning: boolean; streaming: boolean };
  context_window: number | null;
  max_output_tokens: number | null;
  dimensions: number | null;
  /** USD for a million tokens. */
  pricing: { input: number; output: number; cached_input: number | null } | null;
  status: 'healthy' | 'degraded' | 'down';
}

export function modelsQuery(caller: Caller | null | undefined) {
  return queryOptions({
    queryKey: ['/v1/models', caller?.key.id],
    queryFn: async ({ signal }) => (await get<{ data: Model[] }>('/v1/models', {}, signal, caller!.headers)).data,
    enabled: caller != null,
    staleTime: 30_000,
  });
}
