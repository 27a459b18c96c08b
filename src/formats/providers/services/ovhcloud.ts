import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://endpoints.ai.cloud.ovh.net: OpenAI's format; without a key it answers too, with low limits. */
export const ovhcloud = openAiLike({
  id: 'ovhcloud',
  title: 'OVHcloud AI Endpoints',
  baseUrl: 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1',
  envKey: 'OVH_AI_ENDPOINTS_ACCESS_TOKEN',
  embeds: openAiEmbeddings,
  quirks: { rename: { max_completion_tokens: 'max_tokens' } },
});
