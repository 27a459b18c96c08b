import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import OpenAI, { toFile } from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { testAwsKeys } from '../upstream-formats/start-aws.ts';
import { type Bedrock, startBedrock, testBedrockToken } from '../upstream-formats/start-bedrock.ts';
import { png } from './image-world.ts';

/* Vectors, pictures and ranks by Bedrock's InvokeModel, which each vendor of a model has bodies of its own for. */

const models = {
  'titan-text': ['embedding', 'amazon.titan-embed-text-v2:0'],
  'titan-picture': ['embedding', 'amazon.titan-embed-image-v1'],
  'nova-embed': ['embedding', 'amazon.nova-2-multimodal-embeddings-v1:0'],
  'cohere-3': ['embedding', 'cohere.embed-multilingual-v3'],
  'cohere-4': ['embedding', 'us.cohere.embed-v4:0'],
  canvas: ['image', 'amazon.nova-canvas-v1:0'],
  titan: ['image', 'amazon.titan-image-generator-v2:0'],
  stability: ['image', 'stability.sd3-5-large-v1:0'],
  'cohere-rerank': ['rerank', 'cohere.rerank-v3-5:0'],
  'amazon-rerank': ['rerank', 'amazon.rerank-v1:0'],
} as const;

interface World {
  bedrock: Bedrock;
  gateway: TestGateway;
  openai: OpenAI;
  /** Bodies of the calls of InvokeModel. */
  bodies(): JsonObject[];
}

const keys = { access_key_id: testAwsKeys.accessKeyId, secret_access_key: testAwsKeys.secretAccessKey };

async function open(t: TestContext, provider: Record<string, unknown> = { aws: keys }): Promise<World> {
  const bedrock = await startBedrock(t);
  const gateway = await startGateway(t, {
    providers: { aws: { type: 'bedrock', base_url: bedrock.url, region: 'us-east-1', ...provider } },
    models: Object.fromEntries(
      Object.entries(models).map(([id, [type, model]]) => [id, { type, targets: [{ provider: 'aws', model }] }]),
    ),
  });
  return {
    bedrock,
    gateway,
    openai: new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 }),
    bodies: () => bedrock.requests.filter(({ operation }) => operation === 'invoke').map(({ body }) => body),
  };
}

test('Titan embeds a text a call, in the length that is asked for, and counts its tokens', async (t) => {
  const { openai, bodies, bedrock } = await open(t);
  const input = ['one two', 'three four five'];
  const answer = await openai.embeddings.create({ model: 'titan-text', input, dimensions: 256 });
  assert.deepEqual(
    answer.data.map(({ embedding }) => embedding.length),
    [256, 256],
  );
  assert.equal(answer.usage.prompt_tokens, 5);
  const sent = bodies().toSorted((a, b) => String(a.inputText).localeCompare(String(b.inputText)));
  assert.deepEqual(
    sent,
    input.map((inputText) => ({ inputText, dimensions: 256 })),
  );
  assert.equal(bedrock.requests.find(({ method }) => method === 'POST')!.model, 'amazon.titan-embed-text-v2:0');
  const image = await openai.embeddings.create({ model: 'titan-picture', input: 'a cat', dimensions: 384 });
  assert.equal(image.data[0]!.embedding.length, 384);
  assert.deepEqual(bodies().at(-1), { inputText: 'a cat', embeddingConfig: { outputEmbeddingLength: 384 } });
});

test('Cohere embeds many texts a call and is told their purpose; only version 4 is told a length', async (t) => {
  const { gateway, bodies } = await open(t);
  const input = Array.from({ length: 100 }, (_, i) => `text ${i}`);
  const embed = async (json: object) => {
    const answer = await gateway.fetch('/v1/embeddings', { json });
    const body = (await answer.json()) as { data: { embedding: number[] }[]; error?: { message: string } };
    return { status: answer.status, body };
  };
  const many = await embed({ model: 'cohere-4', input, dimensions: 512, input_type: 'document' });
  assert.equal(many.status, 200, many.body.error?.message);
  assert.equal(many.body.data.length, 100);
  assert.ok(many.body.data.every(({ embedding }) => embedding.length === 512));
  assert.deepEqual(
    bodies().map(({ texts }) => (texts as string[]).length),
    [96, 4],
  );
  const { texts: _, ...rest } = bodies()[0]!;
  assert.deepEqual(rest, { input_type: 'search_document', embedding_types: ['float'], output_dimension: 512 });
  const third = await embed({ model: 'cohere-3', input: 'hello' });
  assert.equal(third.status, 200, third.body.error?.message);
  assert.equal(bodies().at(-1)!.output_dimension, undefined);
  const refused = await embed({ model: 'cohere-3', input: 'hello', dimensions: 512 });
  assert.equal(refused.status, 400);
  assert.match(refused.body.error!.message, /dimensions/);
});

test("Nova's embeddings are told their purpose in its own words", async (t) => {
  const { gateway, bodies } = await open(t);
  for (const [word, purpose] of [
    ['search_document', 'GENERIC_INDEX'],
    ['query', 'TEXT_RETRIEVAL'],
    ['classification', 'CLASSIFICATION'],
  ]) {
    const json = { model: 'nova-embed', input: 'hello', input_type: word, dimensions: 1024 };
    const answer = await gateway.fetch('/v1/embeddings', { json });
    assert.equal(answer.status, 200, await answer.text());
    const { singleEmbeddingParams } = bodies().at(-1)! as { singleEmbeddingParams: JsonObject };
    assert.equal(singleEmbeddingParams.embeddingPurpose, purpose);
    assert.equal(singleEmbeddingParams.embeddingDimension, 1024);
  }
});

test('Nova Canvas draws up to five pictures a call, by size, quality and members of its own', async (t) => {
  const { openai, bodies, gateway } = await open(t);
  const prompt = 'A culvert.';
  const drawn = await openai.images.generate({ model: 'canvas', prompt, n: 7, size: '1536x1024', quality: 'high' });
  assert.equal(drawn.data!.length, 7);
  assert.ok(drawn.data!.every(({ b64_json, url }) => b64_json !== undefined || url !== undefined));
  const counts = bodies().map(({ imageGenerationConfig }) => (imageGenerationConfig as JsonObject).numberOfImages);
  assert.deepEqual(counts.toSorted(), [2, 5]);
  const config = { width: 1536, height: 1024, quality: 'premium' };
  assert.deepEqual(bodies()[0], {
    taskType: 'TEXT_IMAGE',
    textToImageParams: { text: prompt },
    imageGenerationConfig: { numberOfImages: counts[0], ...config },
  });
  const json = { model: 'canvas', prompt, negative_prompt: 'people', seed: 7, style: 'vivid' };
  const answer = await gateway.fetch('/v1/images/generations', { json });
  assert.equal(answer.status, 200, await answer.text());
  assert.match(answer.headers.get('x-culvert-dropped')!, /style/);
  assert.deepEqual(bodies().at(-1), {
    taskType: 'TEXT_IMAGE',
    textToImageParams: { text: prompt, negativeText: 'people' },
    imageGenerationConfig: { numberOfImages: 1, seed: 7 },
  });
  const odd = await gateway.fetch('/v1/images/generations', { json: { model: 'titan', prompt, size: '1000x1000' } });
  assert.equal(odd.status, 400);
  assert.match(await odd.text(), /1024x1024/);
});

test('an edit is a signed upload: a variation, or a change of what `mask_prompt` names', async (t) => {
  const { gateway, openai, bodies } = await open(t);
  // Larger than a piece that is read of a file.
  const picture = png(90, Buffer.alloc(300_000, 1));
  const image = await toFile(picture, 'cat.png', { type: 'image/png' });
  const edited = await openai.images.edit({ model: 'canvas', prompt: 'at night', image, n: 1 });
  assert.equal(edited.data!.length, 1);
  const { imageVariationParams } = bodies().at(-1)! as { imageVariationParams: { images: string[]; text: string } };
  assert.equal(imageVariationParams.text, 'at night');
  assert.ok(Buffer.from(imageVariationParams.images[0]!, 'base64').equals(picture));
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'titan', prompt: 'a dog', mask_prompt: 'the cat', seed: '4' })) {
    form.append(name, value);
  }
  form.append('image', new Blob([new Uint8Array(picture)], { type: 'image/png' }), 'cat.png');
  const changed = await gateway.fetch('/v1/images/edits', { method: 'POST', body: form });
  assert.equal(changed.status, 200, await changed.text());
  const { taskType, inPaintingParams, imageGenerationConfig } = bodies().at(-1)!;
  assert.equal(taskType, 'INPAINTING');
  assert.equal((inPaintingParams as JsonObject).maskPrompt, 'the cat');
  assert.deepEqual(imageGenerationConfig, { numberOfImages: 1, seed: 4 });
});

test('a transparent mask goes as the black one that Amazon wants, or as the white one of an outpainting', async (t) => {
  const { gateway, bodies } = await open(t);
  const picture = png(90, Buffer.alloc(1_000, 1));
  // Every filter of PNG, three pixels a row: the middle one is transparent, the last one half so.
  const rows = [0, 1, 2, 3, 4].map((filter) => filtered(filter));
  const mask = rgba(3, 5, Buffer.concat(rows));
  const edit = async (more: Record<string, string>, of = mask) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: 'canvas', prompt: 'a dog', ...more })) form.append(name, value);
    form.append('image', new Blob([new Uint8Array(picture)], { type: 'image/png' }), 'cat.png');
    form.append('mask', new Blob([new Uint8Array(of)], { type: 'image/png' }), 'mask.png');
    return gateway.fetch('/v1/images/edits', { method: 'POST', body: form });
  };
  const pixelsOf = (base64: unknown) => {
    const bytes = Buffer.from(String(base64), 'base64');
    const at = bytes.indexOf('IDAT');
    const data = inflateSync(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at - 4)));
    return Array.from({ length: 5 }, (_, y) => [...data.subarray(y * 10 + 1, y * 10 + 10)]);
  };
  const [black, white] = [
    [0, 0, 0],
    [255, 255, 255],
  ];
  const inside = await edit({});
  assert.equal(inside.status, 200, await inside.text());
  const { taskType, inPaintingParams } = bodies().at(-1)! as { taskType: string; inPaintingParams: JsonObject };
  assert.equal(taskType, 'INPAINTING');
  assert.ok(Buffer.from(String(inPaintingParams.image), 'base64').equals(picture));
  for (const row of pixelsOf(inPaintingParams.maskImage)) assert.deepEqual(row, [white, black, white].flat());

  const around = await edit({ outpainting_mode: 'PRECISE', mask_prompt: 'the cat' });
  assert.equal(around.status, 200, await around.text());
  assert.equal(around.headers.get('x-culvert-dropped'), 'mask_prompt');
  const { outPaintingParams } = bodies().at(-1)! as { outPaintingParams: JsonObject };
  assert.equal(outPaintingParams.outPaintingMode, 'PRECISE');
  for (const row of pixelsOf(outPaintingParams.maskImage)) assert.deepEqual(row, [black, white, black].flat());

  for (const broken of [picture, mask.subarray(0, 60)]) {
    const refused = await edit({}, broken);
    const text = await refused.text();
    assert.equal(refused.status, 400, text);
    assert.match(text, /'mask' .*Send a PNG with 8 bits a channel, alpha/);
  }
});

/** A row of three pixels by this filter, beneath one of the same pixels. */
function filtered(filter: number): Buffer {
  const row = [9, 8, 7, 255, 1, 2, 3, 0, 250, 251, 252, 128];
  const first = filter === 0;
  const bytes = row.map((value, i) => {
    const left = i < 4 ? 0 : row[i - 4]!;
    const up = first ? 0 : value;
    const upLeft = i < 4 || first ? 0 : row[i - 4]!;
    const near = [left, up, upLeft].toSorted(
      (a, b) => Math.abs(left + up - upLeft - a) - Math.abs(left + up - upLeft - b),
    )[0]!;
    return value - [0, left, up, (left + up) >> 1, near][filter]!;
  });
  return Buffer.from([filter, ...bytes.map((value) => value & 255)]);
}

function rgba(width: number, height: number, rows: Buffer): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const framed = Buffer.alloc(data.length + 12);
    framed.writeUInt32BE(data.length, 0);
    framed.write(type, 4, 'latin1');
    framed.set(data, 8);
    framed.writeUInt32BE(crc32(framed.subarray(4, 8 + data.length)), 8 + data.length);
    return framed;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 6], 8);
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

test("Stability's models draw by ratio, and a filtered prompt is the caller's fault", async (t) => {
  const { gateway, bodies } = await open(t);
  const draw = (json: object) =>
    gateway.fetch('/v1/images/generations', { json: { model: 'stability', prompt: 'A culvert.', ...json } });
  const answer = await draw({ size: '1344x768', output_format: 'jpeg' });
  assert.equal(answer.status, 200, await answer.text());
  assert.deepEqual(bodies().at(-1), { prompt: 'A culvert.', aspect_ratio: '16:9', output_format: 'jpeg' });
  const refused = await draw({ prompt: 'forbidden' });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /Filter reason: prompt/);
  const edited = new FormData();
  edited.append('model', 'stability');
  edited.append('prompt', 'x');
  edited.append('image', new Blob([new Uint8Array(png())]), 'a.png');
  assert.equal((await gateway.fetch('/v1/images/edits', { method: 'POST', body: edited })).status, 400);
});

for (const provider of [{ aws: keys }, { api_key: testBedrockToken }]) {
  test(`both vendors rank by InvokeModel, with ${Object.keys(provider)[0]}`, async (t) => {
    const { gateway, bodies } = await open(t, provider);
    const documents = ['The sea is blue.', 'Paris is the capital of France.', 'Bread is made of flour.'];
    for (const model of ['cohere-rerank', 'amazon-rerank']) {
      const json = { model, query: 'capital of France', documents, top_n: 2, return_documents: true, user: 'me' };
      const answer = await gateway.fetch('/v1/rerank', { json });
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      const { results } = JSON.parse(text) as { results: { index: number; relevance_score: number }[] };
      assert.equal(results.length, 2);
      assert.deepEqual(results[0], { index: 1, relevance_score: 1, document: { text: documents[1] } });
      assert.equal(answer.headers.get('x-culvert-dropped'), 'user');
      const version = model === 'cohere-rerank' ? { api_version: 2 } : {};
      assert.deepEqual(bodies().at(-1), { query: 'capital of France', documents, top_n: 2, ...version });
      const objects = documents.map((fact) => ({ fact, year: 2026 }));
      const ranked = await gateway.fetch('/v1/rerank', {
        json: { model, query: 'capital of France', documents: objects, rank_fields: ['fact'] },
      });
      assert.equal(ranked.headers.get('x-culvert-dropped'), null, await ranked.text());
      assert.deepEqual(bodies().at(-1)!.documents, documents);
    }
  });
}

test('errors of InvokeModel are read as Bedrock writes them', async (t) => {
  const { gateway, bedrock } = await open(t);
  const Message = 'Malformed input request: expected maxLength: 50000';
  bedrock.script('invoke', [{ status: 400, json: { Message }, errorType: 'ValidationException' }]);
  for (const [path, json] of [
    ['/v1/embeddings', { model: 'titan-text', input: 'x' }],
    ['/v1/images/generations', { model: 'stability', prompt: 'x' }],
    ['/v1/rerank', { model: 'amazon-rerank', query: 'x', documents: ['y'] }],
  ] as const) {
    const answer = await gateway.fetch(path, { json });
    assert.equal(answer.status, 400, path);
    assert.match(await answer.text(), /Malformed input request: expected maxLength/);
  }
});
