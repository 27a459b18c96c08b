import { openAiLike } from '../openai-like.ts';

/** https://docs.inceptionlabs.ai: Mercury, which writes all of an answer at once; OpenAI's format. */
export const inception = openAiLike({
  id: 'inception',
  title: 'Inception',
  baseUrl: 'https://api.inceptionlabs.ai/v1',
  envKey: 'INCEPTION_API_KEY',
  // https://docs.inceptionlabs.ai/get-started/models
  forwards: { fim: '/fim/completions' },
  quirks: { rename: { max_completion_tokens: 'max_tokens' }, nativeN: false },
});
