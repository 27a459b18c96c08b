import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/**
 * https://docs.siliconflow.cn/docs/api/chat-completions-post and messages-post: both formats at one base URL. China's
 * platform is `https://api.siliconflow.cn/v1`, with other keys.
 */
export const siliconflow = openAiLike({
  id: 'siliconflow',
  title: 'SiliconFlow',
  baseUrl: 'https://api.siliconflow.com/v1',
  envKey: 'SILICONFLOW_API_KEY',
  speaksToo: ['anthropic-messages'],
  paths: { responses: null },
  forwards: { rerank: '/rerank' },
  embeds: { ...openAiEmbeddings, batch: 32, dimensions: 'asked' },
  quirks: { rename: { max_completion_tokens: 'max_tokens' } },
});
