import { imagesOfReplicate } from '../image-models.ts';
import { openAiLike } from '../openai-like.ts';

/** https://replicate.com/docs/reference/http: its official models of pictures, waited for. It has no list of those alone. */
export const replicate = openAiLike({
  id: 'replicate',
  title: 'Replicate',
  baseUrl: 'https://api.replicate.com/v1',
  baseSuffixes: ['/predictions'],
  envKey: 'REPLICATE_API_TOKEN',
  headers: { prefer: 'wait' },
  paths: { chat: null, responses: null, messages: null, models: null },
  images: imagesOfReplicate,
  errors: [{ status: 402, class: 'quota_exhausted' }],
});
