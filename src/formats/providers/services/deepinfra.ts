import { newImagesLikeOpenAi } from '../image-models.ts';
import { openAiEmbeddings, openAiLike } from '../openai-like.ts';
import { withCost } from '../reported-cost.ts';

/** https://deepinfra.com/docs/openai_api: usage ends every stream, unasked. */
export const deepinfra = openAiLike({
  id: 'deepinfra',
  title: 'DeepInfra',
  baseUrl: 'https://api.deepinfra.com/v1/openai',
  envKey: 'DEEPINFRA_TOKEN',
  forwards: { completions: '/completions' },
  embeds: { ...openAiEmbeddings, dimensions: 'asked' },
  images: newImagesLikeOpenAi,
  usageOf: withCost(({ estimated_cost: cost }) => cost),
  quirks: { rename: { max_completion_tokens: 'max_tokens' } },
});
