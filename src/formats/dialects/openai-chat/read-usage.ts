import { isObject, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import {
  noteService,
  partsOfTotal,
  reportedCost,
  reportedCount,
  reportsInvalidCount,
  type Usage,
  type WithCost,
} from '../../neutral/usage.ts';

const mainCounts = ['prompt_tokens', 'completion_tokens', 'total_tokens'];

/**
 * A `usage` object in neutral terms; null if it holds no counts. OpenAI counts cached input inside `prompt_tokens` and
 * reasoning inside `completion_tokens`, as the neutral form does. Counts that others give separately are added, so that
 * the parts give the total.
 */
export function neutralUsage(value: JsonValue | undefined): Usage | null {
  if (!isObject(value) || reportsInvalidCount(value, mainCounts)) return null;
  const total = reportedCount(value.total_tokens);
  const prompt = reportedCount(value.prompt_tokens);
  const completion = reportedCount(value.completion_tokens);
  if (prompt === null && completion === null && total === null) return null;
  const input = objectIn(value.prompt_tokens_details);
  const output = objectIn(value.completion_tokens_details);
  // DeepSeek, Mistral and Moonshot name the cached part themselves.
  const cached =
    reportedCount(input.cached_tokens) ??
    reportedCount(value.prompt_cache_hit_tokens) ??
    reportedCount(value.num_cached_tokens) ??
    reportedCount(value.cached_tokens);
  // Qwen and LiteLLM name the written part as Anthropic does.
  const written =
    reportedCount(input.cache_write_tokens) ??
    reportedCount(input.cache_creation_input_tokens) ??
    reportedCount(value.cache_creation_input_tokens);
  const reasoning = reportedCount(output.reasoning_tokens) ?? reportedCount(value.reasoning_tokens);
  const audioInput = reportedCount(input.audio_tokens);
  const imageInput = reportedCount(input.image_tokens);

  const usage: Usage =
    prompt && completion !== null
      ? { inputTokens: prompt, outputTokens: completion }
      : partsOfTotal(prompt, completion, total);
  const beside = (total ?? 0) - usage.inputTokens - usage.outputTokens;
  const searched = reportedCount(value.citation_tokens);
  if (searched !== null) {
    // Perplexity charges for what it read and thought in its research, and counts it in neither part.
    usage.inputTokens += searched;
    usage.outputTokens += reportedCount(value.reasoning_tokens) ?? 0;
  } else if (beside > 0) {
    // Mistral counts audio apart from the prompt, and some layers count cached tokens so. Otherwise it is reasoning: at
    // xAI, and in Google's layer, which does not say so.
    const isInput = beside === audioInput || beside === cached || beside === (cached ?? 0) + (written ?? 0);
    usage[isInput && beside !== reasoning ? 'inputTokens' : 'outputTokens'] += beside;
  }
  if (cached !== null) usage.cachedInputTokens = Math.min(cached, usage.inputTokens);
  if (written !== null) usage.cacheWriteTokens = written;
  const writtenLong = reportedCount(objectIn(input.cache_creation_token_details).ephemeral_1h_input_tokens);
  if (writtenLong !== null) usage.cacheWrite1hTokens = writtenLong;
  if (reasoning !== null) usage.reasoningTokens = reasoning;
  const audioOutput = reportedCount(output.audio_tokens);
  if (audioInput !== null && audioInput > 0) usage.audioInputTokens = audioInput;
  if (imageInput !== null && imageInput > 0) usage.imageInputTokens = imageInput;
  Object.assign(usage, (value as WithCost)[reportedCost]);
  if (audioOutput !== null && audioOutput > 0) usage.audioOutputTokens = audioOutput;
  // Of Mistral.
  if (value.service_tier !== undefined) noteService(usage, [value.service_tier]);
  return usage;
}

/** Usage of an answer that lacks it. Counts below 0 are none: those of this process take their place behind the reader. */
export function lackingUsage(usage: JsonValue | undefined): JsonObject {
  return { prompt_tokens: -1, completion_tokens: -1, total_tokens: -1, ...(usage as JsonObject | null) };
}

/** A frame like `chunk`, with the counts of this process where the provider gave none, though the caller asked for them. */
export function usageFrame(chunk: JsonObject, prompt_tokens: number, completion_tokens: number): string {
  const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  return `data: ${JSON.stringify({ ...chunk, usage })}\n\n`;
}
