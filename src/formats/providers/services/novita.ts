import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://novita.ai/docs/guides/error: a 403 means that the model is closed to this key, or needs a verified account. */
export const novita = openAiLike({
  id: 'novita',
  title: 'Novita AI',
  baseUrl: 'https://api.novita.ai/openai/v1',
  envKey: 'NOVITA_API_KEY',
  forwards: { completions: '/completions' },
  embeds: openAiEmbeddings,
  quirks: { rename: { max_completion_tokens: 'max_tokens' } },
  errors: [{ status: 403, code: /model_access_denied|verification|permission/i, class: 'model_unavailable' }],
});
