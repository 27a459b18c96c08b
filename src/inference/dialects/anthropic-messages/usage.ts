import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { tellsNoCount, toldCount } from '../../neutral/told-count.ts';
import type { Usage } from '../../neutral/usage.ts';

/** Anthropic's own counts, each the latest one said. */
export interface UsageCounts {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  thinking: number | null;
  /** One was told that no request can have: none is believed, whatever was told before it and after. */
  impossible: boolean;
}

const mainCounts = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

export function noCounts(): UsageCounts {
  return { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, thinking: null, impossible: false };
}

/**
 * Takes over what `usage` says. message_delta's counts are cumulative, and its input counts may differ from
 * message_start's: the later ones replace, absent ones leave what was said. True if any was said and all can be.
 */
export function takeCounts(counts: UsageCounts, usage: JsonValue | undefined): boolean {
  if (!isObject(usage)) return false;
  counts.impossible ||= tellsNoCount(usage, mainCounts);
  const input = toldCount(usage.input_tokens);
  const output = toldCount(usage.output_tokens);
  counts.input = input ?? counts.input;
  counts.cacheRead = toldCount(usage.cache_read_input_tokens) ?? counts.cacheRead;
  counts.cacheWrite = toldCount(usage.cache_creation_input_tokens) ?? counts.cacheWrite;
  counts.output = output ?? counts.output;
  const details = usage.output_tokens_details;
  if (isObject(details)) counts.thinking = toldCount(details.thinking_tokens) ?? counts.thinking;
  return !counts.impossible && (input !== null || output !== null);
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
