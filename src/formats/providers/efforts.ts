/** OpenRouter's words for how much to think and whether to show it, in https://openrouter.ai/docs/use-cases/reasoning-tokens. */
export const wordsOfOpenRouter: readonly string[] = ['reasoning', 'include_reasoning'];

/** Words of `reasoning_effort` that nearly every model takes that takes any. */
export const lowToHigh: readonly string[] = ['low', 'medium', 'high'];
