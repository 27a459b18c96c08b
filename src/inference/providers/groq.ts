import { openAiLike } from './openai-like.ts';

/** https://console.groq.com/docs/openai: answers 400 to the omitted fields, and to `n` other than 1. */
export const groq = openAiLike({
  id: 'groq',
  title: 'Groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  envKey: 'GROQ_API_KEY',
  quirks: {
    omitConverted: ['top_k'],
    omit: ['logprobs', 'top_logprobs', 'logit_bias'],
    nativeN: false,
    logprobs: false,
  },
  errors: [
    // "Flex tier capacity exceeded": the only custom status of the API.
    { status: 498, class: 'rate_limited' },
    { status: 413, code: 'rate_limit_exceeded', class: 'rate_limited' },
    { status: 400, code: 'model_decommissioned', class: 'model_unavailable' },
    { status: 403, code: /model_permission_blocked/, class: 'model_unavailable' },
  ],
});
