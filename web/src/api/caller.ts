import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useFilters } from '../parts/filters.ts';
import { type Listed, pageSize } from './pages.ts';
import { get } from './request.ts';
import { whyNot } from './rights.ts';
import { type Session, useSession } from './session.ts';

/** Whom a call of `/v1` is for: the session's own key, or the one that an operator speaks for. */
export interface Caller {
  key: { id: string; name: string; account: string; prefix: string | null };
  /** Of every call, of a GET, too. */
  headers: Record<string, string>;
}

interface KeyRow {
  id: string;
  prefix: string | null;
  account: string;
  name: string;
}

const chosenKey = 'culvert.speaks-as';
/** More are found by the search field of the keys' page. */
const keysMax = 20 * pageSize;

export interface Callers {
  /** Null: there is no key to act for. Undefined while nobody knows. */
  caller: Caller | null | undefined;
  keys: readonly KeyRow[];
  choose: (id: string) => void;
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
  const { data, error } = useQuery({
    queryKey: ['/admin/v1/keys', 'active'],
    queryFn: ({ signal }) => get<Listed<KeyRow>>('/admin/v1/keys', { status: 'active', limit: keysMax }, signal),
    enabled: session.kind === 'operator' && refused === null,
  });
  if (session.kind === 'key') {
    const key = { ...session.key, account: session.account, prefix: null };
    return { caller: callerOf(session, key), keys: [], choose: () => {}, error: null };
  }
  if (refused !== null) return { caller: undefined, keys: [], choose: () => {}, error: new Error(refused) };
  const keys = data?.data ?? [];
  const key = keys.find(({ id }) => id === named) ?? keys.find(({ id }) => id === chosen) ?? usualKey(session, keys);
  const choose = (id: string) => {
    localStorage.setItem(chosenKey, id);
    setChosen(id);
    setFilters({ ...Object.fromEntries(ofKey.map((name) => [name, ''])), key: id });
  };
  const caller = data === undefined ? undefined : key === undefined ? null : callerOf(session, key);
  return { caller, keys, choose, error };
}

/** The key that an operator chose last for calls, else the first one; null: there is none. */
export async function speaksAs(session: Session, signal: AbortSignal): Promise<Caller | null> {
  const query = { status: 'active', limit: keysMax };
  const { data } = await get<Listed<KeyRow>>('/admin/v1/keys', query, signal);
  const chosen = localStorage.getItem(chosenKey);
  const key = data.find(({ id }) => id === chosen) ?? usualKey(session, data);
  return key === undefined ? null : callerOf(session, key);
}

/** The key with the operator's name, else the first one. */
function usualKey(session: Session, keys: readonly KeyRow[]): KeyRow | undefined {
  const ownKey = session.kind === 'operator' ? keys.find(({ name }) => name === session.name) : undefined;
  return ownKey ?? keys[0];
}

function callerOf({ csrf, kind }: Session, { id, name, account, prefix }: KeyRow): Caller {
  const headers = { 'x-culvert-csrf': csrf, ...(kind === 'operator' && { 'x-culvert-key': id }) };
  return { key: { id, name, account, prefix }, headers };
}

export type ModelKind = 'chat' | 'embedding' | 'speech' | 'transcription' | 'image';

/** As in `/v1/models`. */
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
