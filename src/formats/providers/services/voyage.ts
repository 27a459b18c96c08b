import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://docs.voyageai.com/reference/embeddings-api: embeddings and rerank only; it neither chats nor lists its models. */
export const voyage = openAiLike({
  id: 'voyage',
  title: 'Voyage AI',
  prices: 'voyageai',
  baseUrl: 'https://api.voyageai.com/v1',
  baseSuffixes: ['/rerank', '/embeddings'],
  envKey: 'VOYAGE_API_KEY',
  paths: { chat: null, models: null },
  forwards: { rerank: '/rerank' },
  // 400: "Argument 'priority' is not supported by our API"
  forwardBodies: {
    rerank: () => ({
      omit: ['max_tokens_per_doc', 'max_chunks_per_doc', 'priority', 'return_embeddings'],
      rename: { top_n: 'top_k' },
    }),
  },
  embeds: {
    ...openAiEmbeddings,
    batch: 1_000,
    // 120,000 by its own count for most models.
    batchTokens: 60_000,
    dimensions: /voyage-(3-large|3\.5|code-3|[4-9])/,
    dimensionsField: 'output_dimension',
    inputType: { field: 'input_type', words: { query: 'query', document: 'document' }, asymmetric: 'all' },
    encoding: 'base64',
  },
  errors: [
    { status: 402, class: 'quota_exhausted' },
    { status: 400, code: /model .*(not supported|does not exist|invalid)/i, class: 'model_unavailable' },
  ],
});
