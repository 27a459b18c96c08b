import { carriedDialects, providerTypes } from '../formats/providers/catalog.ts';
import { knownEntry } from '../kernel/known-entry.ts';
import type { ProviderConfig } from './schema.ts';

export type DialectName = NonNullable<ProviderConfig['dialects']>[number];

/** Why `dialect` cannot be spoken to this provider, with the fix; null when it can. */
export function contradiction(
  provider: Pick<ProviderConfig, 'type' | 'base_url'>,
  dialect: DialectName,
): string | null {
  const { type } = provider;
  const carried = carriedDialects(knownEntry(providerTypes, type));
  if (carried.length === 0) return `type ${type} has no chat models; leave dialects out`;
  if (!carried.includes(dialect)) {
    const fix = typeThatSpeaks[dialect];
    return `type ${type} does not speak ${dialect}, only ${carried.join(', ')}; for a server that speaks it take type ${fix} with its base_url`;
  }
  if (type === 'openai' && provider.base_url === undefined && dialect === 'anthropic-messages') {
    return "OpenAI's own service does not speak anthropic-messages; give the base_url of a server that does";
  }
  return null;
}

const typeThatSpeaks = {
  'openai-chat': 'openai',
  'openai-responses': 'openai',
  'anthropic-messages': 'anthropic',
  gemini: 'gemini',
  'bedrock-converse': 'bedrock',
  'cohere-chat': 'cohere',
} as const satisfies Record<DialectName, ProviderConfig['type']>;
