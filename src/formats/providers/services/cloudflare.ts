import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/**
 * https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility: the account is in the base URL,
 * `https://api.cloudflare.com/client/v4/accounts/ACCOUNT/ai/v1`. There is no list of models in OpenAI's format.
 */
export const cloudflare = openAiLike({
  id: 'cloudflare',
  title: 'Cloudflare Workers AI',
  baseUrl: null,
  paths: { messages: null, models: null },
  embeds: { ...openAiEmbeddings, batch: 100 },
  quirks: { rename: { max_completion_tokens: 'max_tokens' }, nativeN: false },
});
