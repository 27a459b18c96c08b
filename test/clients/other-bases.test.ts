import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { AzureOpenAI, toFile } from 'openai';
import WebSocket, { WebSocketServer } from 'ws';
import { soundPieces } from '../../src/simulator/media/sound.ts';
import type { ErrorBody } from '../contract/served.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

interface Health {
  healthy_endpoints: { model: string }[];
  unhealthy_endpoints: { model: string }[];
  healthy_count: number;
  unhealthy_count: number;
}

/* The base URLs and probes of those who come from LiteLLM or Azure OpenAI, by the official SDKs. */

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      openai: {
        type: 'openai',
        base_url: `${upstream.url}/v1`,
        api_key: 'a',
        dialects: ['openai-chat', 'openai-responses'],
      },
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'b' },
    },
    models: {
      'my-gpt': { targets: ['openai/mock/ok'] },
      embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
      listen: { type: 'transcription', targets: ['openai/whisper-1'] },
      draw: { type: 'image', targets: ['openai/gpt-image-1'] },
      speak: { type: 'speech', targets: ['openai/tts-1'] },
      claude: { targets: ['claude/claude-sonnet-4-5'] },
      failing: { targets: ['openai/mock/status=500'] },
      gone: { targets: ['openai/mock/status=503'] },
    },
  },
);
const messages = [{ role: 'user' as const, content: 'hello there' }];
const last = () => upstream.requests().at(-1)!;

const bases = ['', '/', '/cursor', '/openai/v1', '/v1', '/v1/', '//v1//', '/v1/v1', '/openai/v1/v1'];
for (const base of [...bases, '/api/v1', '/v1beta/openai/', '/v1/openai']) {
  test(`OpenAI's SDK works with the base URL '${base}'`, async () => {
    const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}${base}`, maxRetries: 0 });
    const answer = await openai.chat.completions.create({ model: 'my-gpt', messages });
    assert.match(answer.choices[0]!.message.content!, /hello there/);
    let text = '';
    for await (const chunk of await openai.chat.completions.create({ model: 'my-gpt', messages, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? '';
    }
    assert.match(text, /hello there/);
    assert.equal((await openai.embeddings.create({ model: 'embed', input: 'x' })).data.length, 1);
    assert.ok((await openai.responses.create({ model: 'my-gpt', input: 'hello' })).output_text.length > 0);
    const listed = (await openai.models.list()).data.map(({ id }) => id);
    assert.ok(listed.includes('my-gpt'));
    assert.equal((await openai.models.retrieve('my-gpt')).id, 'my-gpt');
    await assert.rejects(openai.chat.completions.create({ model: 'none', messages }), OpenAI.NotFoundError);
  });
}

test('an empty name in a path is not left out: the path without it may name something else', async () => {
  for (const path of ['/v1/models//my-gpt', '//v1/models//my-gpt', '/v1/files//content'])
    assert.equal((await gateway.fetch(path, { method: 'GET' })).status, 404, path);
  assert.equal((await gateway.fetch('/v1/vectors/collections//points', { method: 'DELETE' })).status, 404);
});

test('an endpoint of a model has a slash behind it for clients of LiteLLM and vLLM, which redirect those', async () => {
  const chat = { model: 'my-gpt', messages };
  for (const [path, json] of [
    ['/v1/chat/completions/', chat],
    ['/chat/completions//', chat],
    ['/openai/v1/chat/completions/', chat],
    ['/v1/embeddings/', { model: 'embed', input: 'x' }],
    ['/v1/messages/', { ...chat, max_tokens: 9 }],
    ['/v1/responses/', { model: 'my-gpt', input: 'hello' }],
  ] as const) {
    assert.equal((await gateway.fetch(path, { json })).status, 200, path);
    assert.equal((await fetch(`${gateway.url}${path}`, { method: 'POST' })).status, 401, path);
  }
  // An empty name: the path without it creates or lists.
  for (const path of ['/v1/conversations/', '/v1/vector_stores/', '/v1/files/', '/v1/vectors/collections/'])
    for (const method of ['POST', 'GET', 'DELETE']) {
      const { status } = await gateway.fetch(path, { method, ...(method === 'POST' && { json: {} }) });
      assert.ok(status === 404 || status === 405, `${method} ${path} ${status}`);
    }
  for (const path of ['/v1/responses/', '/v1/chat/completions/'])
    assert.equal((await gateway.fetch(path, { method: 'DELETE' })).status, 405, path);
});

test('the list of models has a slash behind it for some clients', async () => {
  for (const path of ['/v1/models/', '/openai/v1/models/']) {
    const answer = await gateway.fetch(path, { method: 'GET' });
    assert.deepEqual([answer.status, /"object":"list"/.test(JSON.stringify(await answer.json()))], [200, true], path);
  }
  assert.equal((await gateway.fetch('/v1/models/', { method: 'DELETE' })).status, 405);
});

test('a byte order mark before JSON is ignored, and the provider does not see it', async () => {
  const body = `\ufeff${JSON.stringify({ model: 'my-gpt', messages })}`;
  const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
  const sent = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body });
  assert.equal(sent.status, 200, await sent.text());
  const packed = { ...headers, 'content-encoding': 'gzip' };
  const answer = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: packed,
    body: gzipSync(`\ufeff${JSON.stringify({ model: 'my-gpt', messages, max_tokens: 9 })}`),
  });
  assert.equal(answer.status, 200, await answer.text());
});

test("Anthropic's SDK works with LiteLLM's base URL, and errors have its form", async () => {
  const anthropic = new Anthropic({ apiKey: gateway.key, baseURL: `${gateway.url}/anthropic`, maxRetries: 0 });
  assert.equal((await anthropic.messages.create({ model: 'my-gpt', max_tokens: 64, messages })).type, 'message');
  const wrong = anthropic.messages.create({ model: 'none', max_tokens: 64, messages });
  await assert.rejects(wrong, (error) => error instanceof Anthropic.NotFoundError && error.requestID !== null);
});

for (const [client, path, body] of [
  ['Anthropic', '/v1/v1/messages', { model: 'my-gpt', max_tokens: 8, messages }],
  ['Google', '/v1/v1beta/models/my-gpt:generateContent', { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }],
  ['Ollama', '//api/chat', { model: 'my-gpt', messages }],
  ['Cohere', '/v1//v2/embed', { model: 'embed', texts: ['a'], input_type: 'search_query', embedding_types: ['float'] }],
] as const) {
  test(`a client of ${client} whose base URL has a version or a slash of its own is understood: ${path}`, async () => {
    assert.equal((await gateway.fetch(path, { json: body })).status, 200);
    assert.equal((await fetch(`${gateway.url}${path}`, { method: 'POST' })).status, 401);
    assert.equal((await gateway.fetch(path, { method: 'DELETE' })).status, 405);
  });
}

test("Azure's SDK asks for a deployment in the path, whatever the body says", async () => {
  const azure = new AzureOpenAI({
    apiKey: gateway.key,
    endpoint: gateway.url,
    apiVersion: '2025-04-01-preview',
    maxRetries: 0,
  });
  const answer = await azure.chat.completions.create({ model: 'my-gpt', messages });
  assert.match(answer.choices[0]!.message.content!, /hello there/);
  assert.equal((await azure.embeddings.create({ model: 'embed', input: 'x' })).data.length, 1);
  const deployed = new AzureOpenAI({
    apiKey: gateway.key,
    endpoint: gateway.url,
    deployment: 'my-gpt',
    apiVersion: '2025-04-01-preview',
    maxRetries: 0,
  });
  let text = '';
  for await (const chunk of await deployed.chat.completions.create({ model: 'another-name', messages, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? '';
  }
  assert.match(text, /hello there/);
  assert.equal((last().body as { model: string }).model, 'mock/ok');
  const file = await toFile(Buffer.concat([...soundPieces('mp3', 2_000, 200)]), 'hello.mp3');
  const heard = await azure.audio.transcriptions.create({ model: 'listen', file });
  assert.equal(typeof heard.text, 'string');
  const unknown = azure.chat.completions.create({ model: 'no such', messages });
  await assert.rejects(unknown, OpenAI.NotFoundError);
});

test("Azure's SDK finds what has no deployment in its path: Responses, models, files and batches", async () => {
  const azure = new AzureOpenAI({
    apiKey: gateway.key,
    endpoint: gateway.url,
    apiVersion: '2025-04-01-preview',
    maxRetries: 0,
  });
  assert.ok((await azure.responses.create({ model: 'my-gpt', input: 'hello' })).output_text.length > 0);
  assert.ok((await azure.models.list()).data.some(({ id }) => id === 'my-gpt'));
  const file = await azure.files.create({ file: await toFile(Buffer.from('{}'), 'a.jsonl'), purpose: 'batch' });
  assert.equal((await azure.files.retrieve(file.id)).filename, 'a.jsonl');
  assert.deepEqual((await azure.batches.list()).data, []);
});

for (const [what, body, model] of [
  ['names another model', '{"model":"another-name","seed":12345678901234567890,"messages":', 'my-gpt'],
  ['names none', '{"seed":12345678901234567890,"messages":', 'my-gpt'],
] as const) {
  test(`a body for a deployment that ${what} goes on as it came but for its model`, async (t) => {
    const bodies: string[] = [];
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      if (request.method === 'POST') bodies.push(text);
      response.statusCode = 400;
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const own = await startGateway(t, {
      providers: { openai: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'a' } },
      models: { [model]: { targets: ['openai/up'] } },
    });
    const small = JSON.stringify(messages);
    // Too many objects for the loop: another thread reads it.
    const wide = JSON.stringify(Array.from({ length: 10_000 }, () => messages[0]));
    for (const rest of [small, wide]) {
      await own.fetch(`/openai/deployments/${model}/chat/completions`, {
        method: 'POST',
        body: `${body}${rest}}`,
        headers: { 'content-type': 'application/json' },
      });
      const sent = bodies.pop()!;
      assert.ok(sent.endsWith(`"seed":12345678901234567890,"messages":${rest}}`), sent.slice(0, 200));
      assert.equal(JSON.parse(sent).model, 'up');
    }
    const twice = await own.fetch(`/openai/deployments/${model}/chat/completions`, {
      method: 'POST',
      body: `{"model":"a","model":"b","messages":${small}}`,
      headers: { 'content-type': 'application/json' },
    });
    assert.equal(twice.status, 400);
    assert.equal(((await twice.json()) as ErrorBody).error.param, 'model');
    assert.equal(bodies.length, 0);
  });
}

test('other bases lead to endpoints with a key alone, and a wrong key is refused there', async () => {
  for (const path of [
    '/chat/completions',
    '/openai/v1/chat/completions',
    '/openai/deployments/my-gpt/chat/completions',
  ]) {
    const response = await fetch(`${gateway.url}${path}`, { method: 'POST', body: '{}' });
    assert.equal(response.status, 401, path);
    assert.equal((await gateway.fetch(path, { method: 'GET' })).status, 405, path);
  }
  for (const path of [
    '/openai/admin/v1/keys',
    '/anthropic/v1',
    '/gemini/metrics',
    '/openai/deployments/%ff/embeddings',
  ]) {
    assert.equal((await gateway.fetch(path)).status, 404, path);
  }
});

test("LiteLLM's health probes answer as its own do", async () => {
  for (const path of ['/health/liveliness', '/health/liveness']) {
    const response = await fetch(`${gateway.url}${path}`);
    assert.deepEqual([response.status, await response.json()], [200, "I'm alive!"]);
  }
  const ready = await fetch(`${gateway.url}/health/readiness`);
  assert.equal(ready.status, 200);
  assert.deepEqual(await ready.json(), { status: 'healthy', db: 'connected' });
  assert.equal((await fetch(`${gateway.url}/health`)).status, 401);
  const asked = upstream.requests().length;
  const health = (await (await gateway.fetch('/health')).json()) as Health;
  assert.ok(health.healthy_endpoints.some(({ model }) => model === 'my-gpt'));
  assert.equal(health.healthy_count, health.healthy_endpoints.length);
  assert.equal(health.unhealthy_count, health.unhealthy_endpoints.length);
  assert.equal(upstream.requests().length, asked, 'no provider is asked');
});

const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });

for (const fallbacks of [
  ['gone', 'my-gpt'],
  [{ model: 'gone' }, { model: 'my-gpt' }],
  ['gone', { model: 'my-gpt' }],
]) {
  test(`LiteLLM's fallbacks ${JSON.stringify(fallbacks)} are tried in order, and no provider sees them`, async () => {
    const chat = { model: 'failing', messages, fallbacks } as OpenAI.ChatCompletionCreateParamsNonStreaming;
    const { data, response } = await openai.chat.completions.create(chat).withResponse();
    assert.match(data.choices[0]!.message.content!, /hello there/);
    assert.equal(response.headers.get('x-culvert-model'), 'mock/ok');
    assert.equal('fallbacks' in (last().body as object), false);
    const answer = { model: 'failing', input: 'hello', fallbacks } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    assert.ok((await openai.responses.create(answer)).output_text.length > 0);
    assert.equal('fallbacks' in (last().body as object), false);
  });
}

test("LiteLLM's fallbacks of names work in Messages; Anthropic's own, which are objects, go to Anthropic", async () => {
  const asked = { max_tokens: 64, messages };
  const named = await gateway.fetch('/v1/messages', { json: { ...asked, model: 'failing', fallbacks: ['my-gpt'] } });
  assert.equal(named.status, 200);
  assert.equal(named.headers.get('x-culvert-model'), 'mock/ok');
  const fallbacks = [{ model: 'claude-haiku-4-5', max_tokens: 9 }];
  await gateway.fetch('/v1/messages', { json: { ...asked, model: 'claude', fallbacks } });
  assert.deepEqual((last().body as { fallbacks: unknown }).fallbacks, fallbacks);
  await gateway.fetch('/v1/messages', { json: { ...asked, model: 'claude', fallbacks: ['my-gpt'] } });
  assert.equal('fallbacks' in (last().body as object), false);
  const many = Array.from({ length: 17 }, () => 'my-gpt');
  assert.equal(
    (await gateway.fetch('/v1/messages', { json: { ...asked, model: 'my-gpt', fallbacks: many } })).status,
    400,
  );
});

test('no provider sees fallbacks at endpoints that ask one model alone', async () => {
  for (const [path, json] of [
    ['/v1/embeddings', { model: 'embed', input: 'x' }],
    ['/v1/completions', { model: 'my-gpt', prompt: 'x' }],
    ['/v1/images/generations', { model: 'draw', prompt: 'x' }],
    ['/v1/audio/speech', { model: 'speak', input: 'x', voice: 'alloy' }],
  ] as const) {
    assert.equal((await gateway.fetch(path, { json: { ...json, fallbacks: ['gone'] } })).status, 200, path);
    assert.equal('fallbacks' in (last().body as object), false, path);
  }
});

test('fallbacks of another form are a 400 that names the place', async () => {
  for (const [fallbacks, param] of [
    ['my-gpt', 'fallbacks'],
    [[7], 'fallbacks[0]'],
    [[{ 'my-gpt': ['failing'] }], 'fallbacks[0]'],
    [[{ model: 'my-gpt', temperature: 1 }], 'fallbacks[0]'],
  ] as const) {
    const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'my-gpt', messages, fallbacks } });
    const { error } = (await response.json()) as ErrorBody;
    assert.equal(response.status, 400, JSON.stringify(fallbacks));
    assert.ok(String(error.param).startsWith(param), String(error.param));
  }
});

/* One key of OpenAI's and nothing else: every kind of model that its list names can be called. */

test("with OpenAI's key alone, models for moderation and realtime can be called; OCR names who has it", async (t) => {
  const asked: string[] = [];
  const ids = ['gpt-5', 'omni-moderation-latest', 'gpt-realtime'];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    asked.push(`${request.method} ${request.url} ${text === '' ? '' : JSON.parse(text).model}`);
    response.setHeader('content-type', 'application/json');
    if (request.url!.startsWith('/v1/models')) {
      response.end(JSON.stringify({ object: 'list', data: ids.map((id) => ({ id, object: 'model' })) }));
    } else {
      const results = [{ flagged: false, categories: {}, category_scores: {}, category_applied_input_types: {} }];
      response.end(JSON.stringify({ id: 'modr-1', model: 'omni-moderation-latest', results }));
    }
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, request) => {
    asked.push(`WS ${request.url}`);
    socket.send(
      JSON.stringify({ type: 'session.created', event_id: 'e', session: { type: 'realtime', model: 'gpt-realtime' } }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const own = await startGateway(t, {
    providers: { openai: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'a' } },
    models: {},
  });
  const client = new OpenAI({ apiKey: own.key, baseURL: `${own.url}/v1`, maxRetries: 0 });
  const listed = async () =>
    Object.fromEntries(
      (await client.models.list()).data.map((one) => [one.id, (one as unknown as { model_type: string }).model_type]),
    );
  let types: Record<string, string> = {};
  await until('the models of the vendor are listed', async () => {
    types = await listed();
    return types['gpt-realtime'] !== undefined;
  });
  assert.equal(types['omni-moderation-latest'], 'moderation');
  assert.equal(types['gpt-realtime'], 'realtime');
  assert.equal(types['openai/gpt-realtime'], 'realtime');
  for (const model of [undefined, 'omni-moderation-latest', 'openai/omni-moderation-latest']) {
    const judged = await client.moderations.create({ input: 'Hello', ...(model && { model }) });
    assert.equal(judged.results[0]!.flagged, false);
  }
  assert.equal(asked.filter((one) => one === 'POST /v1/moderations omni-moderation-latest').length, 3);
  // The second one as Azure's SDK asks.
  for (const path of ['/v1/realtime?model=gpt-realtime', '/openai/realtime?api-version=1&deployment=gpt-realtime']) {
    const socket = new WebSocket(`${own.url.replace('http', 'ws')}${path}`, { headers: { 'api-key': own.key } });
    t.after(() => socket.terminate());
    const [first] = await once(socket, 'message');
    assert.equal(JSON.parse(String(first)).type, 'session.created');
  }
  const ocr = await own.fetch('/v1/ocr', {
    json: {
      model: 'mistral-ocr-latest',
      document: { type: 'document_url', document_url: 'https://example.com/a.pdf' },
    },
  });
  assert.equal(ocr.status, 404);
  assert.match(((await ocr.json()) as ErrorBody).error.message, /MISTRAL_API_KEY/);
});
