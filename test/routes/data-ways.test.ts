import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { WebSocket } from 'ws';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from '../batches/world.ts';
import { rpc } from '../clients/a2a-client.ts';
import { listening } from '../listening.ts';
import { startAgent } from '../start-agent.ts';
import { startGateway } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { until } from '../until.ts';
import { startBatches } from '../upstream-formats/start-batches.ts';

/* Every way in which a caller's data leaves the server, for a caller whose data rule forbids it (docs/routing-rules.md). */

interface Asked {
  model?: string;
  input?: string[];
  messages?: { role: string }[];
  tools?: { function: { name: string } }[];
}

/** Texts of requests for services in the United States, and in Europe. */
const asked: Record<'us' | 'eu', string[]> = { us: [], eu: [] };
const upstream = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('latin1');
  const { url = '' } = request;
  if (!url.endsWith('/models')) asked[url.startsWith('/us') ? 'us' : 'eu'].push(`${url} ${text}`);
  const body = text.startsWith('{') ? (JSON.parse(text) as Asked) : {};
  const input = Array.isArray(body.input) ? body.input : [''];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  // A model with a tool calls it once.
  const name = body.messages?.some(({ role }) => role === 'tool') ? undefined : body.tools?.[0]?.function.name;
  const call = { id: 'call_1', type: 'function', function: { name, arguments: '{"query":"Hi"}' } };
  const message = { role: 'assistant', content: 'safe', ...(name !== undefined && { tool_calls: [call] }) };
  const finish_reason = name === undefined ? 'stop' : 'tool_calls';
  const answers: Record<string, object> = {
    embeddings: { object: 'list', data: input.map((_, index) => ({ index, embedding: [1, 0] })), usage },
    search: { results: [{ url: 'https://a.example/', title: 'A', content: 'a' }] },
    moderations: { id: 'm', model: 'm', results: input.map(() => ({ flagged: false, categories: {} })) },
  };
  const chat = {
    ...{ id: 'c', object: 'chat.completion', created: 1, model: body.model },
    ...{ choices: [{ index: 0, message, finish_reason }], usage },
  };
  const answer = answers[/[^/?]+(?=\?|$)/.exec(url)?.[0] ?? ''] ?? chat;
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
});
const hooks = { after: after as never };
const origin = await listening(hooks, upstream);
const agent = await startAgent(hooks);
const mcp = await startMcpServer(hooks, { tools: ['search'] });

const vendor = await startBatches(hooks);

const us = { region: 'us', trains: false, retention: '30d' };
const eu = { region: 'eu', trains: false, retention: 'none' };
const provider = (region: 'us' | 'eu', data: object) => ({
  ...{ type: 'openai', base_url: `${origin}/${region}/v1`, api_key: 'k', data, passthrough: true },
  object_apis: ['fine_tuning', 'containers', 'evals', 'chat_completions'],
});
const keyOf = (name: string) => `sk-cv-data-way-${name}`;
const types = {
  chat: 'chat',
  embedding: 'embedding',
  speech: 'speech',
  transcription: 'transcription',
  image: 'image',
  video: 'video',
  moderation: 'moderation',
  rerank: 'rerank',
};
const guard = (more: object) => ({ action: 'block', on: ['input'], deadline: '30s', ...more });
const outside = { check: 'openai-moderation', api_key: 'k', url: `${origin}/us/v1` };
const config = {
  providers: {
    us: provider('us', us),
    eu: provider('eu', eu),
    vendor: {
      ...{ type: 'openai', base_url: `${vendor.url}/v1`, api_key: 'k', data: eu },
      batches: { upstream: 'always' },
    },
  },
  models: {
    ...Object.fromEntries(
      Object.entries(types).map(([name, type]) => [`us-${name}`, { type, targets: [`us/${name}`] }]),
    ),
    near: { targets: ['eu/near'] },
    batched: { targets: ['vendor/mock/ok'] },
    shadowed: { targets: ['eu/shadowed'], shadow: { targets: ['us/shadow'], share: '100%' } },
    cached: { targets: ['eu/cached'], cache: { ttl: '1h', semantic: { model: 'us-embedding', error: '1%' } } },
    moderated: { targets: ['eu/near'], guards: ['moderated'] },
    allowed: { targets: ['eu/near'], guards: ['allowed'] },
    lenient: { targets: ['eu/near'], guards: ['lenient'] },
    asking: { targets: ['eu/near'], guards: ['asking'] },
    topical: { targets: ['eu/near'], guards: ['topical'] },
  },
  guards: {
    moderated: guard({ ...outside, data: us }),
    allowed: guard({ ...outside, url: `${origin}/eu/v1`, data: eu }),
    lenient: guard({ ...outside, data: us, on_error: 'allow' }),
    asking: guard({ check: 'model', model: 'us-moderation' }),
    topical: guard({ check: 'topics', model: 'us-embedding', topics: { cars: ['Cars'] }, threshold: 0.9 }),
  },
  plans: { default: { windows: 'off', rpm: 'off' } },
  accounts: {
    berlin: { data: { regions: ['eu'] } },
    clean: { data: { zero_retention: true } },
    free: {},
  },
  keys: ['berlin', 'clean', 'free'].map((account) => ({ key: keyOf(account), account, name: 'k' })),
  tools: { search: { providers: [{ type: 'searxng', base_url: `${origin}/us`, data: us }] }, model: 'us-chat' },
  mcp: { servers: { notes: { url: mcp.url, data: us } } },
  agents: { worker: { url: agent.url, data: us } },
};
const gateway = await startGateway(hooks, config);

async function ask(name: string, path: string, body: object | FormData) {
  asked.us.length = 0;
  asked.eu.length = 0;
  const headers = { authorization: `Bearer ${keyOf(name)}` };
  const sent = body instanceof FormData ? { body, method: 'POST' } : { json: body };
  const response = await gateway.fetch(path, { ...sent, headers });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const messages = [{ role: 'user', content: 'Hi' }];
const form = (model: string) => {
  const fields = new FormData();
  fields.set('model', model);
  fields.set('file', new Blob([Buffer.from('RIFF....WAVE')]), 'a.wav');
  return fields;
};
const picture = 'data:image/png;base64,iVBORw0KGgo=';

/** Requests for a model in the United States, at each endpoint. */
const ways: Record<string, [path: string, body: object | FormData]> = {
  'chat completions': ['/v1/chat/completions', { model: 'us-chat', messages }],
  completions: ['/v1/completions', { model: 'us-chat', prompt: 'Hi' }],
  messages: ['/v1/messages', { model: 'us-chat', max_tokens: 5, messages }],
  'counting tokens': ['/v1/messages/count_tokens', { model: 'us-chat', messages }],
  responses: ['/v1/responses', { model: 'us-chat', input: 'Hi' }],
  'compacted responses': ['/v1/responses/compact', { model: 'us-chat', input: 'Hi' }],
  Gemini: ['/v1beta/models/us-chat:generateContent', { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }],
  Bedrock: ['/model/us-chat/converse', { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }],
  Ollama: ['/api/chat', { model: 'us-chat', messages }],
  embeddings: ['/v1/embeddings', { model: 'us-embedding', input: 'Hi' }],
  speech: ['/v1/audio/speech', { model: 'us-speech', input: 'Hi', voice: 'alloy' }],
  transcriptions: ['/v1/audio/transcriptions', form('us-transcription')],
  images: ['/v1/images/generations', { model: 'us-image', prompt: 'Hi' }],
  'edits of images': ['/v1/images/edits', { model: 'us-image', prompt: 'Hi', images: [{ image_url: picture }] }],
  videos: ['/v1/videos', { model: 'us-video', prompt: 'Hi' }],
  moderations: ['/v1/moderations', { model: 'us-moderation', input: 'Hi' }],
  rerank: ['/v1/rerank', { model: 'us-rerank', query: 'Hi', documents: ['a', 'b'] }],
  OCR: ['/v1/ocr', { model: 'us-chat', document: { type: 'image_url', image_url: picture } }],
  passthrough: ['/passthrough/us/files', { text: 'Hi' }],
  searches: ['/v1/tools/search', { query: 'Hi' }],
  'tools of MCP servers': ['/v1/mcp/call', { tool: 'notes__search', arguments: { query: 'Hi' } }],
  'resources of MCP servers': ['/v1/mcp/call', { resource: 'notes+file:///a' }],
  'an MCP server': ['/mcp/notes', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
};

for (const [name, [path, body]] of Object.entries(ways)) {
  test(`${name}: a request that no service may take is refused with the rule, and sent nowhere`, async () => {
    const { status, text } = await ask('berlin', path, body);
    assert.equal(status, 403, text);
    assert.match(text, /data rule of the account berlin/);
    assert.deepEqual(asked, { us: [], eu: [] });
  });
}

test('objects of a provider are made where the rule allows, and nowhere for a caller who wants nothing kept', async () => {
  const body = { name: 'Hi' };
  for (const name of ['free', 'berlin'] as const) {
    const made = await ask(name, '/v1/containers', body);
    assert.equal(made.status, 200, made.text);
    assert.deepEqual([asked.us.length, asked.eu.length], name === 'free' ? [1, 0] : [0, 1]);
  }
  for (const [path, sent] of [['/v1/containers', body] as const, ['/v1/evals', body] as const]) {
    const refused = await ask('clean', path, sent);
    assert.equal(refused.status, 403, refused.text);
    assert.match(refused.text, /data rule of the account clean.*not allowed: retention/);
    assert.deepEqual(asked, { us: [], eu: [] });
  }
});

test('a message for an agent that the rule forbids is refused in the form of A2A', async () => {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] };
  const sent = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
  const { error } = await rpc(gateway, 'worker', sent, keyOf('berlin'));
  assert.match(error?.message ?? '', /data rule of the account berlin lets no target of the agent 'worker'/);
  assert.deepEqual(agent.messages(), []);
  const allowed = await rpc(gateway, 'worker', sent, keyOf('free'));
  assert.equal(allowed.error, undefined);
  assert.equal(agent.messages().length, 1);
});

test('a call of an MCP tool through /mcp is refused in the form of MCP', async () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'notes__search', arguments: {} } };
  const { text } = await ask('berlin', '/mcp', call);
  assert.match(text, /data rule of the account berlin lets no target of the MCP server 'notes'/);
  const { text: tools } = await ask('berlin', '/mcp', { ...call, method: 'tools/list', params: {} });
  assert.doesNotMatch(tools, /notes__/);
});

test('guards ask no service and no model that the rule forbids, and say so', async () => {
  const chat = (name: string, model: string) => ask(name, '/v1/chat/completions', { model, messages });
  for (const model of ['moderated', 'asking', 'topical']) {
    const refused = await chat('berlin', model);
    assert.equal(refused.status, 403, `${model}: ${refused.text}`);
    assert.match(refused.text, /data rule of the account berlin lets no target/, model);
    assert.deepEqual(asked.us, [], model);
    const free = await chat('free', model);
    assert.notDeepEqual(asked.us, [], `${model}: ${free.text}`);
  }
  const allowed = await chat('berlin', 'allowed');
  assert.equal(allowed.status, 200, allowed.text);
  assert.equal(asked.eu.length, 2);
  const lenient = await chat('berlin', 'lenient');
  assert.equal(lenient.status, 200, 'it passes without a verdict, as the guard says');
  assert.deepEqual(asked.us, []);
});

test('a shadow, and the model of a semantic cache, get nothing', async () => {
  for (const model of ['shadowed', 'cached']) {
    for (const name of ['free', 'berlin']) {
      const { status, text } = await ask(name, '/v1/chat/completions', { model, messages });
      assert.equal(status, 200, text);
      if (name === 'free') await until('it leaves', () => asked.us.length > 0);
      // The shadow begins after the answer.
      else await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal(asked.us.length > 0, name === 'free', `${name} ${model}`);
    }
  }
});

test('searches that a model makes ask no service that the rule forbids', async () => {
  const tools = [{ type: 'web_search' }];
  for (const name of ['free', 'berlin']) {
    const { status, text } = await ask(name, '/v1/responses', { model: 'near', input: 'Hi', tools, store: false });
    assert.equal(status, 200, text);
    assert.equal(asked.us.length > 0, name === 'free', text);
    if (name === 'berlin')
      assert.match(asked.eu.at(-1) ?? '', /data rule of the account berlin/, 'the model reads why');
  }
});

test('lines of a batch are refused one by one', async () => {
  const client = openAi(gateway.url, keyOf('berlin'));
  asked.us.length = 0;
  const batch = await beginBatch(client, [chatLine('a', { model: 'us-chat' }), chatLine('b', { model: 'near' })]);
  const ended = await batchWhen(client, batch.id, hasEnded);
  const errors = await resultsIn(client, ended.error_file_id);
  assert.match(JSON.stringify(errors), /data rule of the account berlin/);
  const results = await resultsIn(client, ended.output_file_id);
  assert.deepEqual(
    results.map(({ custom_id }) => custom_id),
    ['b'],
  );
  assert.deepEqual(asked.us, []);
});

test('lines are left to no batch of a provider, which keeps them, for a caller who wants nothing kept', async () => {
  const strict = openAi(gateway.url, keyOf('clean'));
  const alone = await beginBatch(strict, [chatLine('c', { model: 'batched' })]);
  await batchWhen(strict, alone.id, hasEnded);
  assert.equal(vendor.batches.length, 0);
  const free = openAi(gateway.url, keyOf('free'));
  const together = await beginBatch(free, [chatLine('d', { model: 'batched' })]);
  await until('it is at the provider', () => vendor.batches.length > 0);
  await vendor.finish();
  await batchWhen(free, together.id, hasEnded);
});

test('vectors: texts are embedded by no model that the rule forbids', async () => {
  const made = await ask('berlin', '/v1/vectors/collections', { name: 'c', embedding_model: 'us-embedding' });
  const put = await ask('berlin', '/v1/vectors/collections/c/points/upsert', {
    points: [{ id: 1, payload: { text: 'Hi' } }],
  });
  assert.ok(made.status >= 400 || put.status >= 400, `${made.text} ${put.text}`);
  assert.deepEqual(asked.us, []);
});

test('sessions over WebSockets are refused, and each message of one for responses', async () => {
  const headers = { authorization: `Bearer ${keyOf('berlin')}` };
  const realtime = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=us-chat`, { headers });
  const [, refused] = (await once(realtime, 'unexpected-response')) as [unknown, { statusCode: number }];
  assert.equal(refused.statusCode, 403);
  asked.us.length = 0;
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, { headers });
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'response.create', model: 'us-chat', input: 'Hi' }));
  const [frame] = (await once(socket, 'message')) as [Buffer];
  assert.match(String(frame), /data rule of the account berlin/);
  assert.deepEqual(asked.us, []);
  socket.close();
});
