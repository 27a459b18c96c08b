import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import OpenAI from 'openai';
import type { ChatCompletionStreamParams } from 'openai/lib/ChatCompletionStream';
import { startUpstream } from '../../test/start-upstream.ts';
import { countTokens } from './tokens.ts';

const upstream = await startUpstream();
after(() => upstream.close());
const client = new OpenAI({ baseURL: `${upstream.url}/v1`, apiKey: 'sk-test', maxRetries: 0 });

// The document says `nullable` as OpenAPI 3.0 did, which JSON Schema 2020 does not know.
const document = JSON.parse(
  readFileSync(new URL('../../test/spec/openai-openapi.json', import.meta.url), 'utf8'),
  (_key, value) => {
    if (typeof value !== 'object' || value === null || value.nullable !== true) return value;
    const { nullable: _, ...schema } = value;
    return { anyOf: [schema, { type: 'null' }] };
  },
);
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addFormat('unixtime', true);
ajv.addSchema(document, 'openai');

function assertIs(schema: string, value: unknown): void {
  const validate = ajv.getSchema(`openai#/components/schemas/${schema}`);
  assert.ok(validate, schema);
  assert.ok(validate(value), JSON.stringify(validate.errors?.slice(0, 3)));
}

const user = (content: string) => ({ role: 'user' as const, content });
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 }, unit: { enum: ['C', 'F'] } },
      required: ['city', 'days'],
    },
  },
};
const time = {
  type: 'function' as const,
  function: { name: 'get_time', parameters: { type: 'object', properties: {} } },
};

const requests: Record<string, OpenAI.ChatCompletionCreateParamsNonStreaming> = {
  'plain text': { model: 'm', messages: [user('hi')] },
  'three choices': { model: 'm', n: 3, messages: [user('hi')] },
  'a tool call': { model: 'm', messages: [user('please call get_weather')], tools: [weather] },
  'parallel tool calls': { model: 'm', messages: [user('call get_weather and call get_time')], tools: [weather, time] },
  'JSON for a schema': {
    model: 'm',
    messages: [user('hi')],
    response_format: { type: 'json_schema', json_schema: { name: 'w', schema: weather.function.parameters } },
  },
  'log probabilities': { model: 'm', messages: [user('hi')], logprobs: true, top_logprobs: 2 },
  'a reasoning model': { model: 'x-reason', messages: [user('hi')] },
  'a length limit': { model: 'm', messages: [user('hi')], max_tokens: 2 },
};

for (const [name, request] of Object.entries(requests)) {
  test(`chat: ${name}: the whole answer is a CreateChatCompletionResponse`, async () => {
    assertIs('CreateChatCompletionResponse', await client.chat.completions.create(request));
  });

  test(`chat: ${name}: every chunk is a CreateChatCompletionStreamResponse, and they add up to the whole answer`, async () => {
    const whole = await client.chat.completions.create(request);
    const streamed = { ...request, stream_options: { include_usage: true } } as unknown as ChatCompletionStreamParams;
    const stream = client.chat.completions.stream(streamed);
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) {
      assertIs('CreateChatCompletionStreamResponse', chunk);
      chunks.push(chunk);
    }
    const folded = await stream.finalChatCompletion();
    assert.equal(folded.choices.length, whole.choices.length);
    for (const [at, choice] of whole.choices.entries()) {
      const other = folded.choices[at]!;
      assert.equal(other.message.content ?? '', choice.message.content ?? '');
      assert.equal(other.finish_reason, choice.finish_reason);
      assert.deepEqual(callsOf(other.message), callsOf(choice.message));
      assert.deepEqual(other.logprobs?.content ?? null, choice.logprobs?.content ?? null);
    }
    assert.deepEqual(folded.usage, whole.usage);
    assert.equal(chunks.at(-1)?.choices.length, 0);
  });
}

function callsOf(message: OpenAI.ChatCompletionMessage): unknown {
  return (message.tool_calls ?? []).map(
    (call) => call.type === 'function' && [call.function.name, call.function.arguments],
  );
}

test('chat: a stream has its parts in order, and usage only when asked', async () => {
  const response = await fetch(`${upstream.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages: [user('hi')], stream: true }),
  });
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const frames = (await response.text()).trimEnd().split('\n\n');
  const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame.slice('data: '.length)));
  assert.equal(frames.at(-1), 'data: [DONE]');
  assert.equal(chunks[0].choices[0].delta.role, 'assistant');
  assert.ok(chunks.length >= 5, 'several deltas');
  assert.equal(chunks.at(-1).choices[0].finish_reason, 'stop');
  assert.ok(chunks.slice(0, -1).every((chunk) => chunk.choices[0].finish_reason === null));
  assert.ok(chunks.every((chunk) => chunk.usage === undefined));
});

test('chat: usage is counted from the text', async () => {
  const answer = await client.chat.completions.create({ model: 'm', messages: [user('hi')] }, mock('tokens=37'));
  assert.equal(answer.usage?.completion_tokens, 37);
  assert.equal(answer.usage?.total_tokens, 37 + (answer.usage?.prompt_tokens ?? 0));
  const longer = await client.chat.completions.create(
    { model: 'm', messages: [user('hi '.repeat(400))] },
    mock('cached=50'),
  );
  assert.ok((longer.usage?.prompt_tokens ?? 0) >= 300);
  assert.equal(longer.usage?.prompt_tokens_details?.cached_tokens, 50);
});

test('chat: max_tokens and stop end the text', async () => {
  const short = await client.chat.completions.create({ model: 'm', max_completion_tokens: 3, messages: [user('hi')] });
  assert.equal(short.choices[0]?.finish_reason, 'length');
  assert.equal(countTokens(short.choices[0]?.message.content ?? ''), 3);
  const stopped = await client.chat.completions.create(
    { model: 'm', stop: ['five', 'four'], messages: [user('hi')] },
    mock('text=three four five'),
  );
  assert.deepEqual([stopped.choices[0]?.message.content, stopped.choices[0]?.finish_reason], ['three ', 'stop']);
});

test('chat: tool_choice decides, behind a result too, where text comes otherwise', async () => {
  const ask = async (more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>) =>
    (await client.chat.completions.create({ model: 'm', messages: [user('hi')], tools: [weather, time], ...more }))
      .choices[0]!;
  const called = async (more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>) =>
    (await ask(more)).message.tool_calls?.map((call) => call.type === 'function' && call.function.name) ?? [];
  assert.deepEqual(await called({}), []);
  assert.deepEqual(await called({ tool_choice: 'required' }), ['get_weather']);
  assert.deepEqual(await called({ tool_choice: { type: 'function', function: { name: 'get_time' } } }), ['get_time']);
  const both = [user('call get_time, call get_weather')];
  assert.deepEqual(await called({ messages: both }), ['get_weather', 'get_time']);
  assert.deepEqual(await called({ messages: both, parallel_tool_calls: false }), ['get_weather']);
  assert.deepEqual(await called({ messages: both, tool_choice: 'none' }), []);
  const call = { id: 'call_1', type: 'function' as const, function: { name: 'get_time', arguments: '{}' } };
  const messages = [
    ...both,
    { role: 'assistant' as const, tool_calls: [call] },
    { role: 'tool' as const, tool_call_id: 'call_1', content: 'noon' },
  ];
  const answered = await ask({ messages });
  assert.equal(answered.finish_reason, 'stop');
  assert.match(answered.message.content ?? '', /^Mock answer/);
  const named = { type: 'function' as const, function: { name: 'get_weather' } };
  assert.deepEqual(await called({ messages, tool_choice: named }), ['get_weather']);
  assert.deepEqual(await called({ messages, tool_choice: 'required' }), ['get_time']);
});

test('chat: the arguments of a call and JSON answers satisfy their schema', async () => {
  const valid = ajv.compile(weather.function.parameters);
  const call = await client.chat.completions.create(requests['a tool call']!);
  const [first] = call.choices[0]?.message.tool_calls ?? [];
  assert.ok(first?.type === 'function' && valid(JSON.parse(first.function.arguments)));
  const json = await client.chat.completions.create(requests['JSON for a schema']!);
  assert.ok(valid(JSON.parse(json.choices[0]?.message.content ?? '')));
  const any = await client.chat.completions.create({
    model: 'm',
    messages: [user('hi')],
    response_format: { type: 'json_object' },
  });
  assert.equal(typeof JSON.parse(any.choices[0]?.message.content ?? ''), 'object');
});

test('chat: a reasoning model thinks first', async () => {
  const kinds: string[] = [];
  const stream = await client.chat.completions.create({ model: 'x-reason', stream: true, messages: [user('hi')] });
  for await (const chunk of stream) {
    const delta = chunk.choices[0]?.delta ?? {};
    const kind = 'reasoning_content' in delta ? 'thought' : delta.content ? 'text' : '';
    if (kind !== '' && kinds.at(-1) !== kind) kinds.push(kind);
  }
  assert.deepEqual(kinds, ['thought', 'text']);
});

test('chat: the answer is the same for the same request, and echoes the user', async () => {
  const text = async () =>
    (await client.chat.completions.create({ model: 'm', messages: [user('hi there')] })).choices[0]?.message.content;
  assert.equal(await text(), 'Mock answer to: hi there');
  assert.equal(await text(), await text());
});

test('chat: errors reach the SDK as its own classes', async () => {
  const failing = (spec: string) => client.chat.completions.create({ model: 'm', messages: [user('hi')] }, mock(spec));
  await assert.rejects(failing('status=429'), OpenAI.RateLimitError);
  await assert.rejects(failing('status=401'), OpenAI.AuthenticationError);
  await assert.rejects(failing('status=503'), OpenAI.InternalServerError);
});

test('chat: bad requests are refused by name', async () => {
  for (const [body, param] of [
    [{ messages: [user('hi')] }, 'model'],
    [{ model: 'm' }, 'messages'],
    [{ model: 'm', messages: [{}] }, 'messages[0].role'],
    [{ model: 'm', messages: [user('hi')], n: 0 }, 'n'],
  ] as const) {
    const response = await fetch(`${upstream.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) });
    assert.equal(response.status, 400);
    const { error } = (await response.json()) as { error: { param: string } };
    assert.equal(error.param, param);
  }
  const broken = await fetch(`${upstream.url}/v1/chat/completions`, { method: 'POST', body: '{' });
  assert.equal(broken.status, 400);
});

test('chat: any base path will do, and Azure names the model in the path', async () => {
  const body = JSON.stringify({ messages: [user('hi')] });
  const azure = await fetch(`${upstream.url}/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21`, {
    method: 'POST',
    body,
  });
  assert.equal(((await azure.json()) as { model: string }).model, 'my-gpt');
  const bare = await fetch(`${upstream.url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages: [user('hi')] }),
  });
  assert.equal(bare.status, 200);
});

test('models: listed and found in the SDK', async () => {
  const list = await client.models.list();
  assertIs('ListModelsResponse', { object: 'list', data: list.data });
  assert.ok(list.data.some((model) => model.id === 'sim/chat'));
  assertIs('Model', await client.models.retrieve('sim/chat'));
  await assert.rejects(client.models.retrieve('nothing'), OpenAI.NotFoundError);
});

function mock(spec: string): { headers: Record<string, string> } {
  return { headers: { 'x-mock': spec } };
}
