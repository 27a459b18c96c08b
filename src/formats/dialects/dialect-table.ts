import { aiSdk } from './ai-sdk/index.ts';
import { anthropicMessages } from './anthropic-messages/index.ts';
import { bedrockConverse } from './bedrock-converse/index.ts';
import { cohereChat } from './cohere-chat/index.ts';
import type { CallerDialect, CallerDialectId, DialectId, SharedDialectId, UpstreamDialect } from './dialect.ts';
import { gemini } from './gemini/index.ts';
import { ollama } from './ollama/index.ts';
import { openAiChat } from './openai-chat/index.ts';
import { openAiResponses } from './openai-responses/index.ts';

/** Every dialect by id: what callers may speak, and what upstreams do. Explicit, one line a dialect. */
export const dialects: Readonly<
  Record<SharedDialectId, CallerDialect & UpstreamDialect> &
    Record<CallerDialectId, CallerDialect> &
    Record<DialectId, UpstreamDialect>
> = {
  'openai-chat': openAiChat,
  'anthropic-messages': anthropicMessages,
  'openai-responses': openAiResponses,
  gemini,
  ollama,
  'ai-sdk': aiSdk,
  'bedrock-converse': bedrockConverse,
  'cohere-chat': cohereChat,
};
