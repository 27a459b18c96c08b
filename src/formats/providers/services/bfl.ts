import { imagesOfBfl } from '../image-models.ts';
import { openAiLike } from '../openai-like.ts';

/** https://docs.bfl.ai: FLUX by its makers. A model is its path, `flux-2-pro`; tasks are waited for. */
export const bfl = openAiLike({
  id: 'bfl',
  title: 'Black Forest Labs',
  baseUrl: 'https://api.bfl.ai/v1',
  baseSuffixes: [],
  envKey: 'BFL_API_KEY',
  auth: 'x-key',
  paths: { chat: null, responses: null, messages: null, models: null },
  images: imagesOfBfl,
  errors: [{ status: 402, class: 'quota_exhausted' }],
});
