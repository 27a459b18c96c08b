import { imagesOfBfl, imagesOfFal, imagesOfRecraft, imagesOfReplicate, imagesOfStability } from '../image-models.ts';
import { type OpenAiLikeFacts, openAiLike } from '../openai-like.ts';
import type { Provider } from '../provider.ts';

/** Services that make pictures and nothing else, in the order of the catalog. */
const facts: readonly OpenAiLikeFacts[] = [
  // https://fal.ai/docs/inference-api/sync/run-path: pictures while the call waits; a model is its path,
  // `fal-ai/flux/dev`.
  {
    id: 'fal',
    title: 'fal',
    baseUrl: 'https://fal.run',
    baseSuffixes: [],
    envKey: 'FAL_KEY',
    auth: 'key',
    images: imagesOfFal,
  },
  // https://www.recraft.ai/docs/api-reference/endpoints: pictures and vector drawings in OpenAI's format.
  {
    id: 'recraft',
    title: 'Recraft',
    baseUrl: 'https://external.api.recraft.ai/v1',
    baseSuffixes: ['/images/generations'],
    envKey: 'RECRAFT_API_TOKEN',
    images: imagesOfRecraft,
  },
  // https://replicate.com/docs/reference/http: its official models of pictures, waited for. It has no list of those
  // alone.
  {
    id: 'replicate',
    title: 'Replicate',
    baseUrl: 'https://api.replicate.com/v1',
    baseSuffixes: ['/predictions'],
    envKey: 'REPLICATE_API_TOKEN',
    headers: { prefer: 'wait' },
    images: imagesOfReplicate,
    errors: [{ status: 402, class: 'quota_exhausted' }],
  },
  // https://platform.stability.ai/docs/api-reference: `stable-image-ultra`, `stable-image-core` and the `sd3.5` models.
  {
    id: 'stability',
    title: 'Stability AI',
    baseUrl: 'https://api.stability.ai/v2beta',
    baseSuffixes: ['/stable-image/generate'],
    envKey: 'STABILITY_API_KEY',
    images: imagesOfStability,
    errors: [
      { status: 402, class: 'quota_exhausted' },
      { status: 403, code: /content moderation|flagged/i, class: 'filtered' },
    ],
  },
  // https://docs.bfl.ai: FLUX by its makers. A model is its path, `flux-2-pro`; tasks are waited for.
  {
    id: 'bfl',
    title: 'Black Forest Labs',
    baseUrl: 'https://api.bfl.ai/v1',
    baseSuffixes: [],
    envKey: 'BFL_API_KEY',
    auth: 'x-key',
    images: imagesOfBfl,
    errors: [{ status: 402, class: 'quota_exhausted' }],
  },
];

const paths = { chat: null, responses: null, messages: null, models: null };
export const pictureServices: readonly Provider[] = facts.map((one) => openAiLike({ ...one, paths }));
