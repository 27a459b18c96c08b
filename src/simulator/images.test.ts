import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { inflateSync } from 'node:zlib';
import OpenAI, { toFile } from 'openai';
import { startUpstream } from '../../test/start-upstream.ts';
import type { JsonObject } from '../kernel/json.ts';
import { simulatedPicture } from './endpoints/speak-images.ts';

const upstream = await startUpstream();
after(() => upstream.close());
beforeEach(() => upstream.clear());
const client = new OpenAI({ baseURL: `${upstream.url}/v1`, apiKey: 'none', maxRetries: 0 });
const ask = { model: 'sim/image', prompt: 'a culvert', size: '64x32' as '256x256' };

const post = (path: string, body: JsonObject, mock?: string) =>
  fetch(upstream.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: mock === undefined ? {} : { 'x-mock': mock },
  });

/** Width, height and the pixels of a picture of one bit a pixel, as a text of dots. */
function readPng(png: Buffer): { width: number; height: number; rows: string[] } {
  assert.equal(png.toString('latin1', 1, 4), 'PNG');
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const at = png.indexOf('IDAT');
  const pixels = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
  const rowBytes = 1 + Math.ceil(width / 8);
  const rows = Array.from({ length: height }, (_, y) => {
    const row = pixels.subarray(y * rowBytes + 1, (y + 1) * rowBytes);
    return [...row]
      .map((byte) => byte.toString(2).padStart(8, '0'))
      .join('')
      .slice(0, width);
  });
  return { width, height, rows };
}

test('the picture has the size that was asked for and says in its pixels that it is simulated', () => {
  const { width, height, rows } = readPng(simulatedPicture(64, 32, 1));
  assert.deepEqual([width, height], [64, 32]);
  const word = rows.slice(3, 10).map((row) => row.slice(5, 11).replaceAll('0', ' ').replaceAll('1', '#').trimEnd());
  // Its first letter, one pixel a dot.
  assert.deepEqual(word, [' ####', '#', '#', ' ###', '    #', '    #', '####']);
});

test('a picture comes as a link to it or in the answer, as many as wanted', async () => {
  const { data } = await client.images.generate({ ...ask, n: 2 });
  assert.equal(data!.length, 2);
  const shown = await fetch(data![1]!.url!);
  assert.equal(shown.headers.get('content-type'), 'image/png');
  assert.deepEqual(Buffer.from(await shown.arrayBuffer()), simulatedPicture(64, 32, 2));
  const inside = await client.images.generate({ ...ask, response_format: 'b64_json' });
  assert.deepEqual(Buffer.from(inside.data![0]!.b64_json!, 'base64'), simulatedPicture(64, 32, 1));
  const gpt = await client.images.generate({ ...ask, model: 'gpt-image-1' });
  assert.equal(typeof gpt.data![0]!.b64_json, 'string', 'it knows no links');
});

test('an edit takes its pictures as a form', async () => {
  const image = await toFile(simulatedPicture(16, 16, 1), 'a.png', { type: 'image/png' });
  const { data } = await client.images.edit({ ...ask, image: [image, image], response_format: 'b64_json' });
  assert.deepEqual(Buffer.from(data![0]!.b64_json!, 'base64'), simulatedPicture(64, 32, 1));
  const body = upstream.requests()[0]!.body as { image: JsonObject[] };
  assert.deepEqual(
    body.image.map(({ filename }) => filename),
    ['a.png', 'a.png'],
  );
});

test('drafts of a streamed picture come before it', async () => {
  const stream = await client.images.generate({ ...ask, model: 'gpt-image-1', stream: true, partial_images: 2 });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  assert.deepEqual(types, [
    'image_generation.partial_image',
    'image_generation.partial_image',
    'image_generation.completed',
  ]);
});

const elsewhere: Record<string, { path: string; body: JsonObject; picture(answer: never): string }> = {
  'Stable Diffusion web UI': {
    path: '/sdapi/v1/txt2img',
    body: { prompt: 'a', width: 64, height: 32 },
    picture: (answer: { images: string[] }) => answer.images[0]!,
  },
  Imagen: {
    path: '/v1beta/models/imagen-4:predict',
    body: { instances: [{ prompt: 'a' }], parameters: { sampleCount: 1 } },
    picture: (answer: { predictions: { bytesBase64Encoded: string }[] }) => answer.predictions[0]!.bytesBase64Encoded,
  },
  Gemini: {
    path: '/v1beta/models/gemini-image:generateContent',
    body: { contents: [{ parts: [{ text: 'a' }] }], generationConfig: { responseModalities: ['IMAGE'] } },
    picture: (answer: { candidates: { content: { parts: { inlineData: { data: string } }[] } }[] }) =>
      answer.candidates[0]!.content.parts[0]!.inlineData.data,
  },
  Fireworks: {
    path: '/inference/v1/workflows/accounts/f/models/flux/text_to_image',
    body: { prompt: 'a' },
    picture: (answer: { base64: string[] }) => answer.base64[0]!,
  },
};
for (const [name, { path, body, picture }] of Object.entries(elsewhere)) {
  test(`${name}: a picture, or bytes that are none, or an error in its own words`, async () => {
    const bytes = async (mock?: string) =>
      Buffer.from(picture((await (await post(path, body, mock)).json()) as never), 'base64');
    assert.equal(readPng(await bytes()).width, path.startsWith('/sdapi') ? 64 : 1_024);
    assert.match((await bytes('corrupt')).toString(), /^This is not a picture/);
    const failed = await post(path, body, 'status=500');
    assert.equal(failed.status, 500);
    assert.match(await failed.text(), /The server had an error/);
  });
}

test('wrong counts, broken answers, links to nothing', async () => {
  const of = async (mock: string) =>
    (await (await post('/v1/images/generations', ask, mock)).json()) as { data: { url: string }[] };
  assert.equal((await of('pictures=3')).data.length, 3);
  assert.equal((await of('pictures=0')).data.length, 0);
  const [corrupt] = (await of('corrupt')).data;
  assert.match(await (await fetch(corrupt!.url)).text(), /^This is not a picture/);
  await assert.rejects(of('malformed'), SyntaxError);
  await assert.rejects(of('cut=20'));
  assert.equal((await fetch(`${upstream.url}/simulated-picture/9x9/1.png`)).status, 404);
});

test('what is no request for pictures is refused with the field', async () => {
  for (const [body, param] of [
    [{ prompt: '' }, 'prompt'],
    [{ n: 11 }, 'n'],
    [{ size: '8x8' }, 'size'],
    [{ size: 'big' }, 'size'],
    [{ output_format: 'webp' }, 'output_format'],
  ] as const) {
    const response = await post('/v1/images/generations', { ...ask, ...body });
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as { error: { param: string } }).error.param, param);
  }
});
