import { openAiLike } from '../openai-like.ts';

/**
 * https://featherless.ai/docs/api: any open model of Hugging Face by its id. Its list has tens of thousands of them, so
 * none is discovered; a 429 says that the plan's connections are all in use.
 */
export const featherless = openAiLike({
  id: 'featherless',
  title: 'Featherless AI',
  baseUrl: 'https://api.featherless.ai/v1',
  envKey: 'FEATHERLESS_API_KEY',
  paths: { models: null },
  forwards: { completions: '/completions' },
  quirks: { rename: { max_completion_tokens: 'max_tokens' }, nativeN: false },
});
