import type { CallerFormat, ProviderFormat } from './types.ts';

/** Names of the formats of callers. */
export const callerFormats: readonly CallerFormat[] = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini',
  'cohere-chat',
  'ollama',
];

/** Names of the formats of providers. */
export const providerFormats: readonly ProviderFormat[] = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini',
  'cohere-chat',
  'bedrock-converse',
];
