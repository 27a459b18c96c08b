import { openAiLike } from '../openai-like.ts';

/** https://chutes.ai/agents/connect: OpenAI's format, by a bearer token alone; its list says what each model can do. */
export const chutes = openAiLike({
  id: 'chutes',
  title: 'Chutes',
  baseUrl: 'https://llm.chutes.ai/v1',
  envKey: 'CHUTES_API_KEY',
  quirks: { rename: { max_completion_tokens: 'max_tokens' } },
});
