import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/**
 * https://vercel.com/docs/ai-gateway/sdks-and-apis: models of many vendors as `vendor/model`, in OpenAI's two formats
 * and in Anthropic's.
 */
export const vercel = openAiLike({
  id: 'vercel',
  title: 'Vercel AI Gateway',
  baseUrl: 'https://ai-gateway.vercel.sh/v1',
  envKey: 'AI_GATEWAY_API_KEY',
  speaksToo: ['openai-responses', 'anthropic-messages'],
  embeds: { ...openAiEmbeddings, dimensions: 'asked' },
  quirks: { nativeN: false },
});
