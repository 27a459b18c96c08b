import { isObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import { reportedCount, reportsInvalidCount, type Usage } from '../../neutral/usage.ts';

/** The `usage` of a `response.done`; null when it holds no counts. */
export function realtimeUsage(value: JsonValue | undefined): Usage | null {
  if (!isObject(value) || reportsInvalidCount(value, ['input_tokens', 'output_tokens'])) return null;
  const input = reportedCount(value.input_tokens);
  const output = reportedCount(value.output_tokens);
  if (input === null && output === null) return null;
  const usage: Usage = { inputTokens: input ?? 0, outputTokens: output ?? 0 };
  const of = objectIn(value.input_token_details);
  const cached = objectIn(of.cached_tokens_details);
  const made = objectIn(value.output_token_details);
  const counts = {
    cachedInputTokens: of.cached_tokens,
    audioInputTokens: of.audio_tokens,
    cachedAudioInputTokens: cached.audio_tokens,
    imageInputTokens: of.image_tokens,
    cachedImageInputTokens: cached.image_tokens,
    audioOutputTokens: made.audio_tokens,
    reasoningTokens: made.reasoning_tokens,
  } satisfies Partial<Record<keyof Usage, JsonValue | undefined>>;
  for (const [name, value] of Object.entries(counts) as [keyof typeof counts, JsonValue | undefined][]) {
    const count = reportedCount(value);
    if (count !== null && count > 0) usage[name] = count;
  }
  return usage;
}
