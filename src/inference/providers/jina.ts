import { openAiLike } from './openai-like.ts';

/** https://jina.ai/embeddings: embeddings and rerank only; it neither chats nor lists its models. */
export const jina = openAiLike({
  id: 'jina',
  title: 'Jina AI',
  baseUrl: 'https://api.jina.ai/v1',
  baseSuffixes: ['/rerank', '/embeddings'],
  envKey: 'JINA_API_KEY',
  paths: { chat: null, models: null },
  forwards: { rerank: '/rerank' },
  errors: [{ status: 402, class: 'quota_exhausted' }],
});
