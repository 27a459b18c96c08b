import { openAiEmbeddings, openAiLike, openAiTranscription } from '../openai-like.ts';

/**
 * https://www.scaleway.com/en/docs/generative-apis/api-cli/using-chat-api and understanding-errors: a model that is not
 * there is a 422. Its key is one for everything at Scaleway, so the environment's alone configures nothing.
 */
export const scaleway = openAiLike({
  id: 'scaleway',
  title: 'Scaleway',
  baseUrl: 'https://api.scaleway.ai/v1',
  embeds: openAiEmbeddings,
  transcription: openAiTranscription,
  quirks: {
    omit: ['frequency_penalty', 'top_logprobs'],
    rename: { max_completion_tokens: 'max_tokens' },
    nativeN: false,
  },
  errors: [{ status: 422, code: /model.*not found/i, class: 'model_unavailable' }],
});
