import type { InputTypeFacts } from '../../embeddings/format.ts';
import { openAiQuirks } from '../openai-like.ts';
import type { Provider } from '../provider.ts';

export const cohereInputType: InputTypeFacts = {
  field: 'input_type',
  words: {
    query: 'search_query',
    document: 'search_document',
    classification: 'classification',
    clustering: 'clustering',
    similarity: 'clustering',
  },
  asymmetric: 'all',
};

/**
 * https://docs.cohere.com/reference/chat: Chat v2, which knows documents, citations and budgets for thinking, as its
 * OpenAI-compatible layer does not. A base URL of that layer leads here too.
 */
export const cohere: Provider = {
  id: 'cohere',
  title: 'Cohere',
  dialect: 'cohere-chat',
  prices: 'cohere',
  baseUrl: 'https://api.cohere.com',
  baseSuffixes: ['/compatibility/v1', '/v2/chat', '/v2', '/v1'],
  auth: 'bearer',
  envKey: 'COHERE_API_KEY',
  local: false,
  paths: { chat: '/v2/chat', models: '/v1/models?page_size=1000' },
  headers: {},
  forwards: { rerank: '/v2/rerank' },
  // 422: "unknown field". The first is of its version 1, the second is Jina's.
  forwardBodies: { rerank: () => ({ omit: ['max_chunks_per_doc', 'return_embeddings'] }) },
  embeds: {
    format: 'cohere',
    path: '/v2/embed',
    batch: 96,
    takesTokens: false,
    dimensions: /embed-v[4-9]/,
    inputType: cohereInputType,
  },
  quirks: { ...openAiQuirks, nativeN: false, logprobs: false },
  tooLong: [/total number of tokens in the prompt cannot exceed (?<most>\d+)[^\d]+(?<sent>\d+)/i, /too many tokens/i],
  errors: [
    { status: 402, class: 'quota_exhausted' },
    { status: 429, code: /trial key|monthly/i, class: 'quota_exhausted' },
    { status: 498, class: 'filtered' },
  ],
};
