import type { CallerFormat, ProviderFormat } from './types.ts';

export const callerFormats: readonly CallerFormat[] = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini',
  'cohere-chat',
  'ollama',
];

export const providerFormats: readonly ProviderFormat[] = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini',
  'cohere-chat',
  'bedrock-converse',
];
