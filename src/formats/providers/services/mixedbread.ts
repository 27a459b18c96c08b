import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://www.mixedbread.com/api-reference: embeddings in OpenAI's format, and rankings with words that only it has. */
export const mixedbread = openAiLike({
  id: 'mixedbread',
  title: 'Mixedbread',
  baseUrl: 'https://api.mixedbread.com/v1',
  baseSuffixes: ['/reranking', '/embeddings'],
  envKey: 'MXBAI_API_KEY',
  paths: { chat: null, models: null },
  forwards: { rerank: '/reranking' },
  forwardBodies: {
    rerank: () => ({
      omit: ['max_tokens_per_doc', 'max_chunks_per_doc', 'priority', 'return_embeddings', 'truncation'],
      rename: { documents: 'input', top_n: 'top_k' },
    }),
  },
  embeds: { ...openAiEmbeddings, batch: 128, dimensions: /mxbai-embed/ },
});
