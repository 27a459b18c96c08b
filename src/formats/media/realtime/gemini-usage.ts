import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { partsOfTotal, reportedCount } from '../../neutral/usage.ts';

/** Says whether a usage counts anything; null: none came. */
export function hasTokens(usage: JsonObject | null): boolean {
  return usage !== null && usage.total_tokens !== 0;
}

/** The usage of a turn of Gemini's Live API in OpenAI's form. */
export function usageOf(metadata: JsonObject): JsonObject {
  const count = (name: string) => reportedCount(metadata[name]) ?? 0;
  const thoughts = count('thoughtsTokenCount');
  // Vertex has the names of its plain answers.
  const made = metadata.responseTokenCount === undefined ? 'candidates' : 'response';
  const prompt = count('promptTokenCount') + count('toolUsePromptTokenCount');
  const parts = partsOfTotal(prompt, count(`${made}TokenCount`) + thoughts, count('totalTokenCount'));
  const { inputTokens: input, outputTokens: output } = parts;
  const part = (name: string, modality: string) => {
    const details = metadata[name];
    if (!Array.isArray(details)) return 0;
    const found = details.find((one) => isObject(one) && one.modality === modality);
    return isObject(found) ? (reportedCount(found.tokenCount) ?? 0) : 0;
  };
  return {
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    input_token_details: {
      text_tokens: part('promptTokensDetails', 'TEXT'),
      audio_tokens: part('promptTokensDetails', 'AUDIO'),
      image_tokens: part('promptTokensDetails', 'IMAGE') + part('promptTokensDetails', 'VIDEO'),
      cached_tokens: count('cachedContentTokenCount'),
      cached_tokens_details: { audio_tokens: part('cacheTokensDetails', 'AUDIO') },
    },
    output_token_details: {
      text_tokens: part(`${made}TokensDetails`, 'TEXT'),
      audio_tokens: part(`${made}TokensDetails`, 'AUDIO'),
      reasoning_tokens: thoughts,
    },
  };
}
