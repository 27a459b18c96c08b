import { isObject, type JsonObject, objectIn } from '../../../kernel/json.ts';
import { noteService, reportedCount, reportsInvalidCount, type Usage } from '../../neutral/usage.ts';

const mainCounts = ['input_tokens', 'output_tokens'];

/** The usage of a response in neutral terms; null when it holds no counts. */
export function neutralUsage({ usage: value, tool_usage: byTools, service_tier: tier }: JsonObject): Usage | null {
  if (!isObject(value) || reportsInvalidCount(value, mainCounts)) return null;
  const input = reportedCount(value.input_tokens);
  const output = reportedCount(value.output_tokens);
  if (input === null && output === null) return null;
  const usage: Usage = { inputTokens: input ?? 0, outputTokens: output ?? 0 };
  // Counts in addition to the two are thoughts: xAI's chat, Google's layers.
  const beside = (reportedCount(value.total_tokens) ?? 0) - usage.inputTokens - usage.outputTokens;
  if (beside > 0) usage.outputTokens += beside;
  const inputDetails = objectIn(value.input_tokens_details);
  const outputDetails = objectIn(value.output_tokens_details);
  const cached = reportedCount(inputDetails.cached_tokens);
  if (cached !== null) usage.cachedInputTokens = Math.min(cached, usage.inputTokens);
  const images = reportedCount(inputDetails.image_tokens);
  if (images !== null && images > 0) usage.imageInputTokens = images;
  const written = reportedCount(inputDetails.cache_write_tokens);
  if (written !== null && written > 0) usage.cacheWriteTokens = written;
  const reasoning = reportedCount(outputDetails.reasoning_tokens);
  if (reasoning !== null) usage.reasoningTokens = reasoning;
  const search = isObject(byTools) && isObject(byTools.web_search) ? byTools.web_search : {};
  const searches = reportedCount(search.num_requests) ?? 0;
  if (searches > 0) usage.webSearches = searches;
  noteService(usage, [tier]);
  return usage;
}
