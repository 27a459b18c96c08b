import { imagesOfFal } from '../image-models.ts';
import { openAiLike } from '../openai-like.ts';

/** https://fal.ai/docs/inference-api/sync/run-path: pictures while the call waits; a model is its path, `fal-ai/flux/dev`. */
export const fal = openAiLike({
  id: 'fal',
  title: 'fal',
  baseUrl: 'https://fal.run',
  baseSuffixes: [],
  envKey: 'FAL_KEY',
  auth: 'key',
  paths: { chat: null, responses: null, messages: null, models: null },
  images: imagesOfFal,
});
