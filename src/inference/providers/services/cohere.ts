import { openAiLike } from '../openai-like.ts';

/**
 * https://docs.cohere.com/docs/compatibility-api: the OpenAI-compatible layer over Chat v2. The list of models
 * stands outside it, in Cohere's own shape.
 *
 * Chat v2 itself is no dialect here. The layer lacks its `documents`, `citation_options` and a budget of tokens for
 * thinking. Of the callers' formats only Anthropic's can ask for citations, and no other can say documents; thinking is on
 * or off in the layer, which is what `reasoning_effort` comes to. Tools, pictures, schemas, seeds and streams are the same.
 */
export const cohere = openAiLike({
  id: 'cohere',
  title: 'Cohere',
  prices: 'cohere',
  baseUrl: 'https://api.cohere.ai/compatibility/v1',
  envKey: 'COHERE_API_KEY',
  paths: { originModels: '/v1/models?page_size=1000' },
  forwards: { rerank: { fromOrigin: '/v2/rerank' } },
  embeds: {
    format: 'cohere',
    path: { fromOrigin: '/v2/embed' },
    batch: 96,
    takesTokens: false,
    dimensions: /embed-v[4-9]/,
    inputType: {
      field: 'input_type',
      words: { query: 'search_query', document: 'search_document', similarity: 'clustering' },
      asymmetric: 'all',
    },
  },
  quirks: {
    omit: [
      'store',
      'metadata',
      'logit_bias',
      'top_logprobs',
      'n',
      'modalities',
      'prediction',
      'audio',
      'service_tier',
      'parallel_tool_calls',
    ],
    rename: { max_completion_tokens: 'max_tokens' },
    // It knows `none` and `high`: thinking or not.
    efforts: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' },
    nativeN: false,
    logprobs: false,
  },
  tooLong: [/total number of tokens in the prompt cannot exceed (?<most>\d+)[^\d]+(?<sent>\d+)/i, /too many tokens/i],
  errors: [
    { status: 402, class: 'quota_exhausted' },
    { status: 429, code: /trial key|monthly/i, class: 'quota_exhausted' },
    { status: 498, class: 'caller_fault' },
  ],
});
