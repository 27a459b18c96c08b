import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://console.upstage.ai/docs: Solar. Queries and passages have a model each for their embeddings. */
export const upstage = openAiLike({
  id: 'upstage',
  title: 'Upstage',
  baseUrl: 'https://api.upstage.ai/v1',
  envKey: 'UPSTAGE_API_KEY',
  embeds: { ...openAiEmbeddings, inputType: 'refused' },
  quirks: { rename: { max_completion_tokens: 'max_tokens' }, nativeN: false },
});
