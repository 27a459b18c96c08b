import { isObject, type JsonValue } from '../../../kernel/json.ts';
import type { Usage } from '../../neutral/usage.ts';

/** `usageMetadata` as told in each chunk, each time for the whole answer so far; null when it tells nothing. */
export function usageOf(metadata: JsonValue | undefined): Usage | null {
  if (!isObject(metadata)) return null;
  const prompt = count(metadata.promptTokenCount);
  if (prompt === null && count(metadata.totalTokenCount) === null) return null;
  const thoughts = count(metadata.thoughtsTokenCount);
  const usage: Usage = {
    // Cached input is part of the prompt's count here; what server-side tools fed in is not.
    inputTokens: (prompt ?? 0) + (count(metadata.toolUsePromptTokenCount) ?? 0),
    // Thoughts are counted apart from the candidates' tokens here, inside output everywhere else: add.
    outputTokens: (count(metadata.candidatesTokenCount) ?? 0) + (thoughts ?? 0),
  };
  const cached = count(metadata.cachedContentTokenCount);
  if (cached !== null) usage.cachedInputTokens = cached;
  if (thoughts !== null) usage.reasoningTokens = thoughts;
  return usage;
}

function count(value: JsonValue | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
