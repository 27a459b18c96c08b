import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { unitVector } from '../../src/simulator/embed-vectors.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { assertNear, type Embedded, embeddingsPath, vectorOf } from './embed-world.ts';
import { asked, type ErrorBody } from './served.ts';

const model = 'embed-v4.0';
const texts = ['alpha', 'beta'];
const wish = { model: 'e', input: texts, dimensions: 256 };

interface Case {
  type: string;
  /** End of the base URL, below the upstream's own address. */
  base: string;
  /** Upstream model, where only some take `dimensions`. */
  model?: string;
  config?: Record<string, unknown>;
  path: string;
  /** The field sent for `wish`. */
  body: Record<string, unknown>;
  /** The further field when the caller says that it is a document. */
  document: Record<string, unknown>;
  dropped: string | null;
}

const openAiBody = { input: texts, dimensions: 256 };

const cases: Case[] = [
  {
    type: 'openai',
    base: '/v1',
    path: '/v1/embeddings',
    body: { ...openAiBody, model },
    document: { input_type: 'document' },
    dropped: null,
  },
  {
    type: 'azure-openai',
    base: '',
    config: { api_version: '2026-01-01' },
    path: `/openai/deployments/${model}/embeddings?api-version=2026-01-01`,
    body: { ...openAiBody, model, encoding_format: 'base64' },
    document: {},
    dropped: 'input_type',
  },
  {
    type: 'cohere',
    base: '/compatibility/v1',
    path: '/v2/embed',
    body: { model, texts, input_type: 'search_query', embedding_types: ['float'], output_dimension: 256 },
    document: { input_type: 'search_document' },
    dropped: null,
  },
  {
    type: 'gemini',
    base: '/v1beta',
    model: 'gemini-embedding-001',
    path: '/v1beta/models/gemini-embedding-001:batchEmbedContents',
    body: { requests: texts.map((text) => googleRequest(text, 'RETRIEVAL_QUERY')) },
    document: { requests: texts.map((text) => googleRequest(text, 'RETRIEVAL_DOCUMENT')) },
    dropped: null,
  },
  {
    type: 'jina',
    base: '/v1',
    model: 'jina-embeddings-v3',
    path: '/v1/embeddings',
    body: { ...openAiBody, model: 'jina-embeddings-v3', embedding_type: 'base64', task: 'retrieval.query' },
    document: { task: 'retrieval.passage' },
    dropped: null,
  },
  {
    type: 'voyage',
    base: '/v1',
    model: 'voyage-3.5',
    path: '/v1/embeddings',
    body: { model: 'voyage-3.5', input: texts, output_dimension: 256, encoding_format: 'base64', input_type: 'query' },
    document: { input_type: 'document' },
    dropped: null,
  },
  {
    type: 'mistral',
    base: '/v1',
    model: 'codestral-embed',
    path: '/v1/embeddings',
    body: { model: 'codestral-embed', input: texts, output_dimension: 256 },
    document: {},
    dropped: 'input_type',
  },
  {
    type: 'nvidia',
    base: '/v1',
    model: 'nvidia/nv-embedqa-e5-v5',
    path: '/v1/embeddings',
    body: { ...openAiBody, model: 'nvidia/nv-embedqa-e5-v5', input_type: 'query' },
    document: { input_type: 'passage' },
    dropped: null,
  },
  {
    type: 'ollama',
    base: '/v1',
    path: '/api/embed',
    body: { ...openAiBody, model },
    document: {},
    dropped: 'input_type',
  },
  {
    type: 'tei',
    base: '',
    path: '/embed',
    body: { inputs: texts, dimensions: 256 },
    document: {},
    dropped: 'input_type',
  },
  {
    type: 'infinity',
    base: '',
    path: '/embeddings',
    body: { ...openAiBody, model, encoding_format: 'base64' },
    document: { input_type: 'document' },
    dropped: null,
  },
  {
    type: 'litellm',
    base: '/v1',
    path: '/v1/embeddings',
    body: { ...openAiBody, model },
    document: { input_type: 'document' },
    dropped: null,
  },
  {
    type: 'vllm',
    base: '/v1',
    path: '/v1/embeddings',
    body: { ...openAiBody, model },
    document: { input_type: 'document' },
    dropped: null,
  },
];

function googleRequest(text: string, taskType: string) {
  return {
    model: 'models/gemini-embedding-001',
    content: { parts: [{ text }] },
    taskType,
    outputDimensionality: 256,
  };
}

async function world(t: TestContext, { type, base, model: upstreamModel = model, config = {} }: Case) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type, base_url: `${upstream.url}${base}`, api_key: 'upstream-secret', ...config } },
    models: { e: { type: 'embedding', targets: [{ provider: 'up', model: upstreamModel }] } },
  });
  const ask = (json: unknown) => gateway.fetch(embeddingsPath, { json });
  return { upstream, gateway, ask };
}

for (const one of cases) {
  test(`${one.type}: asked in its own words, its vectors come back in OpenAI’s`, async (t) => {
    const { upstream, ask } = await world(t, one);
    const response = await ask(wish);
    assert.equal(response.status, 200);
    const answer = (await response.json()) as Embedded;
    for (const [i, text] of texts.entries()) assertNear(vectorOf(answer.data[i]!.embedding), unitVector(text, 256));
    assert.equal(answer.model, 'e');
    assert.ok(answer.usage.total_tokens > 0);
    assert.equal(response.headers.get('x-culvert-dropped'), null);
    const [request] = asked(upstream);
    assert.equal(request!.path, one.path);
    assert.deepEqual(request!.body, one.body);
  });

  test(`${one.type}: what the inputs are for is told where it can be, and listed as dropped where not`, async (t) => {
    const { upstream, ask } = await world(t, one);
    const response = await ask({ ...wish, input_type: 'document' });
    assert.equal(response.status, 200);
    await response.text();
    assert.deepEqual(asked(upstream)[0]!.body, { ...one.body, ...one.document });
    assert.equal(response.headers.get('x-culvert-dropped'), one.dropped);
  });

  test(`${one.type}: its error is told by its own words, its overload tried again`, async (t) => {
    const { upstream, ask } = await world(t, one);
    const path = one.path.split('?')[0]!;
    upstream.script(path, ['status=400;message=the input is too long', 'status=503']);
    const refused = await ask(wish);
    assert.equal(refused.status, 400);
    assert.match(((await refused.json()) as ErrorBody).error.message, /too long/);
    const served = await ask(wish);
    assert.equal(served.status, 200);
    assert.equal(served.headers.get('x-culvert-attempts'), '2');
    await served.text();
  });
}

test("the purpose in the service's own member, as Jina's clients send it, or as LiteLLM's users do, is not overruled", async (t) => {
  for (const [type, own] of [
    ['jina', { task: 'retrieval.passage' }],
    ['gemini', { task_type: 'RETRIEVAL_DOCUMENT' }],
    ['gemini', { taskType: 'RETRIEVAL_DOCUMENT' }],
    ['voyage', { task_type: 'document' }],
  ] as const) {
    const one = cases.find((known) => known.type === type)!;
    const { upstream, ask } = await world(t, one);
    const response = await ask({ ...wish, ...own });
    assert.equal(response.headers.get('x-culvert-dropped'), null);
    await response.text();
    assert.deepEqual(asked(upstream)[0]!.body, { ...one.body, ...one.document });
  }
});

test('an Ollama below a path of a proxy is asked there, for embeddings as for chats', async (t) => {
  const { upstream, ask } = await world(t, { ...cases.find(({ type }) => type === 'ollama')!, base: '/ollama/v1' });
  assert.equal((await ask(wish)).status, 200);
  assert.equal(asked(upstream)[0]!.path, '/ollama/api/embed');
});

test('a LiteLLM gets no encoding_format, which many of its services refuse, and an SDK has its base64', async (t) => {
  const { upstream, ask } = await world(t, cases.find(({ type }) => type === 'litellm')!);
  const answer = (await (await ask({ ...wish, encoding_format: 'base64' })).json()) as Embedded;
  assertNear(vectorOf(answer.data[0]!.embedding), unitVector(texts[0]!, 256));
  assert.equal(typeof answer.data[0]!.embedding, 'string');
  assert.deepEqual(asked(upstream)[0]!.body, { ...openAiBody, model });
});

test("a service's own members reach it in its own format: OpenAI's, and Google's from Google's callers", async (t) => {
  const openai = await world(t, cases.find(({ type }) => type === 'vllm')!);
  await (await openai.ask({ ...wish, input_type: 'passage', truncate_prompt_tokens: 8 })).text();
  const { input_type, truncate_prompt_tokens } = asked(openai.upstream)[0]!.body as Record<string, unknown>;
  assert.deepEqual([input_type, truncate_prompt_tokens], ['passage', 8], 'spelt as the caller did');

  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: 'gemini', base_url: `${upstream.url}/v1beta`, api_key: 'x' } },
    models: { e: { type: 'embedding', targets: ['up/gemini-embedding-001'] } },
  });
  const content = { parts: [{ text: 'Hello' }] };
  const json = { content, taskType: 'CODE_RETRIEVAL_QUERY', title: 'Own', api_key: 'x' };
  const response = await gateway.fetch('/v1beta/models/e:embedContent', { json });
  assert.deepEqual([response.status, response.headers.get('x-culvert-dropped')], [200, null], await response.text());
  const [{ body }] = asked(upstream) as unknown as [{ body: { requests: object[] } }];
  const model = 'models/gemini-embedding-001';
  assert.deepEqual(body.requests, [{ title: 'Own', model, content, taskType: 'CODE_RETRIEVAL_QUERY' }]);
});

test("how Cohere cuts long texts reaches Cohere, and is named as dropped where a service of OpenAI's or Google's format would refuse it", async (t) => {
  const json = {
    model: 'e',
    texts: ['Hello'],
    embedding_types: ['float'],
    truncate: 'NONE',
    max_tokens: 64,
    priority: 1,
  };
  for (const [type, path, sent, dropped] of [
    ['cohere', '', { truncate: 'NONE', max_tokens: 64 }, 'priority'],
    ['openai', '/v1', {}, 'max_tokens, priority, truncate'],
    ['gemini', '/v1beta', {}, 'max_tokens, priority, truncate'],
  ] as const) {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const gateway = await startGateway(t, {
      providers: { up: { type, base_url: upstream.url + path, api_key: 'x' } },
      models: { e: { type: 'embedding', targets: ['up/embed-v4.0'] } },
    });
    const answer = await gateway.fetch('/v2/embed', { json });
    assert.equal(answer.status, 200, await answer.text());
    const losses = answer.headers.get('x-culvert-dropped')?.split(', ').toSorted().join(', ');
    const { body: whole } = asked(upstream)[0] as unknown as { body: { requests?: Record<string, unknown>[] } };
    const body = whole.requests?.[0] ?? (whole as Record<string, unknown>);
    const cuts = ['truncate', 'max_tokens', 'priority'].filter((name) => name in body);
    assert.deepEqual([Object.fromEntries(cuts.map((name) => [name, body[name]])), losses], [sent, dropped]);
  }
});

test("members of Ollama's clients reach Ollama or are named as dropped, by their names", async (t) => {
  const json = { model: 'e', input: 'Hello', truncate: false, options: { num_ctx: 512 }, keep_alive: '5m' };
  for (const [type, base, sent, dropped] of [
    ['ollama', '/v1', { truncate: false }, 'options'],
    ['cohere', '', {}, 'truncate, options'],
    ['openai', '/v1', {}, 'truncate, options'],
  ] as const) {
    const { upstream, gateway } = await world(t, { ...cases.find((known) => known.type === type)!, base });
    const answer = await gateway.fetch('/api/embed', { json });
    assert.deepEqual([answer.status, answer.headers.get('x-culvert-dropped')], [200, dropped], await answer.text());
    const { truncate } = asked(upstream)[0]!.body as Record<string, unknown>;
    assert.deepEqual(truncate === undefined ? {} : { truncate }, sent);
  }
});

test("Google's callers learn that the purpose is lost by the name that they gave it", async (t) => {
  const { gateway } = await world(t, cases.find(({ type }) => type === 'tei')!);
  const json = { content: { parts: [{ text: 'Hello' }] }, taskType: 'RETRIEVAL_DOCUMENT' };
  const answer = await gateway.fetch('/v1beta/models/e:embedContent', { json });
  assert.equal(answer.headers.get('x-culvert-dropped'), 'taskType', await answer.text());
});

test("the length that SDKs of Voyage and Mistral ask for reaches each service under the service's name", async (t) => {
  for (const one of cases) {
    const { upstream, ask } = await world(t, one);
    const { dimensions: output_dimension, ...rest } = wish;
    const answer = await ask({ ...rest, output_dimension });
    assert.deepEqual([answer.status, answer.headers.get('x-culvert-dropped')], [200, null], await answer.text());
    assert.deepEqual(asked(upstream)[0]!.body, one.body);
  }
});

test('vectors of integers are asked for as numbers: their base64 has no floats', async (t) => {
  for (const [type, kind] of [
    ['voyage', { output_dtype: 'binary', output_dimension: 256 }],
    ['jina', { embedding_type: 'binary' }],
  ] as const) {
    const { upstream, ask } = await world(t, cases.find((known) => known.type === type)!);
    await ask({ model: 'e', input: texts, ...kind });
    const { encoding_format, ...body } = asked(upstream)[0]!.body as Record<string, unknown>;
    assert.equal(encoding_format, undefined);
    for (const [name, value] of Object.entries(kind)) assert.equal(body[name], value);
  }
});

test('vectors of bits are as long as they come, whatever length of floats the model declares', async (t) => {
  const packed = (type: string) => type === 'binary';
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const body = JSON.parse(text || '{}') as { input?: string[]; output_dtype?: string };
    const embedding = packed(body.output_dtype ?? '') ? [1, -2, 3, -4] : new Array<number>(32).fill(0.5);
    const data = (body.input ?? []).map((_, index) => ({ object: 'embedding', embedding, index }));
    response.end(JSON.stringify({ object: 'list', data, model: 'v', usage: { total_tokens: 3 } }));
  });
  const base_url = `${await listening(t, server)}/v1`;
  const voyage = { type: 'voyage', base_url, api_key: 'k' };
  const targets = ['one/voyage-4', 'two/voyage-4'];
  const gateway = await startGateway(t, {
    providers: { one: voyage, two: voyage },
    models: {
      e: { type: 'embedding', space: 's', dimensions: 32, targets },
      plain: { type: 'embedding', space: 's', targets },
    },
  });
  const ask = async (json: object) => {
    const answer = await gateway.fetch(embeddingsPath, { json: { input: 'a', ...json } });
    assert.equal(answer.status, 200, await answer.clone().text());
    return ((await answer.json()) as Embedded).data[0]!.embedding;
  };
  for (const length of [{}, { dimensions: 32 }, { output_dimension: 32 }])
    assert.deepEqual(await ask({ model: 'e', output_dtype: 'binary', ...length }), [1, -2, 3, -4]);
  for (const output_dtype of ['binary', 'float', 'binary'])
    assert.equal((await ask({ model: 'plain', output_dtype })).length, packed(output_dtype) ? 4 : 32);
});

test('an engine gets no member by which it would fetch addresses, and the answer names it', async (t) => {
  const upstream = await startUpstream();
  t.after(upstream.close);
  for (const [type, field] of [
    ['infinity', 'modality'],
    ['vllm', 'messages'],
    ['sglang', 'messages'],
  ] as const) {
    const gateway = await startGateway(t, {
      providers: { there: { type, base_url: upstream.url + (type === 'infinity' ? '' : '/v1') } },
      models: { e: { type: 'embedding', targets: ['there/m'] } },
    });
    const json = { model: 'e', input: ['http://10.0.0.1/a.png'], [field]: 'image', further: 1 };
    const answer = await gateway.fetch(embeddingsPath, { json });
    assert.equal(answer.headers.get('x-culvert-dropped'), field, await answer.text());
    const { body } = upstream.requests().at(-1)! as unknown as { body: Record<string, unknown> };
    assert.deepEqual([field in body, body.further], [false, 1]);
  }
});

test('a purpose for which a service has no word is left open there, and named as dropped', async (t) => {
  const { upstream, ask } = await world(t, cases.find(({ type }) => type === 'voyage')!);
  // Voyage answers 400: "Argument 'input_type' must be None, 'query', or 'document'."
  for (const input_type of ['clustering', 'CLASSIFICATION', 'text-matching']) {
    upstream.clear();
    const response = await ask({ ...wish, input_type });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get('x-culvert-dropped'), 'input_type');
    assert.equal((asked(upstream)[0]!.body as Record<string, unknown>).input_type, 'query');
  }
});
