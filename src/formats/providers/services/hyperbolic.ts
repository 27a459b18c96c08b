import { openAiLike } from '../openai-like.ts';

/** https://docs.hyperbolic.ai/inference/chat-completion: OpenAI's format. Nothing else is documented to differ. */
export const hyperbolic = openAiLike({
  id: 'hyperbolic',
  title: 'Hyperbolic',
  baseUrl: 'https://api.hyperbolic.xyz/v1',
  envKey: 'HYPERBOLIC_API_KEY',
  forwards: { completions: '/completions' },
  quirks: { rename: { max_completion_tokens: 'max_tokens' } },
});
