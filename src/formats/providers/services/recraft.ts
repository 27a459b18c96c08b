import { imagesOfRecraft } from '../image-models.ts';
import { openAiLike } from '../openai-like.ts';

/** https://www.recraft.ai/docs/api-reference/endpoints: pictures and vector drawings in OpenAI's format. */
export const recraft = openAiLike({
  id: 'recraft',
  title: 'Recraft',
  baseUrl: 'https://external.api.recraft.ai/v1',
  baseSuffixes: ['/images/generations'],
  envKey: 'RECRAFT_API_TOKEN',
  paths: { chat: null, responses: null, messages: null, models: null },
  images: imagesOfRecraft,
});
