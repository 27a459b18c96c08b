import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { GoogleGenAI } from '@google/genai';
import { OpenAIEmbeddings } from '@langchain/openai';
import OpenAI from 'openai';
import { unitVector } from '../../src/simulator/embed-vectors.ts';
import { assertNear, embeddingsPath } from '../contract/embed-world.ts';
import { asked } from '../contract/served.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/** Alias `e` over an upstream of OpenAI's format, `cohere` over one that knows no base64. */
async function world(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: {
      up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' },
      co: { type: 'cohere', base_url: upstream.url, api_key: 'upstream-secret' },
    },
    models: {
      e: { type: 'embedding', targets: ['up/mock/ok'] },
      cohere: { type: 'embedding', targets: ['co/mock/ok'] },
    },
  });
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
  return { upstream, gateway, client };
}

test('openai: embeddings.create asks for base64 by itself, and gives numbers', async (t) => {
  const { client, upstream } = await world(t);
  const answer = await client.embeddings.create({ model: 'e', input: ['alpha', 'beta'] });
  assert.deepEqual(
    answer.data.map(({ index }) => index),
    [0, 1],
  );
  assertNear(answer.data[1]!.embedding, unitVector('beta', 1_024));
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens);
  assert.equal((asked(upstream)[0]!.body as { encoding_format: string }).encoding_format, 'base64');
});

test('openai: embeddings.create over a provider that gives numbers alone, as base64 and as numbers', async (t) => {
  const { client } = await world(t);
  const byDefault = await client.embeddings.create({ model: 'cohere', input: 'alpha' });
  const numbers = await client.embeddings.create({ model: 'cohere', input: 'alpha', encoding_format: 'float' });
  assertNear(byDefault.data[0]!.embedding, unitVector('alpha', 1_024));
  assertNear(numbers.data[0]!.embedding, unitVector('alpha', 1_024));
});

test("Perplexity's encodings are bytes of whole numbers and of bits, in base64", async (t) => {
  const { gateway, upstream } = await world(t);
  const vectorOf = async (encoding_format: string) => {
    const answer = await gateway.fetch('/v1/embeddings', { json: { model: 'e', input: ['alpha'], encoding_format } });
    const { data } = (await answer.json()) as { data: { embedding: string }[] };
    return Buffer.from(data[0]!.embedding, 'base64');
  };
  const vector = unitVector('alpha', 1_024);
  const largest = Math.max(...vector.map(Math.abs));
  const whole = new Int8Array(await vectorOf('base64_int8'));
  assert.equal(whole.length, 1_024);
  for (const [at, value] of vector.entries()) assert.ok(Math.abs(whole[at]! - (value / largest) * 127) < 0.51);
  const bits = await vectorOf('base64_binary');
  assert.equal(bits.length, 128);
  for (const [at, value] of vector.entries()) assert.equal((bits[at >> 3]! >> (7 - (at & 7))) & 1, Number(value > 0));
  assert.ok(asked(upstream).every(({ body }) => !JSON.stringify(body).includes('base64_')));
});

test("an answer has an id, which Mistral's SDKs require", async (t) => {
  const { gateway } = await world(t);
  for (const model of ['e', 'cohere']) {
    const response = await gateway.fetch('/v1/embeddings', {
      json: { model, input: ['alpha'], encoding_format: 'float' },
    });
    assert.match(((await response.json()) as { id: string }).id, /^embd-[\da-f-]{36}$/);
  }
});

test('openai: embeddings.create of tokens, with dimensions and a user', async (t) => {
  const { client } = await world(t);
  const answer = await client.embeddings.create({ model: 'e', input: [[1, 2], [3]], dimensions: 64, user: 'u' });
  assert.deepEqual(
    answer.data.map(({ embedding }) => embedding.length),
    [64, 64],
  );
});

test('openai: a bad input throws BadRequestError with its field', async (t) => {
  const { client } = await world(t);
  await assert.rejects(client.embeddings.create({ model: 'e', input: ['a', 5 as never] }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, 'input[1]');
    return true;
  });
});

test('langchain: OpenAIEmbeddings embeds documents in its own batches, and a query', async (t) => {
  const { gateway, upstream } = await world(t);
  const embeddings = new OpenAIEmbeddings({
    model: 'e',
    apiKey: testKey,
    batchSize: 2,
    maxRetries: 0,
    configuration: { baseURL: `${gateway.url}/v1` },
  });
  const documents = await embeddings.embedDocuments(['alpha', 'beta', 'gamma']);
  assert.equal(documents.length, 3);
  assertNear(documents[2]!, unitVector('gamma', 1_024));
  assertNear(await embeddings.embedQuery('alpha'), documents[0]!);
  assert.ok(asked(upstream).every(({ path }) => path === embeddingsPath));
});

test('@google/genai: embedContent, of one text and of several, over any provider', async (t) => {
  const { gateway } = await world(t);
  const google = new GoogleGenAI({ apiKey: testKey, httpOptions: { baseUrl: gateway.url } });
  for (const model of ['e', 'cohere']) {
    const one = await google.models.embedContent({ model, contents: 'alpha' });
    assertNear(one.embeddings![0]!.values!, unitVector('alpha', 1_024));
    const config = { outputDimensionality: 64, taskType: 'RETRIEVAL_DOCUMENT' };
    const contents = ['alpha', 'beta'];
    const several = model === 'e' ? await google.models.embedContent({ model, contents, config }) : null;
    if (several !== null) assertNear(several.embeddings![1]!.values!, unitVector('beta', 64));
  }
});
