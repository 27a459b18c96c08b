import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startGateway, testKey } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { cleanEnv, culvertBin } from '../start-process.ts';

/* Issue 13 §4: MCP's revision 2026-07-28, which knows no sessions, by its official client. */

const version = '2026-07-28';
const gateway = await startGateway({ after: after as TestContext['after'] });

type Transport = Parameters<Client['connect']>[0];

async function connected(t: TestContext, transport: Transport): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: { pin: version } } });
  t.after(() => client.close());
  await client.connect(transport);
  return client;
}

const overHttp = () =>
  new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${testKey}` } },
  });
const overStdio = (url = gateway.url) =>
  new StdioClientTransport({
    command: process.execPath,
    args: [culvertBin, 'mcp', '--url', url],
    env: cleanEnv({ CULVERT_API_KEY: testKey }),
  });

for (const [way, transport] of [
  ['HTTP', overHttp],
  ['culvert mcp', overStdio],
] as const) {
  test(`${way}: a client finds the tools and calls them without a handshake`, async (t) => {
    const client = await connected(t, transport());
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'create_collection'));
    const models = await client.callTool({ name: 'list_models', arguments: {} });
    assert.ok(!models.isError);
    assert.match(JSON.stringify(models.content), /sim\/chat/);
    const wrong = await client.callTool({ name: 'scrape', arguments: { url: 'no address' } });
    assert.ok(wrong.isError);
  });
}

test('culvert mcp: a client gets prompts and reads resources', async (t) => {
  const server = await startMcpServer(t);
  const own = await startGateway(t, { mcp: { servers: { one: { url: server.url } } } });
  const client = await connected(t, overStdio(own.url));
  const { messages } = await client.getPrompt({ name: 'one__greet', arguments: { who: 'Bo' } });
  assert.match(JSON.stringify(messages), /Greet Bo\./);
  const { contents } = await client.readResource({ uri: 'one+note://größe' });
  assert.match(JSON.stringify(contents), /Content of note:\/\/größe/);
});

interface Answer {
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: { supported: string[]; requested: string } };
}

async function send(
  method: string,
  params: Record<string, unknown>,
  headers: Record<string, string> = {},
  said = version,
): Promise<{ status: number; answer: Answer }> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': said,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const response = await gateway.fetch('/mcp', {
    json: { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } },
    headers: { 'mcp-protocol-version': said, 'mcp-method': method, ...headers },
  });
  return { status: response.status, answer: (await response.json()) as Answer };
}

test('every result says that it is whole, who gives it, and how long it may be kept', async () => {
  const { status, answer } = await send('server/discover', {});
  assert.deepEqual([status, answer.id], [200, 7]);
  const { resultType, supportedVersions, capabilities, ttlMs, cacheScope, _meta } = answer.result!;
  assert.deepEqual([resultType, capabilities, cacheScope], ['complete', { tools: {} }, 'public']);
  assert.ok((ttlMs as number) > 0);
  assert.ok(
    (supportedVersions as string[]).includes(version) && (supportedVersions as string[]).includes('2025-11-25'),
  );
  assert.equal((_meta as Record<string, { name: string }>)['io.modelcontextprotocol/serverInfo']!.name, 'culvert');
  const listed = (await send('tools/list', {})).answer.result!;
  assert.deepEqual([listed.resultType, listed.cacheScope], ['complete', 'public']);
});

test('what is wrong with a message is told by the codes and status of the revision', async () => {
  const call = { name: 'list_models', arguments: {} };
  const encoded = `=?base64?${Buffer.from('list_models').toString('base64')}?=`;
  assert.equal((await send('tools/call', call, { 'mcp-name': encoded })).status, 200);
  for (const [made, status, code] of [
    [await send('tools/list', {}, {}, '1900-01-01'), 400, -32_022],
    [await send('tools/call', call), 400, -32_020],
    [await send('tools/call', call, { 'mcp-name': 'scrape' }), 400, -32_020],
    [await send('tools/list', {}, { 'mcp-method': 'tools/call' }), 400, -32_020],
    [await send('tools/list', {}, { 'mcp-protocol-version': '2025-11-25' }), 400, -32_020],
    [await send('ping', {}), 404, -32_601],
    [await send('subscriptions/listen', {}), 404, -32_601],
    [await send('tools/call', { name: 'list_models', arguments: 5 }, { 'mcp-name': 'list_models' }), 200, -32_602],
  ] as const) {
    assert.deepEqual([made.status, made.answer.error?.code, made.answer.id], [status, code, 7], JSON.stringify(made));
  }
  const { error } = (await send('tools/list', {}, {}, '1900-01-01')).answer;
  assert.equal(error!.data!.requested, '1900-01-01');
  assert.ok(error!.data!.supported.includes(version));
  const bare = await gateway.fetch('/mcp', {
    json: { jsonrpc: '2.0', id: 7, method: 'tools/list' },
    headers: { 'mcp-protocol-version': version, 'mcp-method': 'tools/list' },
  });
  assert.equal(((await bare.json()) as Answer).error?.code, -32_020);
  // As the SDK for Go keeps its sessions alive.
  const ping = await gateway.fetch('/mcp', {
    json: { jsonrpc: '2.0', id: 7, method: 'ping' },
    headers: { 'mcp-protocol-version': version, 'mcp-method': 'ping' },
  });
  assert.equal(ping.status, 200);
  assert.equal(((await ping.json()) as Answer).result?.resultType, 'complete');
});

test('a body that no parser reads is a parse error, and other JSON is no message', async () => {
  for (const [body, code] of [
    ['{"jsonrpc"', -32_700],
    ['', -32_700],
    [Buffer.from([0x22, 0xff, 0x22]), -32_700],
    ['5', -32_600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32_600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600],
    ['[]', -32_600],
    [`${'['.repeat(200)}${']'.repeat(200)}`, -32_600],
  ] as const) {
    const headers = { 'content-type': 'application/json' };
    const response = await gateway.fetch('/mcp', { method: 'POST', headers, body });
    const { error, id } = (await response.json()) as Answer;
    assert.deepEqual([response.status, error?.code, id], [400, code, null], String(body));
  }
});

test('a method that is no text is the fault of the message', async () => {
  for (const method of [5, { toString: 1 }, null]) {
    const response = await gateway.fetch('/mcp', {
      json: { jsonrpc: '2.0', id: 7, method, params: {} },
      headers: { 'mcp-protocol-version': version, 'mcp-method': 'tools/list' },
    });
    const { error } = (await response.json()) as Answer;
    assert.deepEqual([response.status, error?.code], [400, -32_600]);
  }
});
