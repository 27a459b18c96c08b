import { openAiLike } from '../openai-like.ts';

/** https://friendli.ai/docs/guides/serverless_endpoints: its serverless endpoints; dedicated ones have another base URL. */
export const friendli = openAiLike({
  id: 'friendli',
  title: 'FriendliAI',
  baseUrl: 'https://api.friendli.ai/serverless/v1',
  envKey: 'FRIENDLI_TOKEN',
  forwards: { completions: '/completions' },
  quirks: { rename: { max_completion_tokens: 'max_tokens' } },
});
