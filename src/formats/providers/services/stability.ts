import { imagesOfStability } from '../image-models.ts';
import { openAiLike } from '../openai-like.ts';

/** https://platform.stability.ai/docs/api-reference: `stable-image-ultra`, `stable-image-core` and the `sd3.5` models. */
export const stability = openAiLike({
  id: 'stability',
  title: 'Stability AI',
  baseUrl: 'https://api.stability.ai/v2beta',
  baseSuffixes: ['/stable-image/generate'],
  envKey: 'STABILITY_API_KEY',
  paths: { chat: null, responses: null, messages: null, models: null },
  images: imagesOfStability,
  errors: [
    { status: 402, class: 'quota_exhausted' },
    { status: 403, code: /content moderation|flagged/i, class: 'filtered' },
  ],
});
