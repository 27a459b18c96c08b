import { openAiLike } from '../openai-like.ts';

/** https://docs.reka.ai/chat/api-reference: its own and open models, in OpenAI's two formats and in Anthropic's. */
export const reka = openAiLike({
  id: 'reka',
  title: 'Reka',
  baseUrl: 'https://api.reka.ai/v1',
  envKey: 'REKA_API_KEY',
  speaksToo: ['openai-responses', 'anthropic-messages'],
  quirks: { nativeN: false },
});
