import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { type JsonObject, objectIn } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* One shape of a ranking, whichever service gave it. */

const t = { after: after as TestContext['after'] };

/** What each service answers for the three documents, in its own words and order. */
const answers: Record<string, unknown> = {
  cohere: {
    id: 'c1',
    results: [score(1, 0.9), score(2, 0.4), score(0, 0.1)],
    meta: { billed_units: { search_units: 1 } },
  },
  // Jina sends texts unasked, llama.cpp neither sorts nor cuts, Voyage calls the list data, SGLang sends a list.
  jina: { model: 'j', usage: { total_tokens: 9 }, results: [told(1, 0.9), told(2, 0.4), told(0, 0.1)] },
  llamacpp: {
    model: 'l',
    object: 'list',
    usage: { prompt_tokens: 9, total_tokens: 9 },
    results: [score(0, 0.1), score(1, 0.9), score(2, 0.4)],
  },
  voyage: {
    object: 'list',
    data: [{ ...score(1, 0.9), document: 'x' }, score(2, 0.4), score(0, 0.1)],
    model: 'v',
    usage: { total_tokens: 9 },
  },
  mixedbread: {
    object: 'list',
    ...{
      data: [
        { index: 1, score: 0.9, input: null },
        { index: 2, score: 0.4 },
        { index: 0, score: 0.1 },
      ],
      model: 'm',
    },
    usage: { prompt_tokens: 9, total_tokens: 9, completion_tokens: 0 },
  },
  sglang: [
    { score: 0.9, document: 'x', index: 1, meta_info: {} },
    { score: 0.4, document: 'x', index: 2 },
    { score: 0.1, document: 'x', index: 0 },
  ],
};

/** Text Embeddings Inference, with words of its own for the request too. */
const teiAnswer = [
  { index: 1, score: 0.9 },
  { index: 2, score: 0.4 },
  { index: 0, score: 0.1 },
];

function score(index: number, relevance_score: number) {
  return { index, relevance_score };
}

function told(index: number, relevance_score: number) {
  return { index, document: { text: 'of the service' }, relevance_score };
}

const bodies = new Map<string, JsonObject>();
const server = createServer((request, response) => void answer(request).then((json) => response.end(json)));
const url = await listening(t, server);

async function answer(request: IncomingMessage): Promise<string> {
  const name = request.url!.split('/')[1]!;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (chunks.length > 0) bodies.set(name, JSON.parse(Buffer.concat(chunks).toString()) as JsonObject);
  return JSON.stringify(name === 'tei' ? teiAnswer : answers[name]);
}

const names = Object.keys(answers);
const namesTopK = ['voyage', 'mixedbread'];
const gateway = await startGateway(t, {
  providers: Object.fromEntries(
    [...names, 'tei'].map((name) => [name, { type: name, base_url: `${url}/${name}/v1`, api_key: 'k' }]),
  ),
  models: Object.fromEntries([...names, 'tei'].map((name) => [name, { type: 'rerank', targets: [`${name}/any`] }])),
});
const documents = ['a blue bird', 'a red fish', 'a red bird'];

async function ranked(model: string, wish: JsonObject): Promise<JsonObject> {
  const response = await gateway.fetch('/v1/rerank', { json: { model, query: 'red fish', documents, ...wish } });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.equal(response.headers.get('x-culvert-dropped'), null);
  return JSON.parse(text) as JsonObject;
}

for (const name of names) {
  test(`a ranking of ${name} has the one shape: the best first, texts when they are wanted, and no more than top_n`, async () => {
    const plain = await ranked(name, {});
    assert.deepEqual(plain.results, [score(1, 0.9), score(2, 0.4), score(0, 0.1)]);
    assert.deepEqual([plain.object, plain.data], ['list', plain.results]);
    const { prompt_tokens: input, total_tokens: total } = objectIn(plain.usage);
    // Where the service counts nothing, the caller sees the estimate that the books have.
    if (['cohere', 'sglang'].includes(name)) assert.ok((input as number) > 0 && total === input);
    else assert.equal(total, 9);
    // The AI SDK's providers for Together and Cohere take no answer without these.
    assert.ok(['prompt_tokens', 'completion_tokens'].every((one) => typeof objectIn(plain.usage)[one] === 'number'));
    assert.equal(typeof plain.meta, 'object');
    const wanted = await ranked(name, { top_n: 2, return_documents: true });
    assert.deepEqual(wanted.results, [
      { ...score(1, 0.9), document: { text: 'a red fish' } },
      { ...score(2, 0.4), document: { text: 'a red bird' } },
    ]);
    assert.deepEqual(wanted.data, [
      { ...score(1, 0.9), document: 'a red fish' },
      { ...score(2, 0.4), document: 'a red bird' },
    ]);
    const sent = bodies.get(name)!;
    assert.equal(sent[namesTopK.includes(name) ? 'top_k' : 'top_n'], 2);
    assert.deepEqual(sent[name === 'mixedbread' ? 'input' : 'documents'], documents);
    assert.ok(!('return_documents' in sent));
    assert.deepEqual((await ranked(name, { return_documents: false })).results, plain.results);
  });
}

for (const name of names) {
  test(`Voyage's client is understood over ${name}: top_k is top_n, and truncation is what all do`, async () => {
    const { data } = await ranked(name, { top_k: 1, truncation: true });
    assert.deepEqual(data, [score(1, 0.9)]);
    const { model: _, query: __, documents: ___, input: ____, ...sent } = bodies.get(name)!;
    const most = namesTopK.includes(name) ? { top_k: 1 } : { top_n: 1 };
    assert.deepEqual(sent, name === 'voyage' ? { ...most, truncation: true } : most);
    const { results } = await ranked(name, { top_k: null, truncation: true });
    assert.deepEqual(results, [score(1, 0.9), score(2, 0.4), score(0, 0.1)]);
    assert.equal('top_n' in bodies.get(name)! || bodies.get(name)!.top_k === 1, false);
    const json = { model: name, query: 'red fish', documents, truncation: false };
    const dropped = (await gateway.fetch('/v1/rerank', { json })).headers.get('x-culvert-dropped');
    assert.equal(dropped, name === 'voyage' ? null : 'truncation');
  });
}

test('members of one service are named as dropped where another one would refuse them', async () => {
  const json = { query: 'red fish', documents, rank_fields: ['text'], max_tokens_per_doc: 9, return_embeddings: true };
  for (const [model, known, dropped] of [
    ['cohere', ['max_tokens_per_doc'], 'return_embeddings'],
    ['jina', ['return_embeddings'], 'max_tokens_per_doc'],
    ['voyage', [], 'max_tokens_per_doc, return_embeddings'],
    ['mixedbread', [], 'max_tokens_per_doc, return_embeddings'],
  ] as const) {
    const response = await gateway.fetch('/v1/rerank', { json: { ...json, model } });
    assert.equal(response.headers.get('x-culvert-dropped'), dropped, await response.text());
    const { model: _, query: __, documents: ___, input: ____, ...sent } = bodies.get(model)!;
    assert.deepEqual(Object.keys(sent), known);
  }
});

test('Text Embeddings Inference gets texts, which it may cut, and its ranks come in the one shape', async () => {
  const { results } = await ranked('tei', { top_n: 2, return_documents: true });
  const [first, second] = [score(1, 0.9), score(2, 0.4)];
  assert.deepEqual(results, [
    { ...first, document: { text: 'a red fish' } },
    { ...second, document: { text: 'a red bird' } },
  ]);
  assert.deepEqual(bodies.get('tei'), { query: 'red fish', texts: documents, truncate: true });
});

test('documents that are objects of texts reach each service as texts, and come back as they were', async () => {
  const objects = documents.map((text, place) => ({ text, title: `No. ${place}`, year: 2026 }));
  for (const name of [...names, 'tei']) {
    const field = { tei: 'texts', mixedbread: 'input' }[name] ?? 'documents';
    const { results } = await ranked(name, { documents: objects, top_n: 1, return_documents: true });
    assert.deepEqual(results, [{ ...score(1, 0.9), document: objects[1] }]);
    assert.deepEqual(bodies.get(name)![field], documents);
    await ranked(name, { documents: ['plain', ...objects.slice(1)], rank_fields: ['title', 'text', 'missing'] });
    const lines = ['plain', 'title: No. 1\ntext: a red fish', 'title: No. 2\ntext: a red bird'];
    assert.deepEqual(bodies.get(name)![field], lines);
    assert.ok(!('rank_fields' in bodies.get(name)!));
  }
  const pictures = [{ image: 'https://example.com/a.png' }, { text: 'b' }, { text: 'c' }];
  await ranked('jina', { documents: pictures });
  assert.deepEqual(bodies.get('jina')!.documents, pictures, 'which are not texts');
});

test('a body of more than 1 MB gets its texts back, too', async () => {
  const long = [documents[0]!, `a red fish ${'x'.repeat(1_200_000)}`, documents[2]!];
  const { results } = await ranked('jina', { documents: long, top_n: 1, return_documents: true });
  assert.deepEqual(results, [{ ...score(1, 0.9), document: { text: long[1] } }]);
});

for (const name of [...names, 'tei']) {
  test(`Mixedbread's client is understood over ${name}: input are the documents, and data has the scores`, async () => {
    const json = { model: name, query: 'red fish', input: documents, top_k: 2, return_input: true };
    const response = await gateway.fetch('/v1/reranking', { json });
    const { data, object } = (await response.json()) as JsonObject;
    assert.equal(response.headers.get('x-culvert-dropped'), null);
    assert.equal(object, 'list');
    assert.deepEqual(data, [
      { object: 'rank_result', index: 1, score: 0.9, input: 'a red fish' },
      { object: 'rank_result', index: 2, score: 0.4, input: 'a red bird' },
    ]);
    const { input, documents: sent = input, texts = sent } = bodies.get(name)!;
    assert.deepEqual(texts, documents);
  });
}

test("llama.cpp's second path takes documents as the first does", async () => {
  const json = { model: 'llamacpp', query: 'red fish', documents, top_n: 1 };
  const { results } = (await (await gateway.fetch('/v1/reranking', { json })).json()) as JsonObject;
  assert.deepEqual(results, [score(1, 0.9)]);
});

test('ranks of texts that a request does not have are no answer: the next target is asked', async (t) => {
  let ranks: readonly object[] = [];
  const url = await listening(
    t,
    createServer((request, reply) => {
      request.resume().on('end', () => {
        const results = request.url!.startsWith('/wrong') ? ranks : [score(1, 0.9), score(0, 0.1)];
        reply.writeHead(200, { 'content-type': 'application/json' });
        reply.end(JSON.stringify({ results, usage: { prompt_tokens: 0, total_tokens: 0 } }));
      });
    }),
  );
  const names = ['wrong', 'right'];
  const gateway = await startGateway(t, {
    providers: Object.fromEntries(
      names.map((name) => [name, { type: 'jina', base_url: `${url}/${name}/v1`, api_key: 'k' }]),
    ),
    models: {
      ranks: { type: 'rerank', targets: names.map((provider, at) => ({ provider, model: 'm', priority: at + 1 })) },
    },
  });
  for (ranks of [
    [score(2, 0.9), score(0, 0.1)],
    [score(1, 0.9), score(1, 0.1)],
  ]) {
    const json = { model: 'ranks', query: 'a question', documents: ['a text', 'the text'] };
    const answer = await gateway.fetch('/v1/rerank', { json });
    const { results, usage } = (await answer.json()) as { results: JsonObject[]; usage: JsonObject };
    assert.deepEqual([answer.status, results.map(({ index }) => index)], [200, [1, 0]]);
    assert.equal(answer.headers.get('x-culvert-provider'), 'right');
    // Texts are no 0 tokens, for the books and for the caller.
    const id = answer.headers.get('x-culvert-request-id');
    const row = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as { usage: JsonObject };
    assert.deepEqual([row.usage.source, row.usage.input_tokens], ['counted', usage.prompt_tokens]);
    assert.ok(Number(usage.prompt_tokens) > 0);
  }
});
