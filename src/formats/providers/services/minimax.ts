import { openAiLike } from '../openai-like.ts';

/**
 * https://platform.minimax.io/docs/api-reference/text-openai-api and text-anthropic-api: one key, three formats; in
 * Anthropic's format thoughts are apart from the text. China's platform is `https://api.minimaxi.com/v1`.
 */
export const minimax = openAiLike({
  id: 'minimax',
  title: 'MiniMax',
  baseUrl: 'https://api.minimax.io/v1',
  envKey: 'MINIMAX_API_KEY',
  speaksToo: ['openai-responses', 'anthropic-messages'],
  paths: { messages: { fromOrigin: '/anthropic/v1/messages' } },
  quirks: { nativeN: false },
});
