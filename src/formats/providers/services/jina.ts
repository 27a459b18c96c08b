import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://jina.ai/embeddings: embeddings and rerank only; it neither chats nor lists its models. */
export const jina = openAiLike({
  id: 'jina',
  title: 'Jina AI',
  baseUrl: 'https://api.jina.ai/v1',
  baseSuffixes: ['/rerank', '/embeddings'],
  envKey: 'JINA_API_KEY',
  paths: { chat: null, models: null },
  forwards: { rerank: '/rerank' },
  forwardBodies: { rerank: () => ({ omit: ['max_tokens_per_doc', 'max_chunks_per_doc', 'priority'] }) },
  embeds: {
    ...openAiEmbeddings,
    batch: 512,
    dimensions: /-v[3-9]|clip-v2/,
    inputType: {
      field: 'task',
      words: {
        query: 'retrieval.query',
        document: 'retrieval.passage',
        classification: 'classification',
        clustering: 'separation',
        similarity: 'text-matching',
      },
      asymmetric: /embeddings-v[3-9]/,
    },
    encoding: 'base64',
    encodingField: 'embedding_type',
  },
  errors: [{ status: 402, class: 'quota_exhausted' }],
});
