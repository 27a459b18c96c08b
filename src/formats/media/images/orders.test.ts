import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainImage } from '../../../../test/plain-requests.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { ImageRequest } from '../../neutral/image.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { ImageFormatId, ImageModelFacts, ImageSource } from './format.ts';
import { imageFormats } from './index.ts';

/* What each service of pictures is sent: by its documentation, which each format names. */

const ratios = { kind: 'ratios', ratios: { '1:1': '1024x1024', '16:9': null } } as const;
const mask = { mediaType: 'image/png', base64: 'MASK' };
const one: ImageSource = { pictures: [{ mediaType: 'image/png', base64: 'AAAA' }], mask: null };
const two: ImageSource = { pictures: [...one.pictures, { mediaType: 'image/jpeg', base64: 'BBBB' }], mask: null };

interface Order {
  model?: string;
  count?: number;
  request?: Partial<ImageRequest>;
  facts?: Partial<ImageModelFacts>;
  source?: ImageSource;
}

function encoded(format: ImageFormatId, { model = 'model-1', count = 1, request, facts, source }: Order) {
  return imageFormats[format].encode({
    model,
    count,
    request: { ...plainImage, ...request },
    facts: { format, perCall: 4, sizes: { kind: 'any' }, gives: 'its-own', takes: [], ...facts },
    source: source ?? null,
  });
}

const size = (width: number, height: number) => ({ width, height });
const clamped: Loss = { field: 'size', why: 'clamped' };
const prompt = 'An otter';

const orders: readonly [what: string, ImageFormatId, Order, body: JsonObject, losses?: Loss[]][] = [
  ['its own model', 'openai', {}, { model: 'model-1', prompt, n: 1 }],
  [
    'base64 of a model that knows the field',
    'openai',
    { facts: { gives: 'asked' }, request: { answerForm: 'b64_json', size: size(512, 256) }, count: 3 },
    { model: 'model-1', prompt, n: 3, response_format: 'b64_json', size: '512x256' },
  ],
  [
    'a link of a model that knows the field',
    'openai',
    { facts: { gives: 'asked' } },
    { model: 'model-1', prompt, n: 1 },
  ],
  [
    'base64 of a model that does not',
    'openai',
    { request: { answerForm: 'b64_json' } },
    { model: 'model-1', prompt, n: 1 },
  ],
  [
    'a size as two sides, and a member that may not go',
    'openai',
    {
      facts: { sizeAs: 'sides', without: ['image_url'] },
      request: { size: size(512, 256), extra: { image_url: 'u' } },
    },
    { model: 'model-1', prompt, n: 1, width: 512, height: 256 },
    [{ field: 'image_url', why: 'unsupported' }],
  ],
  [
    'a ratio',
    'openai',
    { facts: { sizes: ratios }, request: { size: size(1600, 900) } },
    { model: 'model-1', prompt, n: 1, aspect_ratio: '16:9' },
    [clamped],
  ],
  [
    'the words of another model',
    'openai',
    { facts: { takes: 'all', qualities: ['standard', 'hd'] }, request: { quality: 'xhigh', user: 'u' } },
    { model: 'model-1', prompt, n: 1, quality: 'hd', user: 'u' },
  ],
  [
    'a quality that no word of the model comes near',
    'openai',
    { facts: { takes: ['quality'], qualities: ['hd'] }, request: { quality: 'low' } },
    { model: 'model-1', prompt, n: 1 },
  ],
  [
    'what a model makes anyway',
    'openai',
    {
      facts: { outputs: ['png'] },
      request: { outputFormat: 'png', background: 'opaque', quality: 'auto', style: 'vivid' },
    },
    { model: 'model-1', prompt, n: 1 },
    [{ field: 'style', why: 'unsupported' }],
  ],
  [
    'what it does not',
    'openai',
    { facts: { outputs: ['png'] }, request: { outputFormat: 'webp', background: 'transparent' } },
    { model: 'model-1', prompt, n: 1 },
    [
      { field: 'background', why: 'unsupported' },
      { field: 'output_format', why: 'unsupported' },
    ],
  ],
  [
    'two pictures to change, in a ratio',
    'gemini',
    { facts: { sizes: ratios }, request: { size: size(1024, 1024), extra: { seed: 1 } }, source: two },
    {
      contents: [
        {
          role: 'user',
          parts: [
            { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
            { inlineData: { mimeType: 'image/jpeg', data: 'BBBB' } },
            { text: prompt },
          ],
        },
      ],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '1:1' } },
    },
    [{ field: 'seed', why: 'unknown' }],
  ],
  [
    'a format and its compression',
    'imagen',
    {
      count: 2,
      facts: { sizes: ratios, takes: ['output_format', 'output_compression'] },
      request: { outputFormat: 'jpeg', outputCompression: 70, size: size(1600, 900), extra: { seed: 1 } },
    },
    {
      instances: [{ prompt }],
      parameters: {
        sampleCount: 2,
        includeRaiReason: true,
        aspectRatio: '16:9',
        outputOptions: { mimeType: 'image/jpeg', compressionQuality: 70 },
      },
    },
    [clamped, { field: 'seed', why: 'unknown' }],
  ],
  [
    'a format alone',
    'imagen',
    { facts: { takes: ['output_format', 'output_compression'] }, request: { outputFormat: 'png' } },
    {
      instances: [{ prompt }],
      parameters: { sampleCount: 1, includeRaiReason: true, outputOptions: { mimeType: 'image/png' } },
    },
  ],
  [
    'the loaded model, with numbers that came in a form',
    'a1111',
    {
      model: 'default',
      count: 2,
      request: {
        size: size(512, 256),
        extra: {
          seed: '7',
          steps: 20,
          cfg_scale: '7.5',
          negative_prompt: '3',
          sampler_name: 'Euler',
          script_name: 'x',
        },
      },
    },
    {
      negative_prompt: '3',
      seed: 7,
      steps: 20,
      cfg_scale: 7.5,
      sampler_name: 'Euler',
      prompt,
      batch_size: 2,
      send_images: true,
      save_images: false,
      width: 512,
      height: 256,
    },
    [{ field: 'script_name', why: 'unknown' }],
  ],
  [
    'another model, with a mask over a picture; a text is no number',
    'a1111',
    { request: { extra: { seed: '7x', scheduler: '1' } }, source: { ...two, mask } },
    {
      seed: '7x',
      scheduler: '1',
      prompt,
      batch_size: 1,
      send_images: true,
      save_images: false,
      override_settings: { sd_model_checkpoint: 'model-1' },
      override_settings_restore_afterwards: false,
      init_images: ['AAAA', 'BBBB'],
      mask: 'MASK',
      inpainting_mask_invert: 1,
    },
  ],
  [
    'a picture without a mask',
    'a1111',
    { model: 'default', source: one },
    { prompt, batch_size: 1, send_images: true, save_images: false, init_images: ['AAAA'] },
  ],
  [
    'a ratio and further members',
    'fireworks',
    { facts: { sizes: ratios }, request: { size: size(1024, 1024), quality: 'hd', extra: { seed: 7 } } },
    { seed: 7, prompt, aspect_ratio: '1:1' },
    [{ field: 'quality', why: 'unsupported' }],
  ],
  [
    'a size and base64',
    'fal',
    { count: 2, request: { size: size(512, 256), answerForm: 'b64_json', extra: { seed: 7 } } },
    { seed: 7, prompt, num_images: 2, image_size: { width: 512, height: 256 }, sync_mode: true },
  ],
  ['a link', 'fal', {}, { prompt, num_images: 1, sync_mode: false }],
  [
    'an input',
    'replicate',
    { facts: { sizes: ratios }, request: { size: size(1600, 900), extra: { seed: 7 } } },
    { input: { seed: 7, prompt, aspect_ratio: '16:9' } },
    [clamped],
  ],
  [
    'a size, and two pictures by number',
    'bfl',
    { request: { size: size(512, 256) }, source: two },
    { prompt, width: 512, height: 256, input_image: 'AAAA', input_image_2: 'BBBB' },
  ],
  [
    'a ratio in place of a size',
    'bfl',
    { facts: { sizes: ratios }, request: { size: size(1024, 1024) } },
    { prompt, aspect_ratio: '1:1' },
  ],
  ['a model of a shared path', 'stability', { model: 'sd3.5-large' }, { prompt, model: 'sd3.5-large' }],
  ['a model of a path of its own', 'stability', { model: 'ultra' }, { prompt }],
  [
    'a ratio',
    'bedrock-stability',
    { facts: { sizes: ratios }, request: { size: size(1024, 1024) } },
    { prompt, aspect_ratio: '1:1' },
  ],
  [
    'a text, and what it shall not be',
    'nova-canvas',
    {
      count: 2,
      facts: { takes: ['quality'] },
      request: {
        size: size(512, 256),
        quality: 'premium',
        extra: { negative_prompt: '1', seed: '7', cfg_scale: 6.5, mask_prompt: 'the sky' },
      },
    },
    {
      taskType: 'TEXT_IMAGE',
      textToImageParams: { text: prompt, negativeText: '1' },
      imageGenerationConfig: { numberOfImages: 2, seed: 7, cfgScale: 6.5, quality: 'premium', width: 512, height: 256 },
    },
    [{ field: 'mask_prompt', why: 'unknown' }],
  ],
  [
    'pictures to draw anew',
    'nova-canvas',
    { request: { size: size(512, 256), extra: { strength: '0.5' } }, source: two },
    {
      taskType: 'IMAGE_VARIATION',
      imageVariationParams: { images: ['AAAA', 'BBBB'], text: prompt, similarityStrength: 0.5 },
      imageGenerationConfig: { numberOfImages: 1, width: 512, height: 256 },
    },
  ],
  [
    'what is inside of a mask, for one picture of its size',
    'nova-canvas',
    { request: { size: size(512, 256), extra: { mask_prompt: 'the sky' } }, source: { ...two, mask } },
    {
      taskType: 'INPAINTING',
      inPaintingParams: { image: 'AAAA', maskImage: 'MASK', text: prompt },
      imageGenerationConfig: { numberOfImages: 1 },
    },
    [
      { field: 'mask_prompt', why: 'unsupported' },
      { field: 'size', why: 'unsupported' },
      { field: 'image', why: 'narrowed' },
    ],
  ],
  [
    'what is around a description',
    'nova-canvas',
    { request: { extra: { mask_prompt: 'the otter', outpainting_mode: 'PRECISE' } }, source: one },
    {
      taskType: 'OUTPAINTING',
      outPaintingParams: { image: 'AAAA', maskPrompt: 'the otter', text: prompt, outPaintingMode: 'PRECISE' },
      imageGenerationConfig: { numberOfImages: 1 },
    },
  ],
];

for (const [what, format, order, body, losses = []] of orders) {
  test(`${format} is asked for ${what}`, () => {
    assert.deepEqual(encoded(format, order), { body, losses });
  });
}

test('Nova Canvas draws anew what is black in a mask, or what is white to draw around it', () => {
  const { maskedAs } = imageFormats['nova-canvas'];
  assert.equal(maskedAs?.(plainImage), 'black');
  assert.equal(maskedAs?.({ ...plainImage, extra: { outpainting_mode: 'DEFAULT' } }), 'white');
});
