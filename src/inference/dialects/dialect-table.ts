import type { CallerDialect, DialectId, UpstreamDialect } from './dialect.ts';
import { openAiChat } from './openai-chat/index.ts';

type Dialect = CallerDialect & UpstreamDialect;

/** Every dialect by id: what callers may speak, and what upstreams do. Explicit, one line a dialect. */
const loaders: Readonly<Record<DialectId, () => Promise<Dialect>>> = {
  'openai-chat': async () => openAiChat,
  'anthropic-messages': async () => (await import('./anthropic-messages/index.ts')).anthropicMessages,
  'openai-responses': async () => (await import('./openai-responses/index.ts')).openAiResponses,
  gemini: async () => (await import('./gemini/index.ts')).gemini,
};

/** A start loads what its providers speak to a caller of chat: the others are a hundred modules. */
const loaded = new Map<DialectId, Dialect>([['openai-chat', openAiChat]]);

/** Before the first use of any of `ids`; all of them if none are named. */
export async function loadDialects(ids: Iterable<DialectId> = Object.keys(loaders) as DialectId[]): Promise<void> {
  for (const id of ids) if (!loaded.has(id)) loaded.set(id, await loaders[id]());
}

/** Throws for a dialect that was not loaded. */
export function callerDialectOf(id: DialectId): CallerDialect {
  return dialectOf(id);
}

/** Throws for a dialect that was not loaded. */
export function upstreamDialectOf(id: DialectId): UpstreamDialect {
  return dialectOf(id);
}

function dialectOf(id: DialectId): Dialect {
  const dialect = loaded.get(id);
  if (dialect === undefined) throw new Error(`${id} is not loaded`);
  return dialect;
}
