import { openAiLike } from './openai-like.ts';

/** https://platform.openai.com/docs/api-reference */
export const openai = openAiLike({
  id: 'openai',
  title: 'OpenAI',
  baseUrl: 'https://api.openai.com/v1',
  envKey: 'OPENAI_API_KEY',
});
