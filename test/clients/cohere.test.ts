import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CohereClientV2, CohereError } from 'cohere-ai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* Cohere's own client at the root, over a provider of each dialect. */

const { gateway, lastBody } = await openThreeProviders(
  {
    command: { targets: ['co/command-a-03-2025'] },
    cut: { targets: ['co/mock/eof=3events'] },
    ranks: { type: 'rerank', targets: ['co/rerank-v3.5'] },
    embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
    tried: { targets: ['openai/mock/ok'], variants: { a: { weight: 1, parameters: { reasoning_effort: 'low' } } } },
  },
  (url) => ({ co: { type: 'cohere', base_url: url, api_key: 'd' } }),
);
const cohere = new CohereClientV2({ environment: gateway.url, token: gateway.key, maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'hello there' }];
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

async function streamed(request: Parameters<typeof cohere.chatStream>[0]) {
  const types: string[] = [];
  const ids: (string | undefined)[] = [];
  let text = '';
  let args = '';
  let end: unknown;
  for await (const event of await cohere.chatStream(request)) {
    if (types.at(-1) !== event.type) types.push(event.type);
    if (event.type === 'content-delta') text += event.delta?.message?.content?.text ?? '';
    if (event.type === 'tool-call-delta') args += event.delta?.message?.toolCalls?.function?.arguments ?? '';
    if (event.type === 'message-end') end = event.delta;
    if (event.type === 'message-start' || event.type === 'message-end') ids.push(event.id);
  }
  return {
    ids,
    types,
    text,
    args,
    end: end as { finishReason?: string; usage?: { tokens?: { outputTokens?: number } } },
  };
}

const textOf = (answer: Awaited<ReturnType<typeof cohere.chat>>) =>
  (answer.message.content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');

for (const model of Object.keys(models)) {
  test(`${model}: a whole answer with its counts`, async () => {
    const answer = await cohere.chat({
      model,
      messages: [{ role: 'system', content: 'Be brief.' }, ...messages],
      maxTokens: 100,
    });
    assert.match(textOf(answer), /hello there/);
    assert.equal(answer.message.role, 'assistant');
    assert.equal(answer.finishReason, 'COMPLETE');
    assert.ok(answer.usage!.billedUnits!.inputTokens! > 0 && answer.usage!.tokens!.outputTokens! > 0);
  });

  test(`${model}: a stream says the same as the whole answer`, async () => {
    const whole = await cohere.chat({ model, messages, maxTokens: 100 });
    const { types, text, end } = await streamed({ model, messages, maxTokens: 100 });
    assert.equal(text, textOf(whole));
    assert.deepEqual(types, ['message-start', 'content-start', 'content-delta', 'content-end', 'message-end']);
    assert.equal(end.finishReason, 'COMPLETE');
    assert.equal(end.usage!.tokens!.outputTokens, whole.usage!.tokens!.outputTokens);
  });

  test(`${model}: a tool is called, and its result goes back`, async () => {
    const question = { role: 'user' as const, content: 'call get_weather' };
    const asked = await cohere.chat({ model, messages: [question], tools: [weather], maxTokens: 100 });
    assert.equal(asked.finishReason, 'TOOL_CALL');
    const [call] = asked.message.toolCalls!;
    assert.equal(call!.function!.name, 'get_weather');
    assert.deepEqual(JSON.parse(call!.function!.arguments!), { city: 'mock' });
    const stream = await streamed({ model, messages: [question], tools: [weather], maxTokens: 100 });
    assert.deepEqual(JSON.parse(stream.args), { city: 'mock' });
    assert.deepEqual(stream.types.slice(-4), ['tool-call-start', 'tool-call-delta', 'tool-call-end', 'message-end']);
    const result = { type: 'document' as const, document: { data: { degrees: 11 } } };
    const answer = await cohere.chat({
      model,
      messages: [question, asked.message, { role: 'tool', toolCallId: call!.id!, content: [result] }],
      tools: [weather],
      maxTokens: 100,
    });
    assert.notEqual(textOf(answer), '');
    assert.match(JSON.stringify(lastBody()), /degrees/);
  });

  test(`${model}: a tool may have no type, as Cohere's SDK for Go writes it`, async () => {
    const tools = [{ function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } }];
    const json = { model, messages: [{ role: 'user', content: 'call get_weather' }], tools };
    const response = await gateway.fetch('/v2/chat', { json });
    assert.equal(response.status, 200, await response.clone().text());
    assert.match(await response.text(), /"finish_reason":"TOOL_CALL"/);
  });

  test(`${model}: documents come before the question`, async () => {
    const documents = [{ id: 'mine', data: { title: 'A page', text: 'Grass is blue here.' } }, 'Bare text'];
    await cohere.chat({ model, messages, documents, maxTokens: 100 });
    const sent = JSON.stringify(lastBody());
    const [page, bare] = ['Grass is blue here.', 'Bare text'].map((words) => {
      const inBase64 = sent.indexOf(Buffer.from(words).toString('base64'));
      return inBase64 === -1 ? sent.indexOf(words) : inBase64;
    });
    assert.ok(page! > 0 && bare! > page! && sent.indexOf('hello there') > bare!, sent);
  });
}

test('parameters keep their meaning in another format', async () => {
  await cohere.chat({
    model: 'chat',
    messages,
    maxTokens: 50,
    p: 0.5,
    k: 7,
    stopSequences: ['END'],
    responseFormat: { type: 'json_object', jsonSchema: { type: 'object', properties: { a: { type: 'number' } } } },
    tools: [weather],
    strictTools: true,
    toolChoice: 'REQUIRED',
  });
  const {
    tools,
    response_format: format,
    ...body
  } = lastBody() as JsonObject & {
    tools: { function: { strict: boolean } }[];
    response_format: { json_schema: { schema: JsonObject } };
  };
  assert.deepEqual([body.top_p, body.stop, body.tool_choice], [0.5, ['END'], 'required']);
  assert.equal(body.max_completion_tokens ?? body.max_tokens, 50);
  assert.equal(tools[0]!.function.strict, true);
  assert.deepEqual(format.json_schema.schema.properties, { a: { type: 'number' } });
});

test('what another format has no place for is named in x-culvert-dropped', async () => {
  const answer = await gateway.fetch('/v2/chat', {
    method: 'POST',
    json: { model: 'chat', messages, safety_mode: 'STRICT', priority: 3, logprobs: true },
  });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.headers.get('x-culvert-dropped')?.split(', ').toSorted(), [
    'logprobs',
    'priority',
    'safety_mode',
  ]);
});

test('a variant sets the effort of a request in this format', async () => {
  await cohere.chat({ model: 'tried', messages });
  assert.equal(lastBody().reasoning_effort, 'low');
});

test('texts are embedded, as numbers and in base64', async () => {
  const request = { model: 'embed', texts: ['one', 'two'], inputType: 'search_document' as const };
  const asNumbers = await cohere.embed({ ...request, embeddingTypes: ['float'] });
  assert.equal(asNumbers.embeddings.float?.length, 2);
  const inBase64 = await cohere.embed({ ...request, embeddingTypes: ['base64'] });
  const bytes = Buffer.from(inBase64.embeddings.base64![1]!, 'base64');
  const [first] = asNumbers.embeddings.float![1]!;
  assert.ok(Math.abs(bytes.readFloatLE(0) - first!) < 1e-6);
  assert.ok(asNumbers.meta!.billedUnits!.inputTokens! > 0);
});

test('inputs of several parts are embedded as one text each', async () => {
  const text = (words: string) => ({ type: 'text', text: words });
  const embed = async (more: object) => {
    const json = { model: 'embed', input_type: 'search_document', embedding_types: ['float'], ...more };
    const answer = await gateway.fetch('/v2/embed', { method: 'POST', json });
    assert.equal(answer.status, 200, await answer.clone().text());
    return ((await answer.json()) as { embeddings: { float: number[][] } }).embeddings.float;
  };
  const inputs = [{ content: [text('one'), text('more')] }, { content: [text('two')] }];
  assert.deepEqual(await embed({ inputs }), await embed({ texts: ['one\nmore', 'two'] }));
  assert.deepEqual(lastBody().input, ['one\nmore', 'two']);
});

test('vectors come in all types of Cohere, side by side, of the same numbers', async () => {
  const types = ['ubinary', 'binary', 'uint8', 'int8', 'base64', 'float'] as const;
  const request = { model: 'embed', texts: ['one', 'two'], inputType: 'search_document' as const };
  const { embeddings } = await cohere.embed({ ...request, embeddingTypes: [...types] });
  const { float, int8, uint8, binary, ubinary, base64 } = embeddings as Required<typeof embeddings>;
  assert.deepEqual(Object.keys(embeddings).toSorted(), types.toSorted());
  const cosine = (a: readonly number[], b: readonly number[]) => {
    const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, one, at) => sum + one * y[at]!, 0);
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  };
  for (const [at, row] of float.entries()) {
    assert.ok(cosine(row, int8[at]!) > 0.999);
    assert.equal(Math.max(...int8[at]!.map(Math.abs)), 127);
    assert.deepEqual(
      uint8[at],
      int8[at]!.map((value) => value + 128),
    );
    const bits = ubinary[at]!.flatMap((byte) => [...byte.toString(2).padStart(8, '0')]);
    assert.deepEqual(
      bits.slice(0, row.length),
      row.map((value) => (value > 0 ? '1' : '0')),
    );
    assert.deepEqual(
      binary[at],
      ubinary[at]!.map((byte) => byte - 128),
    );
    assert.ok(Math.abs(Buffer.from(base64[at]!, 'base64').readFloatLE(0) - row[0]!) < 1e-6);
  }
  const wrong = { model: 'embed', texts: ['one'], embedding_types: ['float', 'int4'] };
  const refused = await gateway.fetch('/v2/embed', { method: 'POST', json: wrong });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /embedding_types\[1\]/);
});

test('errors have the message where this SDK looks for it', async () => {
  const failed = async (call: Promise<unknown>) => {
    const error = await call.then(
      () => null,
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof CohereError);
    return { status: error.statusCode, ...(error.body as { message: string }) };
  };
  const unknown = await failed(cohere.chat({ model: 'nobody', messages }));
  assert.equal(unknown.status, 404);
  assert.match(unknown.message, /nobody/);
  const hot = await failed(cohere.chat({ model: 'chat', messages, temperature: 9 }));
  assert.equal(hot.status, 400);
  assert.match(hot.message, /'temperature'/);
  const stranger = new CohereClientV2({ environment: gateway.url, token: 'sk-cv-wrong', maxRetries: 0 });
  assert.equal((await failed(stranger.chat({ model: 'chat', messages }))).status, 401);
  const picture = { model: 'embed', inputType: 'image' as const, images: ['data:image/png;base64,AA=='] };
  assert.match((await failed(cohere.embed(picture))).message, /'texts'/);
});

for (const [from, model] of [
  ['another format', 'mock/eof=3events'],
  ["Cohere's own server", 'cut'],
] as const)
  test(`a stream of ${from} that breaks off ends with an error`, async () => {
    const { end, types, ids } = await streamed({ model, messages });
    assert.equal(types.at(-1), 'message-end');
    assert.equal(end.finishReason, 'ERROR');
    assert.deepEqual(ids.slice(1), [ids[0]], 'the end is of the message that began');
  });

test("Cohere's own server gets the body as it came, and its citations come back", async () => {
  const documents = [{ id: 'mine', data: { title: 'A page', text: 'Hello there, it says.' } }];
  const request = { model: 'command', messages, documents, safetyMode: 'STRICT' as const, maxTokens: 100 };
  const answer = await cohere.chat(request);
  const { documents: sent, safety_mode: mode, model } = lastBody();
  assert.deepEqual([sent, mode, model], [documents, 'STRICT', 'command-a-03-2025']);
  assert.equal(answer.message.citations![0]!.sources![0]!.id, 'mine');
  const { types, text, end } = await streamed(request);
  assert.equal(text, textOf(answer));
  assert.ok(types.includes('citation-start'));
  assert.ok(end.usage!.tokens!.outputTokens! > 0);
  const rows = await gateway.fetch('/v1/requests?limit=1');
  const { data } = (await rows.json()) as { data: [{ usage: JsonObject; route: JsonObject }] };
  const [{ usage, route }] = data;
  assert.deepEqual([usage.source, route.passThrough], ['upstream', true]);
  assert.equal(usage.output_tokens, end.usage!.tokens!.outputTokens! - 2, 'what is billed, without the template');
});

test('texts are ranked', async () => {
  const { results } = await cohere.rerank({ model: 'ranks', query: 'grass', documents: ['sea', 'grass'], topN: 1 });
  assert.equal(results.length, 1);
  assert.ok(results[0]!.relevanceScore > 0);
});

test('paths of Cohere that are not here say what to use', async () => {
  for (const [path, use] of [
    ['/v1/tokenize', /passthrough.*count_tokens/],
    ['/v1/detokenize', /passthrough/],
    ['/v1/classify', /POST \/v2\/chat/],
  ] as const) {
    const answer = await gateway.fetch(path, { json: { text: 'a', model: 'm' } });
    assert.equal(answer.status, 404);
    assert.match(await answer.text(), use);
  }
});
