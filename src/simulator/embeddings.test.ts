import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import OpenAI from 'openai';
import { startUpstream } from '../../test/start-upstream.ts';
import type { JsonObject } from '../kernel/json.ts';

const upstream = await startUpstream();
after(() => upstream.close());
beforeEach(() => upstream.clear());
const client = new OpenAI({ baseURL: `${upstream.url}/v1`, apiKey: 'none', maxRetries: 0 });

/** One dialect: how `texts` are asked for, and where an answer has its vectors. */
interface Dialect {
  path: string;
  ask(texts: readonly string[], dimensions?: number): JsonObject;
  vectors(answer: never): number[][];
}

const dialects: Record<string, Dialect> = {
  OpenAI: {
    path: '/v1/embeddings',
    ask: (input, dimensions) => ({ model: 'sim/embedding', input: [...input], ...(dimensions && { dimensions }) }),
    vectors: (answer: { data: { embedding: number[] }[] }) => answer.data.map(({ embedding }) => embedding),
  },
  Voyage: {
    path: '/v1/embeddings',
    ask: (input, size) => ({ model: 'sim/embedding', input: [...input], ...(size && { output_dimension: size }) }),
    vectors: (answer: { data: { embedding: number[] }[] }) => answer.data.map(({ embedding }) => embedding),
  },
  'Azure’s path': {
    path: '/openai/deployments/emb/embeddings?api-version=1',
    ask: (input, dimensions) => ({ input: [...input], ...(dimensions && { dimensions }) }),
    vectors: (answer: { data: { embedding: number[] }[] }) => answer.data.map(({ embedding }) => embedding),
  },
  'Gemini, several': {
    path: '/v1beta/models/sim-embedding:batchEmbedContents',
    ask: (texts, size) => ({
      requests: texts.map((text) => ({
        model: 'models/sim-embedding',
        content: { parts: [{ text }] },
        ...(size && { outputDimensionality: size }),
      })),
    }),
    vectors: (answer: { embeddings: { values: number[] }[] }) => answer.embeddings.map(({ values }) => values),
  },
  Cohere: {
    path: '/v2/embed',
    ask: (texts, size) => ({
      model: 'sim-embed',
      texts: [...texts],
      input_type: 'search_query',
      embedding_types: ['float'],
      ...(size && { output_dimension: size }),
    }),
    vectors: (answer: { embeddings: { float: number[][] } }) => answer.embeddings.float,
  },
  TEI: {
    path: '/embed',
    ask: (inputs, dimensions) => ({ inputs: [...inputs], ...(dimensions && { dimensions }) }),
    vectors: (answer: number[][]) => answer,
  },
  Ollama: {
    path: '/api/embed',
    ask: (input, dimensions) => ({ model: 'nomic', input: [...input], ...(dimensions && { dimensions }) }),
    vectors: (answer: { embeddings: number[][] }) => answer.embeddings,
  },
};

const post = (path: string, body: JsonObject, mock?: string) =>
  fetch(upstream.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: mock === undefined ? {} : { 'x-mock': mock },
  });

for (const [name, { path, ask, vectors }] of Object.entries(dialects)) {
  const embed = async (texts: readonly string[], dimensions?: number, mock?: string) => {
    const response = await post(path, ask(texts, dimensions), mock);
    assert.equal(response.status, 200);
    return vectors((await response.json()) as never);
  };

  test(`${name}: equal texts get equal unit vectors of 1,024 numbers, others different ones`, async () => {
    const [a, b, again] = (await embed(['a culvert', 'a bridge', 'a culvert'])) as [number[], number[], number[]];
    assert.equal(a.length, 1_024);
    assert.ok(Math.abs(Math.hypot(...a) - 1) < 1e-4);
    assert.deepEqual(a, again);
    assert.ok(Math.abs(a.reduce((sum, number, at) => sum + number * b[at]!, 0)) < 0.2);
  });

  test(`${name}: the size asked for`, async () => {
    assert.deepEqual(
      (await embed(['a', 'b'], 8)).map((vector) => vector.length),
      [8, 8],
    );
  });

  test(`${name}: wrong counts, wrong lengths, wrong numbers`, async () => {
    assert.equal((await embed(['a', 'b'], 8, 'vectors=1')).length, 1);
    assert.equal((await embed(['a', 'b'], 8, 'vectors=3')).length, 3);
    assert.deepEqual(
      (await embed(['a', 'b'], 8, 'vector-size=5')).map((vector) => vector.length),
      [5, 5],
    );
    assert.deepEqual(
      (await embed(['a', 'b'], 8, 'ragged')).map((vector) => vector.length),
      [8, 7],
    );
    assert.equal((await embed(['a', 'b'], 8, 'nan=null'))[1]![0], null);
    const [a, b] = await embed(['a', 'b'], 8);
    assert.deepEqual(await embed(['a', 'b'], 8, 'shuffle'), [b, a]);
    await assert.rejects(async () => (await post(path, ask(['a']), 'nan')).json(), SyntaxError);
  });

  test(`${name}: fails as it is told, in its own words`, async () => {
    const failed = await post(path, ask(['a']), 'status=429;retry-after=2');
    assert.equal(failed.status, 429);
    assert.equal(failed.headers.get('retry-after'), '2');
    assert.match(await failed.text(), /Rate limit reached/);
    await assert.rejects(async () => (await post(path, ask(['a']), 'malformed')).json(), SyntaxError);
    await assert.rejects(async () => (await post(path, ask(['a']), 'cut=120')).text());
    assert.equal((await post(path, ask([]))).status, 400);
  });
}

test('shuffled embeddings carry the index of their own input; same-index says 0 of all', async () => {
  const body = { model: 'sim/embedding', input: ['a', 'b', 'c'], dimensions: 4 };
  const indexes = async (mock: string) =>
    ((await (await post('/v1/embeddings', body, mock)).json()) as { data: { index: number }[] }).data.map(
      ({ index }) => index,
    );
  assert.deepEqual(await indexes('shuffle'), [2, 1, 0]);
  assert.deepEqual(await indexes('same-index'), [0, 0, 0]);
});

test('base64 holds the same numbers as the floats, and NaN where it is told', async () => {
  const floats = await client.embeddings.create({ model: 'sim/embedding', input: 'x', encoding_format: 'float' });
  // The SDK asks for base64 by itself and decodes it.
  const decoded = await client.embeddings.create({ model: 'sim/embedding', input: 'x' });
  const body = upstream.requests().at(-1)!.body as JsonObject;
  assert.equal(body.encoding_format, 'base64');
  assert.deepEqual([...decoded.data[0]!.embedding], floats.data[0]!.embedding.map(Math.fround));
  const broken = await client.embeddings.create({ model: 'mock/nan', input: 'x' });
  assert.ok(Number.isNaN(broken.data[0]!.embedding[0]));
});

test('a list of numbers is one input of tokens, a list of lists several', async () => {
  const of = async (input: number[] | number[][]) =>
    (await client.embeddings.create({
      model: 'sim/embedding',
      input,
      dimensions: 4,
    })) as OpenAI.CreateEmbeddingResponse;
  const one = await of([1, 2, 3]);
  assert.equal(one.data.length, 1);
  assert.equal(one.usage.prompt_tokens, 3);
  const two = await of([[1, 2, 3], [4]]);
  assert.equal(two.data.length, 2);
  assert.deepEqual(two.data[0]!.embedding, one.data[0]!.embedding);
});

test('usage is told where the dialect tells it, and left out when told to', async () => {
  const { usage } = await client.embeddings.create({ model: 'sim/embedding', input: ['12345678', ''] });
  assert.deepEqual(usage, { prompt_tokens: 10, total_tokens: 10 });
  const without = await client.embeddings.create({ model: 'mock/omit=usage', input: 'x' });
  assert.equal(without.usage, undefined);
  const cohere = await (await post('/v2/embed', dialects.Cohere!.ask(['12345678']))).json();
  assert.deepEqual((cohere as { meta: { billed_units: unknown } }).meta.billed_units, { input_tokens: 6 });
  const ollama = await (await post('/api/embed', dialects.Ollama!.ask(['12345678']))).json();
  assert.equal((ollama as { prompt_eval_count: number }).prompt_eval_count, 6);
});

test('Gemini embeds one content too; a fault in its path strikes', async () => {
  const body = { content: { parts: [{ text: 'a' }] }, outputDimensionality: 8 };
  const one = await (await post('/v1beta/models/sim-embedding:embedContent', body)).json();
  const { vectors, path, ask } = dialects['Gemini, several']!;
  const [first] = vectors((await (await post(path, ask(['a'], 8))).json()) as never);
  assert.deepEqual((one as { embedding: { values: number[] } }).embedding.values, first);
  const failed = await post('/v1beta/models/mock%2Fstatus%3D503:embedContent', body);
  assert.equal(failed.status, 503);
  assert.equal(((await failed.json()) as { error: { status: string } }).error.status, 'UNAVAILABLE');
});

test('what is no embedding request is refused with the field', async () => {
  for (const [body, param] of [
    [{ input: 'x' }, 'model'],
    [{ model: 'm' }, 'input'],
    [{ model: 'm', input: [] }, 'input'],
    [{ model: 'm', input: [{}] }, 'input'],
    [{ model: 'm', input: 'x', dimensions: 0 }, 'dimensions'],
  ] as const) {
    const response = await post('/v1/embeddings', body as JsonObject);
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as { error: { param: string } }).error.param, param);
  }
  assert.equal((await post('/v2/embed', { model: 'm', texts: ['a'] })).status, 400, 'Cohere wants an input_type');
});

test('a header, a delay and compression work as on any other endpoint', async () => {
  const response = await post('/v1/embeddings', { model: 'm', input: 'x' }, 'delay=1ms;header.x-a=b;gzip');
  assert.equal(response.headers.get('x-a'), 'b');
  assert.equal(((await response.json()) as { object: string }).object, 'list');
});
