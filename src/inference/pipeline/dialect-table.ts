import { anthropicMessages } from '../dialects/anthropic-messages/index.ts';
import type { CallerDialect, DialectId, UpstreamDialect } from '../dialects/dialect.ts';
import { gemini } from '../dialects/gemini/index.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import { openAiResponses } from '../dialects/openai-responses/index.ts';

/** Every dialect by id: what callers may speak, and what upstreams do. Explicit, one line a dialect. */
const callerDialects: Partial<Record<DialectId, CallerDialect>> = {
  'openai-chat': openAiChat,
  'anthropic-messages': anthropicMessages,
  'openai-responses': openAiResponses,
  gemini,
};

const upstreamDialects: Partial<Record<DialectId, UpstreamDialect>> = {
  'openai-chat': openAiChat,
  'anthropic-messages': anthropicMessages,
  'openai-responses': openAiResponses,
  gemini,
};

/** Throws for a dialect that no route or provider of this version names. */
export function callerDialectOf(id: DialectId): CallerDialect {
  const dialect = callerDialects[id];
  if (dialect === undefined) throw new Error(`no caller speaks ${id}`);
  return dialect;
}

/** Throws for a dialect that no provider of this version speaks. */
export function upstreamDialectOf(id: DialectId): UpstreamDialect {
  const dialect = upstreamDialects[id];
  if (dialect === undefined) throw new Error(`no provider speaks ${id}`);
  return dialect;
}
