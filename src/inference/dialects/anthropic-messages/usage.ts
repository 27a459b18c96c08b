import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { Usage } from '../../neutral/usage.ts';

/** Anthropic's own counts, each the latest one said. */
export interface UsageCounts {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  thinking: number | null;
  /** Whether any usage was said at all. */
  said: boolean;
}

export function noCounts(): UsageCounts {
  return { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, thinking: null, said: false };
}

/**
 * Takes over what `usage` says. message_delta's counts are cumulative, and its input counts may differ from
 * message_start's: the later ones replace, absent ones leave what was said. True if anything was said.
 */
export function takeCounts(counts: UsageCounts, usage: JsonValue | undefined): boolean {
  if (!isObject(usage)) return false;
  counts.input = count(usage.input_tokens) ?? counts.input;
  counts.cacheRead = count(usage.cache_read_input_tokens) ?? counts.cacheRead;
  counts.cacheWrite = count(usage.cache_creation_input_tokens) ?? counts.cacheWrite;
  counts.output = count(usage.output_tokens) ?? counts.output;
  const details = usage.output_tokens_details;
  if (isObject(details)) counts.thinking = count(details.thinking_tokens) ?? counts.thinking;
  counts.said = true;
  return true;
}

/** Anthropic counts cached input apart from input_tokens, the neutral form inside inputTokens: added here. */
export function usageOf(counts: UsageCounts): Usage {
  const usage: Usage = {
    inputTokens: counts.input + counts.cacheRead + counts.cacheWrite,
    outputTokens: counts.output,
    cachedInputTokens: counts.cacheRead,
    cacheWriteTokens: counts.cacheWrite,
  };
  if (counts.thinking !== null) usage.reasoningTokens = counts.thinking;
  return usage;
}

function count(value: JsonValue | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** Anthropic's `usage` object: the input without what was read from or written to the cache. */
export function wireUsage(usage: Usage): JsonObject {
  const read = usage.cachedInputTokens ?? 0;
  const written = usage.cacheWriteTokens ?? 0;
  const wire: JsonObject = {
    input_tokens: Math.max(0, usage.inputTokens - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: usage.outputTokens,
  };
  if (usage.reasoningTokens !== undefined) wire.output_tokens_details = { thinking_tokens: usage.reasoningTokens };
  return wire;
}

/** What a stream says at its start, before anybody has counted: clients read both numbers there. */
export function startUsage(inputTokensEstimate: number): JsonObject {
  return wireUsage({ inputTokens: inputTokensEstimate, outputTokens: 0 });
}
