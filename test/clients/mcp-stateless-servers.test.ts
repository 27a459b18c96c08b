import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../src/kernel/json.ts';
import { adminKey, otherKey, startGateway, testKey, testProcesses } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { until } from '../until.ts';

/* Servers that speak MCP's revision 2026-07-28 alone, as `createMcpHandler(…, { legacy: 'reject' })` of the official SDK does. */

const version = '2026-07-28';
const meta = (name: string) => `io.modelcontextprotocol/${name}`;
const region = { type: 'string', 'x-mcp-header': 'Region' };
const nested = { type: 'object', properties: { dry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' } } };
const tools = ['add', 'größe', 'remove', 'query'].map((name) => ({
  name,
  inputSchema: { type: 'object', ...(name === 'query' && { properties: { region, nested } }) },
}));

interface Message {
  id: number;
  method: string;
  params: { name?: string; uri?: string; arguments?: JsonObject; _meta?: JsonObject } & JsonObject;
}

const heard: { headers: IncomingHttpHeaders; message: Message }[] = [];

function answerTo({ method, params }: Message): { status?: number; result?: JsonObject; error?: JsonObject } {
  switch (method) {
    case 'server/discover':
      return {
        result: {
          supportedVersions: [version],
          capabilities: { tools: {}, prompts: {}, resources: {} },
          instructions: 'Be kind.',
          _meta: { [meta('serverInfo')]: { name: 'modern', version: '1' } },
        },
      };
    case 'tools/list':
      return { result: { tools, ttlMs: 0, cacheScope: 'private' } };
    case 'prompts/list':
      return { result: { prompts: [{ name: 'greet' }] } };
    case 'prompts/get':
      return askingFor(params, { messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }] });
    case 'resources/list':
      return { result: { resources: [{ name: 'notes', uri: 'note://1' }] } };
    case 'tools/call': {
      if (params.name === 'remove') return askingFor(params, { content: [{ type: 'text', text: 'removed' }] });
      const content = [{ type: 'text', text: `${params.name}: ${JSON.stringify(params.arguments)}` }];
      return { result: { content, _meta: { spent: 7 } } };
    }
    default:
      return { status: 404, error: { code: -32_601, message: `Method not found: ${method}` } };
  }
}

/** Only the server reads it. */
const state = '{"step":1,"mail":"jo@example.org"}';

/** The result, once the user has agreed. The state must come back as it went. */
function askingFor({ inputResponses, requestState }: Message['params'], result: JsonObject): { result: JsonObject } {
  const { sure } = (inputResponses ?? {}) as { sure?: { action?: string } };
  if (sure?.action === 'accept' && requestState === state) return { result };
  const requestedSchema = { type: 'object', properties: { why: { type: 'string' } }, required: ['why'] };
  const question = {
    method: 'elicitation/create',
    params: { mode: 'form', message: 'Are you sure?', requestedSchema },
  };
  return { result: { resultType: 'input_required', inputRequests: { sure: question }, requestState: state } };
}

function decoded(header: string | string[] | undefined): string | undefined {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(String(header ?? '')) ?? [];
  return encoded === undefined ? header?.toString() : Buffer.from(encoded, 'base64').toString();
}

/** As the specification wants it: a message without its version, or whose headers contradict it, is refused. */
function checked(headers: IncomingHttpHeaders, message: Message): ReturnType<typeof answerTo> {
  const { [meta('protocolVersion')]: stated, [meta('clientCapabilities')]: can } = message.params._meta ?? {};
  if (stated !== version || can === undefined || headers['mcp-protocol-version'] !== version) {
    const data = { supported: [version], requested: 'another' };
    return { status: 400, error: { code: -32_022, message: 'Unsupported protocol version', data } };
  }
  const name = message.params.name ?? message.params.uri;
  const encoded = name === 'größe' ? `=?base64?${Buffer.from(name).toString('base64')}?=` : name;
  const { region, nested } = (message.params.arguments ?? {}) as { region?: string; nested?: { dry?: boolean } };
  const repeated = [decoded(headers['mcp-param-region']), headers['mcp-param-dry-run']];
  if (name === 'query' && !isDeepStrictEqual(repeated, [region ?? undefined, String(nested?.dry)]))
    return { status: 400, error: { code: -32_020, message: `Header mismatch of ${name}: ${repeated}` } };
  if (headers['mcp-method'] === message.method && headers['mcp-name'] === encoded) return answerTo(message);
  return { status: 400, error: { code: -32_020, message: 'Header mismatch' } };
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const message = JSON.parse(Buffer.concat(chunks).toString()) as Message;
  heard.push({ headers: request.headers, message });
  const { status = 200, result, error } = checked(request.headers, message);
  const body = {
    jsonrpc: '2.0',
    id: message.id,
    ...(result ? { result: { resultType: 'complete', ...result } } : { error }),
  };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
const gateway = await startGateway({ after: after as TestContext['after'] }, { mcp: { servers: { modern: { url } } } });
const headers = { authorization: `Bearer ${testKey}` };
const adminHeaders = { authorization: `Bearer ${adminKey}` };
// The first look at the server.
await until('the server is listed', async () =>
  (await (await fetch(`${gateway.url}/v1/mcp/tools`, { headers })).text()).includes('modern__add'),
);

test('a server without sessions is asked without a handshake, and offers what it has', async (t) => {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: { pin: version } } });
  t.after(() => client.close());
  const mcp = new URL(`${gateway.url}/mcp/modern`);
  await client.connect(new StreamableHTTPClientTransport(mcp, { requestInit: { headers } }));
  assert.equal(client.getInstructions(), 'Be kind.');
  const { tools: listed } = await client.listTools();
  assert.deepEqual(
    listed.map(({ name }) => name),
    tools.map(({ name }) => name),
  );
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates, []);
  const { content, _meta } = await client.callTool({ name: 'größe', arguments: { of: 'it' } });
  assert.deepEqual(content, [{ type: 'text', text: 'größe: {"of":"it"}' }]);
  // What the server says of its result stays there, beside our name.
  assert.equal(_meta?.spent, 7);
  assert.match(JSON.stringify(_meta), /"name":"culvert"/);
});

async function connect(t: Pick<TestContext, 'after'>, path: string): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: version } }, capabilities: { elicitation: { form: {} } } },
  );
  t.after(() => client.close());
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    assert.equal(params.message, 'Are you sure?');
    return { action: 'accept' as const, content: { why: 'old' } };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url + path), { requestInit: { headers } }));
  return client;
}

test('a question of such a server reaches the user, and the answer the server', async (t) => {
  const alone = await connect(t, '/mcp/modern');
  const removed = await alone.callTool({ name: 'remove', arguments: { id: 7 } });
  assert.deepEqual(removed.content, [{ type: 'text', text: 'removed' }]);
  const among = await connect(t, '/mcp');
  const { messages } = await among.getPrompt({ name: 'modern__greet' });
  assert.equal(messages.length, 1);
  const rounds = heard.flatMap(({ message: { params } }) => (params.name === 'remove' ? [params] : []));
  assert.deepEqual(
    rounds.map(({ inputResponses, _meta }) => [inputResponses, _meta?.[meta('clientCapabilities')]]),
    [
      [undefined, { elicitation: { form: {} } }],
      [{ sure: { action: 'accept', content: { why: 'old' } } }, { elicitation: { form: {} } }],
    ],
  );
  const listed = await fetch(`${gateway.url}/admin/v1/requests?mcp_server=modern&limit=10`, { headers: adminHeaders });
  assert.match(await listed.text(), /"outcome":"input-required"/);
});

test('a server that has sessions too is asked without one where its caller answers questions', async (t) => {
  const both = await startMcpServer(t, {
    tools: ['remove'],
    before(request, response) {
      if (request.headers['mcp-protocol-version'] !== version) return false;
      return server.emit('request', request, response);
    },
  });
  const old = await startMcpServer(t, { tools: ['remove'] });
  const own = await startGateway(t, { mcp: { servers: { both: { url: both.url }, old: { url: old.url } } } });
  await until('the servers are listed', async () =>
    /both__remove.*old__remove/.test(await (await own.fetch('/v1/mcp/tools')).text()),
  );
  const asking = { clientCapabilities: { elicitation: {} } };
  const call = async (of: string, more: object) => {
    const json = { tool: `${of}__remove`, arguments: {}, ...more };
    return (await (await own.fetch('/v1/mcp/call', { json })).json()) as JsonObject;
  };
  const { resultType, requestState } = await call('both', asking);
  assert.equal(resultType, 'input_required');
  const inputResponses = { sure: { action: 'accept', content: { why: 'old' } } };
  const done = await call('both', { ...asking, requestState, inputResponses });
  assert.deepEqual(done.content, [{ type: 'text', text: 'removed' }]);
  assert.equal(heard.at(-1)?.headers['mcp-session-id'], undefined);
  const inSession = [{ type: 'text', text: 'remove' }];
  for (const [of, more] of [
    ['both', {}],
    ['old', asking],
    ['old', asking],
    ['both', { clientCapabilities: {} }],
  ] as const)
    assert.deepEqual((await call(of, more)).content, inSession, `${of} ${JSON.stringify(more)}`);
  assert.ok(old.sessions() <= 2 * testProcesses, `${old.sessions()} sessions`);
});

test('a server with sessions that fails at the other revision answers in its session', async (t) => {
  const odd = await startMcpServer(t, {
    tools: ['remove'],
    before(request, response) {
      if (request.headers['mcp-protocol-version'] !== version) return false;
      response.writeHead(501).end('no such revision');
      return true;
    },
  });
  const own = await startGateway(t, { mcp: { servers: { odd: { url: odd.url } } } });
  await until('it is listed', async () => /odd__remove/.test(await (await own.fetch('/v1/mcp/tools')).text()));
  const json = { tool: 'odd__remove', arguments: {}, clientCapabilities: { elicitation: {} } };
  const { content } = (await (await own.fetch('/v1/mcp/call', { json })).json()) as JsonObject;
  assert.deepEqual(content, [{ type: 'text', text: 'remove' }]);
});

test('another key cannot go on with the question that a key got', async () => {
  const ask = async (key: string, more: object): Promise<{ status: number; answer: JsonObject }> => {
    const json = { tool: 'modern__remove', arguments: { id: 9 }, clientCapabilities: { elicitation: {} }, ...more };
    const response = await gateway.fetch('/v1/mcp/call', { json, headers: { authorization: `Bearer ${key}` } });
    return { status: response.status, answer: (await response.json()) as JsonObject };
  };
  const { requestState } = (await ask(testKey, {})).answer;
  const inputResponses = { sure: { action: 'accept', content: { why: 'old' } } };
  for (const stolen of [requestState, state]) {
    const refused = await ask(otherKey, { inputResponses, requestState: stolen });
    assert.equal(refused.status, 400, JSON.stringify(refused.answer));
    assert.match(JSON.stringify(refused.answer), /'requestState' belongs to no question that this key got/);
  }
  const done = await ask(testKey, { inputResponses, requestState });
  assert.deepEqual(done.answer.content, [{ type: 'text', text: 'removed' }]);
});

test('a guard that masks leaves the state of a server as it is', async (t) => {
  const guarded = await startGateway(t, {
    mcp: { servers: { modern: { url } } },
    guards: { pii: { check: 'personal-data', action: 'mask' } },
    server: { guards: ['pii'] },
  });
  await until('the server is listed', async () =>
    (await (await guarded.fetch('/v1/mcp/tools')).text()).includes('modern__remove'),
  );
  const json = { tool: 'modern__remove', arguments: {}, clientCapabilities: { elicitation: {} } };
  const asked = (await (await guarded.fetch('/v1/mcp/call', { json })).json()) as JsonObject;
  const { requestState } = asked;
  const inputResponses = { sure: { action: 'accept', content: { why: 'Ask jo@example.org' } } };
  const answer = await guarded.fetch('/v1/mcp/call', { json: { ...json, inputResponses, requestState } });
  assert.match(await answer.text(), /removed/);
  assert.deepEqual(heard.at(-1)?.message.params.inputResponses, {
    sure: { action: 'accept', content: { why: 'Ask <EMAIL_1>' } },
  });
});

test('where nobody can be asked, a question is an error that says so', async () => {
  const answer = await fetch(`${gateway.url}/v1/mcp/call`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ tool: 'modern__remove' }),
  });
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /asks for an answer of its user, whom nobody can ask in this call/);
});

test('arguments that the schema of a tool wants in headers are there', async (t) => {
  const client = await connect(t, '/mcp');
  for (const region of ['us-west1', 'Größe', ' padded ', '=?base64?x?=']) {
    const args = { region, nested: { dry: true } };
    const { content } = await client.callTool({ name: 'modern__query', arguments: args });
    assert.deepEqual(content, [{ type: 'text', text: `query: ${JSON.stringify(args)}` }]);
  }
  const { content } = await client.callTool({
    name: 'modern__query',
    arguments: { region: null, nested: { dry: false } },
  });
  assert.deepEqual(content, [{ type: 'text', text: 'query: {"region":null,"nested":{"dry":false}}' }]);
});

test('such a server hears of no session, and errors are its own', async () => {
  const call = (body: object) =>
    fetch(`${gateway.url}/v1/mcp/call`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const answer = await call({ tool: 'modern__add', arguments: { a: 1 } });
  assert.equal(answer.status, 200);
  const missing = await call({ resource: 'modern+note://1' });
  assert.equal(missing.status, 400);
  assert.match(await missing.text(), /modern: refused: Method not found: resources\/read \(-32601\)/);
  const methods = new Set(heard.map(({ message: { method } }) => method));
  assert.ok(!methods.has('notifications/initialized') && !methods.has('ping'));
  assert.ok(heard.every((one) => one.headers['mcp-session-id'] === undefined));
});
