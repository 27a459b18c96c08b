import { queryOptions } from '@tanstack/react-query';
import type { FoundServersReply, ProviderTypesReply } from '../../../../src/admin/entries/provider-drafts.ts';
import { get } from '../../api/request.ts';

export type ProviderType = ProviderTypesReply['data'][number];
export type FoundServer = FoundServersReply['data'][number];

/** Kinds of providers do not change while Culvert runs. */
export const typesQuery = queryOptions({
  queryKey: ['/admin/v1/providers/types'],
  queryFn: ({ signal }) => get<ProviderTypesReply>('/admin/v1/providers/types', {}, signal),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Servers that answer on Culvert's own machine right now. */
export const foundQuery = queryOptions({
  queryKey: ['/admin/v1/providers/found'],
  queryFn: ({ signal }) => get<FoundServersReply>('/admin/v1/providers/found', {}, signal),
});

/** How a key begins says whose it is. The longer ones first: `sk-` alone is OpenAI's. */
const keyBeginnings: readonly (readonly [string, string])[] = [
  ['sk-ant-', 'anthropic'],
  ['sk-or-', 'openrouter'],
  ['gsk_', 'groq'],
  ['AIza', 'gemini'],
  ['xai-', 'xai'],
  ['nvapi-', 'nvidia'],
  ['fw_', 'fireworks'],
  ['jina_', 'jina'],
  ['pa-', 'voyage'],
  ['tgp_', 'together'],
  ['sk-proj-', 'openai'],
  ['hf_', 'huggingface'],
  ['cpk_', 'chutes'],
];

/** The type of the provider that gives such keys; null for one that several might have given. */
export function typeOfKey(key: string): string | null {
  return keyBeginnings.find(([beginning]) => key.startsWith(beginning))?.[1] ?? null;
}
