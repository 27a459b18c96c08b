import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { tellsNoCount, toldCount } from '../../neutral/told-count.ts';
import type { Usage } from '../../neutral/usage.ts';

const mainCounts = ['promptTokenCount', 'candidatesTokenCount', 'totalTokenCount'];

/** `usageMetadata` as told in each chunk, each time for the whole answer so far; null when it tells nothing. */
export function usageOf(metadata: JsonValue | undefined): Usage | null {
  if (!isObject(metadata) || tellsImpossible(metadata)) return null;
  const prompt = toldCount(metadata.promptTokenCount);
  if (prompt === null && toldCount(metadata.totalTokenCount) === null) return null;
  const thoughts = toldCount(metadata.thoughtsTokenCount);
  const usage: Usage = {
    // Cached input is part of the prompt's count here; what server-side tools fed in is not.
    inputTokens: (prompt ?? 0) + (toldCount(metadata.toolUsePromptTokenCount) ?? 0),
    // Thoughts are counted apart from the candidates' tokens here, inside output everywhere else: add.
    outputTokens: (toldCount(metadata.candidatesTokenCount) ?? 0) + (thoughts ?? 0),
  };
  const cached = toldCount(metadata.cachedContentTokenCount);
  if (cached !== null) usage.cachedInputTokens = cached;
  if (thoughts !== null) usage.reasoningTokens = thoughts;
  return usage;
}

/** What it told before is not believed any more. */
export function tellsImpossible(metadata: JsonValue | undefined): boolean {
  return isObject(metadata) && tellsNoCount(metadata, mainCounts);
}
