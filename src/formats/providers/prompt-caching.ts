import type { PromptCaching } from '../dialects/prompt-cache.ts';

/**
 * Shortest beginnings of a prompt that Claude keeps, in tokens; the first that matches.
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
const claudeTokensMin: readonly (readonly [models: RegExp, tokens: number])[] = [
  [/(opus|fable|mythos)-5/, 512],
  [/haiku-4-5|opus-4-[567]/, 4_096],
  [/3-5-haiku|3-haiku/, 2_048],
  [/claude/, 1_024],
];

/** Claude by its own name, wherever it runs: it keeps what is marked. */
export function claudeCaching(model: string): PromptCaching | null {
  const id = model.toLowerCase().replaceAll('.', '-');
  const tokensMin = claudeTokensMin.find(([models]) => models.test(id))?.[1];
  return tokensMin === undefined || /claude-(v?2|instant)/.test(id) ? null : { by: 'marks', tokensMin };
}

/** https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html: not the older Claude 3, and no tools of Nova. */
export function bedrockCaching(model: string): PromptCaching | null {
  if (/\bnova-(micro|lite|pro|premier|2)/.test(model)) return { by: 'marks', tokensMin: 1_000, without: 'tools' };
  return /claude-3-(opus|sonnet|haiku|5-sonnet)/.test(model) ? null : claudeCaching(model);
}

/** https://platform.openai.com/docs/guides/prompt-caching: it keeps all prompts; the key brings them to the same machine. */
export function openAiCaching(): PromptCaching {
  return { by: 'key', tokensMin: 1_024 };
}
