import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { tellsNoCount, toldCount } from '../../neutral/told-count.ts';
import type { Usage } from '../../neutral/usage.ts';

const mainCounts = ['prompt_tokens', 'completion_tokens', 'total_tokens'];

/**
 * A `usage` object in neutral terms; null when it holds no counts. OpenAI counts cached input inside
 * `prompt_tokens` and reasoning inside `completion_tokens`, as the neutral form does.
 */
export function neutralUsage(value: JsonValue | undefined): Usage | null {
  if (!isObject(value) || tellsNoCount(value, mainCounts)) return null;
  const total = toldCount(value.total_tokens);
  const prompt = toldCount(value.prompt_tokens);
  const completion = toldCount(value.completion_tokens);
  if (prompt === null && completion === null && total === null) return null;
  const inputTokens = prompt ?? Math.max(0, (total ?? 0) - (completion ?? 0));
  const usage: Usage = { inputTokens, outputTokens: completion ?? Math.max(0, (total ?? 0) - inputTokens) };
  const input = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {};
  const output = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {};
  // DeepSeek and Moonshot name the cached part themselves.
  const cached =
    toldCount(input.cached_tokens) ?? toldCount(value.prompt_cache_hit_tokens) ?? toldCount(value.cached_tokens);
  if (cached !== null) usage.cachedInputTokens = Math.min(cached, inputTokens);
  const written = toldCount(input.cache_write_tokens);
  if (written !== null) usage.cacheWriteTokens = written;
  const reasoning = toldCount(output.reasoning_tokens);
  if (reasoning !== null) usage.reasoningTokens = reasoning;
  return usage;
}

/** OpenAI's `usage` object; zeros when nobody counted, because its clients read the numbers unasked. */
export function wireUsage(usage: Usage | null): JsonObject {
  const inputTokens = usage?.inputTokens ?? 0;
  const outputTokens = usage?.outputTokens ?? 0;
  const wire: JsonObject = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  if (usage?.cachedInputTokens !== undefined || usage?.cacheWriteTokens !== undefined) {
    wire.prompt_tokens_details = {
      ...(usage.cachedInputTokens !== undefined && { cached_tokens: usage.cachedInputTokens }),
      ...(usage.cacheWriteTokens !== undefined && { cache_write_tokens: usage.cacheWriteTokens }),
    };
  }
  if (usage?.reasoningTokens !== undefined) {
    wire.completion_tokens_details = { reasoning_tokens: usage.reasoningTokens };
  }
  return wire;
}
