import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainImage } from '../../../test/plain-requests.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { unmetImage } from '../../routing/capability.ts';
import { type ImageFacts, type ImageSource, imageModelFacts } from '../media/images/format.ts';
import { imageFormats } from '../media/images/index.ts';
import type { ImageRequest } from '../neutral/image.ts';
import { whyNotSize } from '../neutral/image-size.ts';
import {
  imagesLikeOpenAi,
  imagesOfA1111,
  imagesOfAzure,
  imagesOfFireworks,
  imagesOfOpenAi,
  imagesOfTogether,
  imagesOfXai,
} from './image-models.ts';
import { gemini } from './services/gemini.ts';

const request: ImageRequest = { ...plainImage, model: 'pic', prompt: 'A pier', answerForm: 'b64_json' };

function encoded(
  images: ImageFacts,
  model: string,
  asked: Partial<ImageRequest>,
  more: { count?: number; source?: ImageSource } = {},
): { body: JsonObject; dropped: string[] } {
  const facts = imageModelFacts(images, model)!;
  const { count = 1, source = null } = more;
  const { body, losses } = imageFormats[facts.format].encode({
    model,
    count,
    request: { ...request, ...asked },
    facts,
    source,
  });
  return { body, dropped: losses.map(({ field }) => field) };
}

test('gpt-image models are told everything but response_format, which they refuse, and style', () => {
  const wishes = {
    quality: 'hd',
    style: 'vivid',
    background: 'transparent',
    moderation: 'low',
    outputFormat: 'webp',
    outputCompression: 50,
    user: 'u',
  } as const;
  assert.deepEqual(encoded(imagesOfOpenAi, 'gpt-image-1', wishes), {
    body: {
      model: 'gpt-image-1',
      prompt: 'A pier',
      n: 1,
      quality: 'high',
      background: 'transparent',
      moderation: 'low',
      output_format: 'webp',
      output_compression: 50,
      user: 'u',
    },
    dropped: ['style'],
  });
  // At another address, too: the name says what it is.
  assert.equal(encoded(imagesLikeOpenAi, 'openai/gpt-image-1', {}).body.response_format, undefined);
  assert.equal(encoded(imagesLikeOpenAi, 'flux', {}).body.response_format, 'b64_json');
});

test('from gpt-image-2.5 on models draw GIF and SVG, and know the highest qualities; others get the next lower one', () => {
  for (const model of ['gpt-image-2.5-flare', 'gpt-image-2.6-sunburst', 'gpt-image-3']) {
    assert.equal(encoded(imagesOfOpenAi, model, { quality: 'max' }).body.quality, 'max');
    const { outputs, perCall } = imageModelFacts(imagesOfOpenAi, model)!;
    assert.deepEqual([outputs!.includes('svg'), outputs!.includes('gif'), perCall], [true, true, 4]);
  }
  for (const model of ['gpt-image-1.5', 'gpt-image-2-2026-04-21']) {
    assert.equal(encoded(imagesOfOpenAi, model, { quality: 'max' }).body.quality, 'high');
    assert.equal(imageModelFacts(imagesOfOpenAi, model)!.outputs!.includes('svg'), false);
  }
  assert.equal(encoded(imagesOfOpenAi, 'dall-e-3', { quality: 'xhigh' }).body.quality, 'hd');
});

test('DALL·E 3 draws one a call, and hears of quality in its own words', () => {
  assert.equal(imageModelFacts(imagesOfOpenAi, 'dall-e-3')!.perCall, 1);
  const { body, dropped } = encoded(imagesOfOpenAi, 'dall-e-3', {
    quality: 'high',
    style: 'natural',
    background: 'auto',
  });
  assert.deepEqual(
    [body.quality, body.style, body.response_format, body.background, dropped],
    ['hd', 'natural', 'b64_json', undefined, []],
  );
  assert.equal(encoded(imagesOfOpenAi, 'dall-e-3', { quality: 'low' }).body.quality, 'standard');
  assert.equal(encoded(imagesOfOpenAi, 'dall-e-3', { quality: 'auto' }).body.quality, undefined);
});

test('a link is what upstreams give unasked: response_format is said for base64 alone', () => {
  assert.equal(encoded(imagesOfOpenAi, 'dall-e-2', { answerForm: 'url' }).body.response_format, undefined);
});

for (const [model, width, height, makes] of [
  ['dall-e-2', 256, 256, true],
  ['dall-e-2', 256, 512, false],
  ['dall-e-3', 1_792, 1_024, true],
  ['dall-e-3', 512, 512, false],
  ['gpt-image-1', 1_536, 1_024, true],
  ['gpt-image-1', 1_537, 1_024, false],
  ['gpt-image-2', 1_536, 864, true],
  ['gpt-image-2', 1_530, 864, false],
  ['gpt-image-2', 3_840, 1_024, false],
  ['gpt-image-2', 3_840, 2_160, true],
  ['gpt-image-2', 3_840, 2_176, false],
] as const) {
  test(`${model} ${makes ? 'makes' : 'does not make'} ${width}x${height}`, () => {
    const why = whyNotSize(imageModelFacts(imagesOfOpenAi, model)!.sizes, { width, height });
    assert.equal(why === null, makes, why ?? '');
  });
}

test('a size that a model does not make is answered with all that it makes', () => {
  const why = (images: ImageFacts, model: string) => whyNotSize(imageModelFacts(images, model)!.sizes, size);
  const size = { width: 1, height: 1 };
  assert.equal(
    why(imagesOfOpenAi, 'gpt-image-2'),
    'makes sides of 16 to 3840 pixels, multiples of 16, at most 8294400 pixels in all, the longer at most 3 times the shorter',
  );
  assert.equal(why(imagesOfTogether, 'any'), 'makes sides of 64 to 2048 pixels, multiples of 8');
});

test('xAI and Fireworks are told a ratio; a size that comes out otherwise is listed', () => {
  const square = encoded(imagesOfXai, 'grok-imagine-image', { size: { width: 1_024, height: 1_024 } });
  assert.deepEqual([square.body.aspect_ratio, square.body.size, square.dropped], ['1:1', undefined, []]);
  const wide = encoded(imagesOfFireworks, 'accounts/fireworks/models/flux-1-schnell-fp8', {
    size: { width: 1_280, height: 720 },
  });
  assert.deepEqual([wide.body, wide.dropped], [{ prompt: 'A pier', aspect_ratio: '16:9' }, ['size']]);
  assert.match(whyNotSize(imageModelFacts(imagesOfXai, 'x')!.sizes, { width: 1_000, height: 100 })!, /ratios 1:1/);
});

test('Fireworks answers pictures as data URLs, and draws with its FLUX models alone', () => {
  const answer = imageFormats.fireworks.decode({
    id: '1',
    base64: ['data:image/png;base64,QUJD'],
    finishReason: 'SUCCESS',
  });
  assert.deepEqual(answer, { images: [{ base64: 'QUJD', revisedPrompt: null }], usage: null, reported: {} });
  assert.equal(imageModelFacts(imagesOfFireworks, 'accounts/fireworks/models/llama-v3'), null);
});

test('a path never leads out of where a provider draws, whatever a pattern lets callers name', () => {
  const options = { apiVersion: '2026-05-01' };
  assert.equal(
    imagesOfFireworks.pathOf('accounts/../../flux-dev?x', 'generate', options),
    '/workflows/accounts/-/-/flux-dev%3Fx/text_to_image',
  );
  assert.equal(
    imagesOfAzure.pathOf('../a/b', 'edit', options),
    '/openai/deployments/..%2Fa%2Fb/images/edits?api-version=2026-05-01',
  );
  assert.equal(imagesOfAzure.pathOf('x', 'generate', { apiVersion: null }), '/openai/v1/images/generations');
});

test('the web UI is told sides and its own members, and none that choose scripts, settings or files', () => {
  const { body, dropped } = encoded(imagesOfA1111, 'sdxl.safetensors', {
    size: { width: 768, height: 512 },
    extra: {
      negative_prompt: 'blurry',
      steps: '20',
      seed: 7,
      script_name: 'x',
      override_settings: { outdir_samples: '/' },
      save_images: true,
    },
    style: 'vivid',
  });
  assert.deepEqual(body, {
    negative_prompt: 'blurry',
    steps: 20,
    seed: 7,
    prompt: 'A pier',
    batch_size: 1,
    send_images: true,
    save_images: false,
    override_settings: { sd_model_checkpoint: 'sdxl.safetensors' },
    override_settings_restore_afterwards: false,
    width: 768,
    height: 512,
  });
  assert.deepEqual(dropped, ['style', 'script_name', 'override_settings', 'save_images']);
  assert.equal(encoded(imagesOfA1111, 'default', {}).body.override_settings, undefined);
});

test('the web UI gets a mask the other way round: what is transparent is made anew', () => {
  const source = {
    pictures: [{ mediaType: 'image/png', base64: 'AAAA' }],
    mask: { mediaType: 'image/png', base64: 'BBBB' },
  };
  const { body } = encoded(imagesOfA1111, 'default', {}, { source });
  assert.deepEqual([body.init_images, body.mask, body.inpainting_mask_invert], [['AAAA'], 'BBBB', 1]);
  assert.equal(imagesOfA1111.pathOf('x', 'edit', { apiVersion: null }), '/sdapi/v1/img2img');
});

test('Google’s chat models make no pictures, and Imagen’s changes none', () => {
  const images = gemini.images!;
  assert.equal(imageModelFacts(images, 'gemini-2.5-flash'), null);
  const needs = { size: null, transparent: false, outputFormat: null };
  const edit = { pictures: 1, mask: false, markup: false, bytes: 10 };
  assert.equal(unmetImage(imageModelFacts(images, 'models/imagen-4.0')!, { ...needs, edit }), 'changing pictures');
  const banana = imageModelFacts(images, 'gemini-2.5-flash-image')!;
  assert.equal(unmetImage(banana, { ...needs, edit }), null);
  assert.match(
    unmetImage(banana, { ...needs, edit: { ...edit, bytes: 50_000_000 } })!,
    /^pictures to change: 50000000/,
  );
});

test('filtered pictures of Imagen are left out; when all were, the caller hears why', () => {
  const { decode } = imageFormats.imagen;
  const some = decode({ predictions: [{ raiFilteredReason: 'x' }, { bytesBase64Encoded: 'QUJD' }] });
  assert.ok(!('class' in some) && some.images.length === 1);
  const none = decode({ predictions: [{ raiFilteredReason: 'It shows a person.' }] });
  assert.ok('class' in none && none.class === 'filtered' && none.message.includes('It shows a person.'));
});

test('drafts among a Gemini model’s thoughts are not the picture', () => {
  const inlineData = { mimeType: 'image/png', data: 'QUJD' };
  const parts = [{ thought: true, inlineData: { ...inlineData, data: 'RFJB' } }, { text: 'Here.' }, { inlineData }];
  const answer = imageFormats.gemini.decode({ candidates: [{ content: { parts }, finishReason: 'STOP' }] });
  assert.deepEqual(answer, { images: [{ base64: 'QUJD', revisedPrompt: null }], usage: null, reported: {} });
  const refused = imageFormats.gemini.decode({ candidates: [{ finishReason: 'IMAGE_SAFETY' }] });
  assert.ok('class' in refused && refused.class === 'filtered');
  const words = imageFormats.gemini.decode({
    candidates: [{ content: { parts: [{ text: 'No.' }] }, finishReason: 'STOP' }],
  });
  assert.ok('class' in words && words.class === 'malformed');
});

test('Together is told sides, and nothing that it might refuse', () => {
  const { body, dropped } = encoded(imagesOfTogether, 'black-forest-labs/FLUX.1-dev', {
    size: { width: 1_024, height: 768 },
    quality: 'auto',
    outputFormat: 'jpeg',
    extra: { steps: 4 },
  });
  assert.deepEqual(body, {
    steps: 4,
    model: 'black-forest-labs/FLUX.1-dev',
    prompt: 'A pier',
    n: 1,
    output_format: 'jpeg',
    width: 1_024,
    height: 768,
  });
  assert.deepEqual(dropped, []);
});
