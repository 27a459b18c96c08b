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
  const longest = reportedCount(objectIn(inputDetails.cache_write_tokens_details).ttl_12h_tokens);
  if (longest !== null && longest > 0) usage.cacheWrite1hTokens = longest;
  const reasoning = reportedCount(outputDetails.reasoning_tokens);
  if (reasoning !== null) usage.reasoningTokens = reasoning;
  const { web_search: search, image_gen: drawn } = objectIn(byTools);
  const searches = reportedCount(objectIn(search).num_requests) ?? 0;
  if (searches > 0) usage.webSearches = searches;
  if (isObject(drawn)) addDrawn(usage, drawn);
  noteService(usage, [tier]);
  return usage;
}

/** Adds tokens of the tool that draws, which OpenAI charges in addition. Without parts, all that it writes is the picture. */
function addDrawn(usage: Usage, { input_tokens, output_tokens, ...details }: JsonObject): void {
  const input = reportedCount(input_tokens) ?? 0;
  const output = reportedCount(output_tokens) ?? 0;
  if (input + output === 0) return;
  const seen = reportedCount(objectIn(details.input_tokens_details).image_tokens) ?? 0;
  const made = reportedCount(objectIn(details.output_tokens_details).image_tokens) ?? output;
  usage.inputTokens += input;
  usage.outputTokens += output;
  if (seen > 0) usage.imageInputTokens = (usage.imageInputTokens ?? 0) + seen;
  if (made > 0) usage.imageOutputTokens = made;
}
