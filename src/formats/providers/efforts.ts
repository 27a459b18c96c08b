/** OpenRouter's words for how much to think and whether to show it, in https://openrouter.ai/docs/use-cases/reasoning-tokens. */
export const wordsOfOpenRouter: readonly string[] = ['reasoning', 'include_reasoning'];

const lowToHigh = ['low', 'medium', 'high'] as const;
const openAi: readonly string[] = ['openai', 'azure-openai'];

/**
 * Words of `reasoning_effort` by model, where chat completions refuse OpenRouter's; the first match decides. Sources:
 * platform.openai.com/docs/guides/reasoning, console.groq.com/docs/reasoning, inference-docs.cerebras.ai/capabilities/reasoning,
 * docs.mistral.ai/capabilities/reasoning/adjustable, docs.fireworks.ai/guides/reasoning.
 */
const families: readonly { providers: readonly string[]; pattern: RegExp; words: readonly string[] }[] = [
  { providers: openAi, pattern: /^(o1-(mini|preview)|gpt-5[.\d]*-chat)/, words: [] },
  { providers: openAi, pattern: /^gpt-5-pro/, words: ['high'] },
  { providers: openAi, pattern: /^gpt-5\.\d+-pro/, words: ['medium', 'high', 'xhigh'] },
  { providers: openAi, pattern: /^(o\d|gpt-5-codex|gpt-5\.1-codex(?!-max))/, words: lowToHigh },
  { providers: openAi, pattern: /^gpt-5(-mini|-nano)?(-\d{4}|$)/, words: ['minimal', ...lowToHigh] },
  { providers: openAi, pattern: /^gpt-5\.1(-\d{4}|$)/, words: ['none', ...lowToHigh] },
  { providers: openAi, pattern: /^gpt-5\./, words: ['none', ...lowToHigh, 'xhigh'] },
  { providers: openAi, pattern: /^gpt-([6-9]|\d\d)/, words: ['none', ...lowToHigh, 'xhigh', 'max'] },
  { providers: ['groq'], pattern: /^qwen3/, words: ['none', 'default'] },
  { providers: ['groq', 'cerebras', 'fireworks', 'nvidia'], pattern: /^gpt-oss/, words: lowToHigh },
  { providers: ['cerebras'], pattern: /glm|^qwen-?3/, words: ['none', ...lowToHigh] },
  { providers: ['mistral'], pattern: /^mistral-large-4/, words: lowToHigh },
  { providers: ['mistral'], pattern: /^mistral-(small-(latest|26)|medium-3-5)/, words: ['none', 'high'] },
  { providers: ['fireworks'], pattern: /^minimax-m/, words: lowToHigh },
  { providers: ['fireworks'], pattern: /^(deepseek-v|glm-|kimi-k2p|qwen3p6)/, words: ['none', ...lowToHigh] },
];

/** Undefined for a model that takes none, or of which nobody here knows. `name`: see `bareName`. */
export function effortsOf(provider: string, name: string): readonly string[] | undefined {
  return families.find(({ providers, pattern }) => providers.includes(provider) && pattern.test(name))?.words;
}
