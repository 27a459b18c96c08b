import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://docs.tokenfactory.nebius.com/api-reference/introduction: formerly Nebius AI Studio, at another address. */
export const nebius = openAiLike({
  id: 'nebius',
  title: 'Nebius Token Factory',
  baseUrl: 'https://api.tokenfactory.nebius.com/v1',
  envKey: 'NEBIUS_API_KEY',
  forwards: { completions: '/completions' },
  embeds: openAiEmbeddings,
});
