import { isObject, type JsonObject, objectIn } from '../../../kernel/json.ts';
import {
  addCount,
  addWritten,
  noteService,
  partsOfTotal,
  reportedCost,
  reportedCount,
  reportsInvalidCount,
  type Usage,
  type WithCost,
} from '../../neutral/usage.ts';
import type { UsageOf } from '../dialect.ts';

const mainCounts = ['input_tokens', 'output_tokens', 'total_tokens'];

/** The usage of a response in neutral terms; null when it holds no counts. */
export function neutralUsage(response: JsonObject, usageOf?: UsageOf): Usage | null {
  const { tool_usage: byTools, service_tier: tier, output: items } = response;
  const value = usageOf?.(response) ?? response.usage;
  if (!isObject(value) || reportsInvalidCount(value, mainCounts)) return null;
  const input = reportedCount(value.input_tokens);
  const output = reportedCount(value.output_tokens);
  const total = reportedCount(value.total_tokens);
  if (input === null && output === null && total === null) return null;
  const usage = partsOfTotal(input, output, total);
  // Counts in addition to the two are thoughts: xAI's chat, Google's layers.
  const beside = (total ?? 0) - usage.inputTokens - usage.outputTokens;
  if (beside > 0) usage.outputTokens += beside;
  const details = objectIn(value.input_tokens_details);
  const cached = reportedCount(details.cached_tokens);
  if (cached !== null) usage.cachedInputTokens = Math.min(cached, usage.inputTokens);
  const reasoning = reportedCount(objectIn(value.output_tokens_details).reasoning_tokens);
  if (reasoning !== null) usage.reasoningTokens = reasoning;
  addCount(usage, 'imageInputTokens', details.image_tokens);
  addCount(usage, 'cacheWriteTokens', details.cache_write_tokens);
  addCount(usage, 'cacheWrite1hTokens', objectIn(details.cache_write_tokens_details).ttl_12h_tokens);
  const { web_search: search, image_gen: drawn } = objectIn(byTools);
  addCount(usage, 'webSearches', objectIn(search).num_requests);
  addDrawn(usage, objectIn(drawn));
  if (Array.isArray(items))
    for (const item of items) if (isObject(item) && isObject(item.svg_usage)) addWritten(usage, item.svg_usage);
  noteService(usage, [tier]);
  Object.assign(usage, (value as WithCost)[reportedCost]);
  return usage;
}

/** Adds tokens of the tool that draws, which OpenAI charges in addition. Without parts, all that it writes is the picture. */
function addDrawn(usage: Usage, { input_tokens, output_tokens: output, ...details }: JsonObject): void {
  addCount(usage, 'inputTokens', input_tokens);
  addCount(usage, 'outputTokens', output);
  addCount(usage, 'imageInputTokens', objectIn(details.input_tokens_details).image_tokens);
  addCount(usage, 'imageOutputTokens', objectIn(details.output_tokens_details).image_tokens ?? output);
}
