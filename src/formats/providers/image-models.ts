import { pathSegment } from '../../kernel/web/uri-text.ts';
import type { ImageFacts, ImageModelFacts } from '../media/images/format.ts';
import { sizesOfRatios } from '../neutral/image-size.ts';
import { azurePath } from './azure-path.ts';

type Family = ImageFacts['families'][number];

/** Largest size of images in base64 inside a body of JSON. */
const inlineBytesMax = 14 * 1024 * 1024;

/** One picture a call, in the form that the service has; none without a background. */
const opaque = { perCall: 1, gives: 'its-own', transparent: false } as const;

/** Sizes by ratio, of which only some have pixels that are `known`. */
function inRatios(ratios: readonly string[], known: Readonly<Record<string, string>> = {}): ImageModelFacts['sizes'] {
  return { kind: 'ratios', ratios: { ...Object.fromEntries(ratios.map((ratio) => [ratio, null])), ...known } };
}

/** Ratios that FLUX models have, wherever they run. */
const fluxRatios = ['1:1', '16:9', '21:9', '3:2', '2:3', '4:5', '5:4'];

/** Nothing is known of it: it gets the caller's wish in OpenAI's format, and judges itself. */
const anyModel: ImageModelFacts = {
  format: 'openai',
  perCall: 10,
  sizes: { kind: 'any' },
  gives: 'asked',
  takes: 'all',
  edits: { picturesMax: 16, mask: true },
};

const gptQualities = ['auto', 'low', 'medium', 'high'];
const gptOutputs = ['png', 'jpeg', 'webp'] as const;

/** https://platform.openai.com/docs/api-reference/images: they give base64 alone, and refuse `response_format`. */
const gptImage: ImageModelFacts = {
  ...anyModel,
  gives: 'its-own',
  takes: ['quality', 'background', 'moderation', 'output_format', 'output_compression', 'input_fidelity', 'user'],
  qualities: gptQualities,
  outputs: gptOutputs,
  transparent: true,
  previews: true,
};

const gptImage2: ImageModelFacts = {
  ...gptImage,
  // Ten of its largest would be more than is read of one answer.
  perCall: 4,
  sizes: { kind: 'steps', multipleOf: 16, min: 16, max: 3_840, pixelsMax: 3_840 * 2_160, ratioMax: 3 },
};

const openAiFamilies: readonly Family[] = [
  {
    pattern: /^gpt-image-(2\.[5-9]|[3-9])/,
    ...gptImage2,
    qualities: [...gptQualities, 'xhigh', 'max'],
    outputs: [...gptOutputs, 'gif', 'svg'],
  },
  { pattern: /^gpt-image-2/, ...gptImage2 },
  {
    pattern: /^(gpt-image-1|chatgpt-image)/,
    ...gptImage,
    sizes: { kind: 'listed', sizes: ['1024x1024', '1536x1024', '1024x1536'] },
  },
  {
    pattern: /^dall-e-3/,
    format: 'openai',
    perCall: 1,
    sizes: { kind: 'listed', sizes: ['1024x1024', '1792x1024', '1024x1792'] },
    gives: 'asked',
    takes: ['quality', 'style', 'user'],
    qualities: ['standard', 'hd'],
    outputs: ['png'],
    transparent: false,
  },
  {
    pattern: /^dall-e-2/,
    format: 'openai',
    perCall: 10,
    sizes: { kind: 'listed', sizes: ['256x256', '512x512', '1024x1024'] },
    gives: 'asked',
    takes: ['user'],
    outputs: ['png'],
    transparent: false,
    edits: { picturesMax: 1, mask: true },
  },
];

const segments = (model: string) => model.split('/').map(pathSegment).join('/');

const openAiPath: ImageFacts['pathOf'] = (_, task) => (task === 'edit' ? '/images/edits' : '/images/generations');

/** OpenAI itself. Its future models will be like its newest. */
export const imagesOfOpenAi: ImageFacts = { pathOf: openAiPath, families: openAiFamilies, others: gptImage };

/** Servers that took over OpenAI's API, whatever model they run. */
export const imagesLikeOpenAi: ImageFacts = {
  pathOf: openAiPath,
  families: [{ pattern: /^(gpt-image|chatgpt-image)/, ...anyModel, gives: 'its-own', previews: true }],
  others: anyModel,
};

/** Facts of models that make new pictures only. */
export const newImagesLikeOpenAi: ImageFacts = { pathOf: openAiPath, families: [], others: anyOfOpenAi() };

/** The same without members by which it would fetch what a caller names. */
export const imagesOfLocalAi: ImageFacts = {
  families: [],
  pathOf: openAiPath,
  others: { ...anyOfOpenAi(), without: ['messages', 'file', 'ref_images'] },
};

function anyOfOpenAi(): ImageModelFacts {
  return { format: 'openai', perCall: 1, sizes: { kind: 'any' }, gives: 'asked', takes: 'all' };
}

/** https://docs.together.ai/reference/post-images-generations: FLUX and its like. */
export const imagesOfTogether: ImageFacts = {
  families: [],
  pathOf: openAiPath,
  others: {
    ...opaque,
    format: 'openai',
    sizes: { kind: 'steps', multipleOf: 8, min: 64, max: 2_048 },
    sizeAs: 'sides',
    takes: ['output_format'],
    outputs: ['png', 'jpeg'],
  },
};

/** https://docs.x.ai/docs/guides/image-generations: JPEG of about a megapixel, by ratio. */
export const imagesOfXai: ImageFacts = {
  families: [],
  pathOf: openAiPath,
  others: {
    format: 'openai',
    perCall: 10,
    sizes: inRatios(['1:1', '3:4', '4:3', '9:16', '16:9', '2:3', '3:2', '1:2', '2:1'], { '1:1': '1024x1024' }),
    gives: 'asked',
    takes: ['user'],
    outputs: ['jpeg'],
    transparent: false,
  },
};

/** https://docs.fireworks.ai/api-reference/generate-a-new-image-from-a-text-prompt */
export const imagesOfFireworks: ImageFacts = {
  pathOf: (model) => `/workflows/${segments(model)}/text_to_image`,
  families: [
    {
      pattern: /flux.*(schnell|dev)/,
      ...opaque,
      format: 'fireworks',
      sizes: inRatios([...fluxRatios, '9:16', '9:21', '4:3', '3:4'], { '1:1': '1024x1024' }),
      takes: [],
    },
  ],
  others: null,
};

const ratiosOf1K = Object.fromEntries(
  [...sizesOfRatios].map(([ratio, [width, height]]) => [ratio, `${width}x${height}`]),
);

/** https://ai.google.dev/gemini-api/docs/image-generation and …/imagen; sizes are those of 1K. */
export function imagesOfGoogle(pathOf: (model: string) => string): ImageFacts {
  return {
    pathOf: (model) => `${pathOf(model)}:${/imagen/.test(model) ? 'predict' : 'generateContent'}`,
    families: [
      {
        pattern: /^imagen/,
        ...opaque,
        format: 'imagen',
        perCall: 4,
        sizes: {
          kind: 'ratios',
          ratios: { '1:1': '1024x1024', '3:4': '896x1280', '4:3': '1280x896', '9:16': '768x1408', '16:9': '1408x768' },
        },
        takes: ['output_format', 'output_compression'],
        outputs: ['png', 'jpeg'],
      },
      {
        pattern: /image/,
        ...opaque,
        format: 'gemini',
        sizes: { kind: 'ratios', ratios: ratiosOf1K },
        takes: [],
        outputs: ['png'],
        // Words tell it where to change what.
        edits: { picturesMax: 3, mask: false, bytesMax: inlineBytesMax },
      },
    ],
    others: null,
  };
}

/** Stable Diffusion web UI, Forge, sd-server: whatever model is loaded. */
export const imagesOfA1111: ImageFacts = {
  families: [],
  pathOf: (_, task) => (task === 'edit' ? '/sdapi/v1/img2img' : '/sdapi/v1/txt2img'),
  others: {
    ...opaque,
    format: 'a1111',
    sizes: { kind: 'steps', multipleOf: 8, min: 64, max: 2_048 },
    takes: [],
    outputs: ['png'],
    edits: { picturesMax: 1, mask: true, bytesMax: inlineBytesMax },
  },
};

/** Azure: the name of a deployment says nothing of its model, so it gets no field that one of them refuses. */
export const imagesOfAzure: ImageFacts = {
  pathOf: (model, task, options) => azurePath(model, openAiPath(model, task, options), options),
  families: openAiFamilies,
  others: { ...anyModel, gives: 'its-own' },
};

/** https://www.recraft.ai/docs/api-reference/appendix: each of its generations has its own sizes, which it judges. */
export const imagesOfRecraft: ImageFacts = {
  families: [],
  pathOf: openAiPath,
  others: {
    format: 'openai',
    perCall: 6,
    sizes: { kind: 'any' },
    gives: 'asked',
    takes: ['style'],
    transparent: false,
  },
};

/** https://fal.ai/models: the path is the model's id. */
export const imagesOfFal: ImageFacts = {
  families: [],
  pathOf: (model) => `/${segments(model)}`,
  others: {
    ...opaque,
    format: 'fal',
    perCall: 4,
    sizes: { kind: 'any' },
    takes: ['output_format'],
    outputs: ['png', 'jpeg'],
  },
};

/** https://replicate.com/docs/reference/http: `owner/name` of an official model; pictures by ratio, as FLUX has them. */
export const imagesOfReplicate: ImageFacts = {
  families: [],
  pathOf: (model) => `/models/${segments(model)}/predictions`,
  others: {
    ...opaque,
    format: 'replicate',
    sizes: inRatios([...fluxRatios, '3:4', '4:3', '9:16', '9:21']),
    takes: ['output_format'],
    outputs: ['png', 'jpeg', 'webp'],
  },
};

const bflModel: ImageModelFacts = {
  ...opaque,
  format: 'bfl',
  sizes: { kind: 'steps', multipleOf: 32, min: 256, max: 1_440 },
  takes: ['output_format'],
  outputs: ['jpeg', 'png'],
};

/** https://docs.bfl.ai: a path for each model. FLUX.2 and Kontext change pictures too. */
export const imagesOfBfl: ImageFacts = {
  pathOf: (model) => `/${pathSegment(model)}`,
  families: [
    {
      pattern: /^flux-2/,
      ...bflModel,
      sizes: { kind: 'steps', multipleOf: 16, min: 64, max: 2_048, pixelsMax: 4_194_304 },
      edits: { picturesMax: 8, mask: false, bytesMax: inlineBytesMax },
    },
    {
      pattern: /kontext|ultra/,
      ...bflModel,
      sizes: inRatios([...fluxRatios, '3:4', '4:3', '9:16', '9:21']),
      edits: { picturesMax: 1, mask: false, bytesMax: inlineBytesMax },
    },
  ],
  others: bflModel,
};

/** https://platform.stability.ai/docs/api-reference: one path for each line of models. */
export const imagesOfStability: ImageFacts = {
  families: [],
  pathOf: (model) =>
    `/stable-image/generate/${model.startsWith('sd3') ? 'sd3' : pathSegment(model.replace('stable-image-', ''))}`,
  others: {
    ...opaque,
    format: 'stability',
    sizes: inRatios([...fluxRatios, '9:16', '9:21']),
    takes: ['output_format'],
    outputs: ['png', 'jpeg', 'webp'],
  },
};

/** Amazon's own, by InvokeModel: sizes of Nova Canvas are free, those of Titan Image are not. */
const novaCanvas: ImageModelFacts = {
  ...opaque,
  format: 'nova-canvas',
  perCall: 5,
  sizes: { kind: 'steps', multipleOf: 16, min: 320, max: 4_096, pixelsMax: 2_048 * 2_048, ratioMax: 4 },
  takes: ['quality'],
  qualities: ['standard', 'premium'],
  outputs: ['png'],
  edits: { picturesMax: 5, mask: true, bytesMax: inlineBytesMax },
};

/**
 * https://docs.aws.amazon.com/nova/latest/userguide/image-gen-access.html,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-image.html and
 * …/model-parameters-stability-diffusion.html
 */
export const imagesOfBedrock: ImageFacts = {
  pathOf: (model) => `/model/${pathSegment(model)}/invoke`,
  families: [
    { pattern: /nova-canvas/, ...novaCanvas },
    {
      pattern: /titan-image/,
      ...novaCanvas,
      sizes: {
        kind: 'listed',
        sizes: ['1024x1024', '768x768', '512x512', '768x1152', '1152x768', '768x1280', '1280x768', '896x1152'].concat(
          ['1152x896', '768x1408', '1408x768', '640x1408', '1408x640', '1152x640', '384x576', '576x384'],
          ['384x640', '640x384', '448x576', '576x448', '384x704', '704x384', '320x704', '704x320', '1173x640'],
        ),
      },
    },
    {
      pattern: /stability\./,
      ...opaque,
      format: 'bedrock-stability',
      sizes: inRatios([...fluxRatios, '9:16', '9:21']),
      takes: ['output_format'],
      outputs: ['png', 'jpeg'],
    },
  ],
  others: null,
};
