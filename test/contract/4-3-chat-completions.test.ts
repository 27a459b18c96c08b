import assert from 'node:assert/strict';
import { test } from 'node:test';
import { specValidator } from '../spec/validate.ts';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { asked, chatPath, dataLines, hello, serve } from './served.ts';

const { gateway, upstream } = await serve();
const checkAnswer = specValidator('openai', 'CreateChatCompletionResponse');
const checkChunk = specValidator('openai', 'CreateChatCompletionStreamResponse');

interface Answer {
  choices: { index: number; message: { content: string; tool_calls?: { function: { name: string } }[] } }[];
  usage: { total_tokens: number; prompt_tokens: number; completion_tokens: number };
  model: string;
}

/** Of the first request to the upstream. */
const bodyTo = (at: Upstream) => asked(at)[0]?.body as Record<string, unknown>;

const ask = async (fields: object = {}) => {
  const response = await gateway.fetch(chatPath, { json: { ...hello, ...fields } });
  assert.equal(response.status, 200, await response.clone().text());
  return response;
};

const weather = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};

test('§4.3 "Routes to the best available provider automatically"', async (t) => {
  const [first, second] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([first.close(), second.close()]));
  const two = await startGateway(t, overUpstreams(first.url, second.url));
  first.script(chatPath, ['status=503']);
  const response = await two.fetch(chatPath, { json: hello });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-culvert-attempts'), '2');
  assert.equal(response.headers.get('x-culvert-provider'), 'up2');
});

const accepted: Record<string, unknown> = {
  temperature: 0.5,
  max_tokens: 50,
  top_p: 0.9,
  frequency_penalty: 0.5,
  presence_penalty: -0.5,
  stop: ['END'],
  n: 1,
  response_format: { type: 'json_object' },
  tools: [weather],
  tool_choice: 'auto',
  seed: 7,
  logprobs: true,
  top_logprobs: 2,
};
for (const [name, value] of Object.entries(accepted)) {
  test(`§4.3 "Accepted parameters: … ${name} …" reaches a provider of the same format as it came`, async () => {
    upstream.clear();
    const beside =
      name === 'tool_choice' ? { tools: [weather] } : name === 'top_logprobs' ? { logprobs: true } : undefined;
    const response = await ask({ [name]: value, ...beside });
    assert.deepEqual(checkAnswer(await response.json()), []);
    const body = bodyTo(upstream);
    assert.deepEqual(body[name], value);
  });
}

test('§4.3 "model, messages": the alias becomes the provider\'s model, the messages stay', async () => {
  upstream.clear();
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Grüße 👋' }] },
  ];
  await ask({ messages });
  const body = bodyTo(upstream);
  assert.equal(body.model, 'mock/ok');
  assert.deepEqual(body.messages, messages);
});

test('§4.3 "`messages` is an array of objects with `role` (for example system, user) and `content`"', async () => {
  for (const role of ['system', 'developer', 'user', 'assistant']) {
    const response = await ask({
      messages: [
        { role, content: 'x' },
        { role: 'user', content: 'y' },
      ],
    });
    assert.deepEqual(checkAnswer(await response.json()), [], role);
  }
});

test('§4.3 "Non-streaming response: `choices[]` each with `message.content`, and `usage.total_tokens`"', async () => {
  const answer = (await (await ask()).json()) as Answer;
  assert.deepEqual(checkAnswer(answer), []);
  assert.equal(typeof answer.choices[0]?.message.content, 'string');
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
});

test('§4.3 "n": as many choices as asked', async () => {
  const { choices } = (await (await ask({ n: 3 })).json()) as Answer;
  assert.deepEqual(
    choices.map(({ index }) => index),
    [0, 1, 2],
  );
});

test('§4.3 "with `stream` = true the response is Server-Sent Events"', async () => {
  const response = await ask({ stream: true });
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  assert.equal(response.headers.get('content-length'), null);
  await response.text();
});

test('§4.3 "Each line has the form `data: <JSON chunk>`, where the chunk carries `choices[].delta.content`"', async () => {
  upstream.script(chatPath, ['text=one two three;chunks=3']);
  const text = await (await ask({ stream: true })).text();
  for (const line of text.split('\n')) assert.ok(line === '' || line.startsWith('data: '), line);
  const chunks = dataLines(text)
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  for (const chunk of chunks) assert.deepEqual(checkChunk(chunk), []);
  const said = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
  assert.equal(said, 'one two three');
});

test('§4.3 "The stream ends with the line `data: [DONE]`"', async () => {
  const text = await (await ask({ stream: true })).text();
  assert.ok(text.endsWith('data: [DONE]\n\n'));
  assert.equal(text.split('[DONE]').length, 2);
});

test('§4.3 a stream that was cut does not end with `data: [DONE]` but with an error', async () => {
  upstream.script(chatPath, ['cut;chunks=5']);
  const text = await (await ask({ stream: true })).text();
  assert.ok(!text.includes('[DONE]'));
  const last = JSON.parse(dataLines(text).at(-1)!);
  assert.equal(last.error.type, 'upstream_error');
  assert.equal(last.error.code, 502);
});

test('§4.3 usage in a stream: only when the caller asked for it, though the gateway always asks', async () => {
  const without = await (await ask({ stream: true })).text();
  assert.ok(!without.includes('"total_tokens"'));
  const withUsage = await (await ask({ stream: true, stream_options: { include_usage: true } })).text();
  const last = JSON.parse(dataLines(withUsage).at(-2)!);
  assert.deepEqual(last.choices, []);
  assert.ok(last.usage.total_tokens > 0);
});

for (const stream of [false, true]) {
  test(`§4.3 "tools are defined once in the common chat format and the gateway converts formats between providers" (${stream ? 'stream' : 'whole'})`, async (t) => {
    const messagesUpstream = await startUpstream();
    t.after(() => messagesUpstream.close());
    const converting = await startGateway(t, {
      providers: { claude: { type: 'anthropic', base_url: `${messagesUpstream.url}/v1`, api_key: 'sk-ant-x' } },
      models: { chat: { targets: ['claude/mock/ok'] } },
    });
    const json = { ...hello, tools: [weather], tool_choice: 'required', stream };
    const response = await converting.fetch(chatPath, { json });
    assert.equal(response.status, 200);
    const [request] = asked(messagesUpstream) as unknown as [{ path: string; body: { tools: { name: string }[] } }];
    assert.equal(request.path, '/v1/messages');
    assert.equal(request.body.tools[0]?.name, 'weather');
    const text = await response.text();
    if (stream) {
      const chunks = dataLines(text)
        .slice(0, -1)
        .map((line) => JSON.parse(line));
      for (const chunk of chunks) assert.deepEqual(checkChunk(chunk), []);
      assert.ok(chunks.some((chunk) => chunk.choices[0]?.delta.tool_calls?.[0]?.function.name === 'weather'));
      assert.ok(text.endsWith('data: [DONE]\n\n'));
    } else {
      const answer = JSON.parse(text) as Answer;
      assert.deepEqual(checkAnswer(answer), []);
      assert.equal(answer.choices[0]?.message.tool_calls?.[0]?.function.name, 'weather');
    }
  });
}

test('§4.3, design §6: an unknown model is 404 with the allowed ones and the nearest spelling', async () => {
  const response = await gateway.fetch(chatPath, { json: { ...hello, model: 'chatt' } });
  assert.equal(response.status, 404);
  const { error } = (await response.json()) as { error: { message: string; code: number; param: string } };
  assert.equal(error.code, 404);
  assert.equal(error.param, 'model');
  assert.match(error.message, /Did you mean 'chat'\? Allowed models: chat, culvert-lexical-1024,/);
});

test('design §6: "Unknown request fields are forwarded when the provider speaks the caller\'s dialect"', async () => {
  upstream.clear();
  await ask({ min_p: 0.05, provider_extra: { deep: [1, { x: 'y' }] } });
  const body = bodyTo(upstream);
  assert.equal(body.min_p, 0.05);
  assert.deepEqual(body.provider_extra, { deep: [1, { x: 'y' }] });
});

test('design §6: `models` names further ones to try, and never leaves the gateway', async (t) => {
  const [first, second] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([first.close(), second.close()]));
  first.script(chatPath, ['always status=503']);
  const { providers } = overUpstreams(first.url, second.url);
  const models = { a: { targets: ['up1/mock/ok'] }, b: { targets: ['up2/mock/ok'] } };
  const two = await startGateway(t, { providers, models });
  const response = await two.fetch(chatPath, { json: { ...hello, model: 'a', models: ['b'] } });
  assert.equal(response.status, 200);
  const body = bodyTo(second);
  assert.equal(body.models, undefined);
});
