import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { tellsNoCount, toldCount } from '../../neutral/told-count.ts';
import type { Usage } from '../../neutral/usage.ts';

const mainCounts = ['input_tokens', 'output_tokens'];

/** A `usage` object in neutral terms; null when it holds no counts. */
export function neutralUsage(value: JsonValue | undefined): Usage | null {
  if (!isObject(value) || tellsNoCount(value, mainCounts)) return null;
  const input = toldCount(value.input_tokens);
  const output = toldCount(value.output_tokens);
  if (input === null && output === null) return null;
  const usage: Usage = { inputTokens: input ?? 0, outputTokens: output ?? 0 };
  const inputDetails = isObject(value.input_tokens_details) ? value.input_tokens_details : {};
  const outputDetails = isObject(value.output_tokens_details) ? value.output_tokens_details : {};
  const cached = toldCount(inputDetails.cached_tokens);
  if (cached !== null) usage.cachedInputTokens = Math.min(cached, usage.inputTokens);
  const written = toldCount(inputDetails.cache_write_tokens);
  if (written !== null && written > 0) usage.cacheWriteTokens = written;
  const reasoning = toldCount(outputDetails.reasoning_tokens);
  if (reasoning !== null) usage.reasoningTokens = reasoning;
  return usage;
}

/** OpenAI's `usage` object: the details are required there, so what nobody counted is 0. */
export function wireUsage(usage: Usage | null): JsonObject {
  const inputTokens = usage?.inputTokens ?? 0;
  const outputTokens = usage?.outputTokens ?? 0;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: usage?.cachedInputTokens ?? 0,
      cache_write_tokens: usage?.cacheWriteTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage?.reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
