import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://michaelfeil.eu/infinity: embeddings and rerank in OpenAI's and Cohere's formats, at the root. */
export const infinity = openAiLike({
  id: 'infinity',
  title: 'Infinity',
  baseUrl: 'http://127.0.0.1:7997',
  baseSuffixes: ['/embeddings', '/rerank'],
  local: true,
  paths: { chat: null },
  forwards: { rerank: '/rerank' },
  embeds: {
    ...openAiEmbeddings,
    batch: 256,
    dimensions: 'asked',
    encoding: 'base64',
    takesUser: true,
    without: ['modality'],
  },
});
