import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChatResponse, Ollama } from 'ollama';
import type { JsonObject } from '../../src/kernel/json.ts';
import { packings } from '../packings.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* Ollama's own client at the root, over a provider of each dialect. */

const { gateway, lastBody, upstream } = await openThreeProviders(
  {
    tried: { targets: ['openai/mock/ok'], variants: { a: { weight: 1, parameters: { temperature: 0.1 } } } },
    embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
    plain: { targets: ['openai/mock/ok'], capabilities: { tools: false, vision: false, reasoning: false } },
    thinks: { targets: ['openai/mock/ok'], capabilities: { tools: false, vision: false, reasoning: true } },
  },
  undefined,
  // Enough for its pictures: bodies up to the usual limit take seconds to unpack.
  { server: { body_limit: '4mb' } },
);
const authorization = { Authorization: `Bearer ${gateway.key}` };
const ollama = new Ollama({ host: gateway.url, headers: authorization });
const hello = [{ role: 'user', content: 'hello there' }];
const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

for (const model of Object.keys(models)) {
  test(`${model}: a whole answer with its counts and durations`, async () => {
    const askedMs = Date.now();
    const answer = await ollama.chat({ model, messages: [{ role: 'system', content: 'Be brief.' }, ...hello] });
    assert.match(answer.message.content, /hello there/);
    assert.equal(answer.message.role, 'assistant');
    assert.equal(answer.done, true);
    assert.equal(answer.done_reason, 'stop');
    assert.ok(answer.prompt_eval_count > 0 && answer.eval_count > 0);
    assert.ok(answer.total_duration > 0 && answer.eval_duration > 0);
    // Providers say it in whole seconds.
    assert.ok(
      Date.parse(String(answer.created_at)) > askedMs - 1_000 && Date.parse(String(answer.created_at)) <= Date.now(),
    );
  });

  test(`${model}: a stream says the same as the whole answer`, async () => {
    const whole = await ollama.chat({ model, messages: hello });
    const parts: ChatResponse[] = [];
    for await (const part of await ollama.chat({ model, messages: hello, stream: true })) parts.push(part);
    assert.equal(parts.map(({ message }) => message.content).join(''), whole.message.content);
    assert.ok(parts.length > 2);
    const last = parts.at(-1)!;
    assert.equal(last.done, true);
    assert.equal(last.eval_count, whole.eval_count);
  });

  test(`${model}: a tool is called, and its result goes back`, async () => {
    const question = { role: 'user', content: 'call get_weather' };
    const asked = await ollama.chat({ model, messages: [question], tools: [weather] });
    const [call] = asked.message.tool_calls!;
    assert.equal(call!.function.name, 'get_weather');
    assert.deepEqual(call!.function.arguments, { city: 'mock' });
    const calls = [];
    for await (const { message } of await ollama.chat({ model, messages: [question], tools: [weather], stream: true }))
      calls.push(...(message.tool_calls ?? []));
    assert.deepEqual(
      calls.map((one) => one.function.arguments),
      [{ city: 'mock' }],
    );
    const answer = await ollama.chat({
      model,
      messages: [question, asked.message, { role: 'tool', tool_name: 'get_weather', content: '11 degrees' }],
      tools: [weather],
    });
    assert.notEqual(answer.message.content, '');
    assert.match(JSON.stringify(lastBody()), /11 degrees/);
  });
}

test('generate answers one text with `response`, whole and streamed', async () => {
  const whole = await ollama.generate({ model: 'chat', prompt: 'hello there', system: 'Be brief.' });
  assert.match(whole.response ?? '', /hello there/);
  const { messages } = lastBody() as { messages: { role: string; content: string }[] };
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['system', 'user'],
  );
  let text = '';
  for await (const part of await ollama.generate({ model: 'chat', prompt: 'hello there', stream: true }))
    text += part.response;
  assert.equal(text, whole.response);
});

test('options, format, thoughts and pictures reach the provider in its words', async () => {
  const schema = { type: 'object', properties: { a: { type: 'number' } } };
  await ollama.chat({
    model: 'chat',
    messages: [{ role: 'user', content: 'look', images: ['iVBORw0KGgo='] }],
    options: { temperature: 0.3, num_predict: 77, stop: ['END'], seed: 5 },
    format: schema,
    think: 'low',
  });
  const body = lastBody();
  assert.equal(body.temperature, 0.3);
  assert.equal(body.max_completion_tokens ?? body.max_tokens, 77);
  assert.equal(body.seed, 5);
  assert.deepEqual([body.stop].flat(), ['END']);
  assert.equal(body.reasoning_effort, 'low');
  assert.match(JSON.stringify(body.response_format), /"json_schema"/);
  assert.match(JSON.stringify(body.messages), /data:image\/png;base64,iVBORw0KGgo=/);
});

test('thoughts of an earlier turn and the picture that a tool gave go back to the provider', async () => {
  const calls = ['look', 'count'].map((name) => ({ function: { name, arguments: {} } }));
  const messages = [
    ...hello,
    { role: 'assistant', content: '', thinking: 'I must look.', tool_calls: calls },
    { role: 'tool', tool_name: 'look', content: 'seen', images: ['iVBORw0KGgo='] },
    { role: 'tool', tool_name: 'count', content: '2' },
  ];
  await ollama.chat({ model: 'chat', messages, tools: [weather] });
  const [, turn, seen, counted, picture] = lastBody().messages as JsonObject[];
  assert.equal(turn!.reasoning_content, 'I must look.');
  assert.deepEqual([seen!.content, counted!.content], ['seen', '2']);
  assert.match(JSON.stringify(picture), /data:image\/png;base64,iVBORw0KGgo=/);
});

test('what no provider has a word for is told as lost', async () => {
  const response = await gateway.fetch('/api/chat', {
    method: 'POST',
    json: { model: 'chat', messages: hello, stream: false, options: { num_ctx: 8_192, mirostat: 1 }, template: 'x' },
  });
  assert.equal(response.status, 200);
  const dropped = response.headers.get('x-culvert-dropped') ?? '';
  for (const field of ['options.num_ctx', 'options.mirostat', 'template']) assert.match(dropped, new RegExp(field));
});

test('a stream is lines of JSON, without comments between them', async () => {
  const response = await gateway.fetch('/api/chat', { method: 'POST', json: { model: 'chat', messages: hello } });
  assert.match(response.headers.get('content-type') ?? '', /application\/x-ndjson/);
  const text = await response.text();
  const lines = text.split('\n').filter((line) => line !== '');
  assert.ok(text.endsWith('\n'));
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { done: boolean }).done),
    [...lines.slice(1).map(() => false), true],
  );
});

test('what a model adds to its requests joins a text, too', async () => {
  const { response } = await ollama.generate({ model: 'tried', prompt: 'hello there' });
  assert.match(response ?? '', /hello there/);
  assert.equal(lastBody().temperature, 0.1);
});

test('a body with large pictures is read as any other', async () => {
  const image = Buffer.alloc(2_000_000, 7).toString('base64');
  const answer = await ollama.chat({ model: 'claude', messages: [{ role: 'user', content: 'look', images: [image] }] });
  assert.equal(answer.done, true);
  // Kept as its text: it is that large.
  assert.match(String(lastBody()), /"media_type":"image\/jpeg"/);
});

test('embeddings come as a list, or as one', async () => {
  const { embeddings } = await ollama.embed({ model: 'embed', input: ['one', 'two'] });
  assert.equal(embeddings.length, 2);
  const { embedding } = await ollama.embeddings({ model: 'embed', prompt: 'one' });
  assert.deepEqual(embedding, embeddings[0]);
});

test('models are listed and shown with what they can', async () => {
  const { models: listed } = await ollama.list();
  const names = listed.map(({ name }) => name);
  for (const name of ['chat', 'claude', 'google', 'embed']) assert.ok(names.includes(name), name);
  assert.ok(!names.includes('tts-1'), 'no path of this API is for it');
  const shown = await ollama.show({ model: 'claude' });
  assert.ok(shown.capabilities.includes('completion') && shown.capabilities.includes('tools'));
  assert.ok(Object.keys(shown.model_info).some((name) => name.endsWith('.context_length')));
  assert.deepEqual((await ollama.show({ model: 'embed' })).capabilities, ['embedding']);
  assert.deepEqual((await ollama.show({ model: 'plain' })).capabilities, ['completion']);
  assert.deepEqual((await ollama.show({ model: 'thinks' })).capabilities, ['completion', 'thinking']);
  assert.match((await ollama.version()).version, /^\d+\.\d+\.\d+$/);
});

test('a model is loaded by a request that says nothing, and has the tag `latest`, too', async () => {
  const before = upstream.requests().length;
  const chat = await ollama.chat({ model: 'chat:latest', messages: [] });
  assert.deepEqual([chat.done, chat.done_reason, chat.message.content], [true, 'load', '']);
  const generate = await ollama.generate({ model: 'chat', prompt: '', keep_alive: 0 });
  assert.deepEqual([generate.done_reason, generate.response], ['unload', '']);
  await assert.rejects(ollama.chat({ model: 'none', messages: [] }), { status_code: 404, error: /'none'/ });
  assert.equal(upstream.requests().length, before, 'no provider is asked');
  const answer = await ollama.chat({ model: 'claude:latest', messages: hello });
  assert.match(answer.message.content, /hello there/);
  const call = { function: { name: 'get_weather', arguments: { model: 'claude:latest' } } };
  const messages = [...hello, { role: 'assistant', content: '', tool_calls: [call] }];
  await ollama.chat({ model: 'chat', messages });
  assert.equal(lastBody().model, 'mock/ok', 'a model within a message is none');
  assert.equal((await ollama.embed({ model: 'embed:latest', input: 'one' })).embeddings.length, 1);
  assert.deepEqual((await ollama.show({ model: 'embed:latest' })).capabilities, ['embedding']);
  await assert.rejects(ollama.chat({ model: 'none:latest', messages: hello }), { status_code: 404, error: /'none/ });
});

test('a body may have any content type, as curl sends it by `-d`', async () => {
  const form = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/x-www-form-urlencoded' };
  for (const [path, body] of [
    ['chat', { model: 'chat', messages: hello, stream: false }],
    ['generate', { model: 'chat', prompt: 'hello', stream: false }],
    ['embed', { model: 'embed', input: 'hello' }],
    ['show', { model: 'chat' }],
  ] as const) {
    const init = { method: 'POST', body: JSON.stringify(body), headers: form };
    const response = await gateway.fetch(`/api/${path}`, init);
    assert.equal(response.status, 200, path);
  }
});

test('errors are the text that its clients show', async () => {
  for (const call of [ollama.pull({ model: 'chat' }), ollama.delete({ model: 'chat' })])
    await assert.rejects(call, { status_code: 404, error: /^There is no \/api\// });
  const wrong = new Ollama({ host: gateway.url, headers: { Authorization: 'Bearer sk-cv-wrongwrongwrong' } });
  await assert.rejects(wrong.chat({ model: 'chat', messages: hello }), { status_code: 401, error: /key/i });
  await assert.rejects(ollama.chat({ model: 'none', messages: hello }), { status_code: 404, error: /'none'/ });
  const wrongMessages = 'hello' as unknown as [];
  await assert.rejects(ollama.chat({ model: 'chat', messages: wrongMessages }), {
    status_code: 400,
    error: /messages/,
  });
  await assert.rejects(ollama.chat({ model: 'chat', messages: hello, options: { temperature: 9 } }), {
    status_code: 400,
    error: /options\.temperature/,
  });
});

test('a stream that breaks ends with a line that says so', async () => {
  const response = await gateway.fetch('/api/chat', {
    method: 'POST',
    json: { model: 'mock/cut', messages: hello },
  });
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  assert.equal(typeof (JSON.parse(lines.at(-1)!) as { error: string }).error, 'string');
});

for (const [encoding, pack] of Object.entries(packings)) {
  test(`a body of ${encoding} is unpacked at every door that reads JSON: /api/chat, Bedrock's, Cohere's, stored objects`, async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding, ...authorization };
    const packedBomb = pack(Buffer.alloc(33 * 1024 * 1024, ' '));
    for (const [path, body] of [
      ['/api/chat', { model: 'tried', messages: hello, stream: false }],
      ['/model/tried/converse', { messages: [{ role: 'user', content: [{ text: 'hello there' }] }] }],
      ['/v2/chat', { model: 'tried', messages: hello }],
      ['/v1/conversations', { metadata: { a: 'b' } }],
    ] as const) {
      const answer = await gateway.fetch(path, { method: 'POST', headers, body: pack(JSON.stringify(body)) as never });
      const text = await answer.text();
      assert.equal(answer.status, 200, `${path}: ${text}`);
      if (path !== '/v1/conversations') assert.match(text, /hello there/, path);
      const bomb = await gateway.fetch(path, { method: 'POST', headers, body: packedBomb as never });
      assert.equal(bomb.status, 413, path);
    }
  });
}
