import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { until } from '../until.ts';

/* Servers that speak MCP's revision 2026-07-28 alone, as `createMcpHandler(…, { legacy: 'reject' })` of the official SDK does. */

const version = '2026-07-28';
const meta = (name: string) => `io.modelcontextprotocol/${name}`;
const tools = ['add', 'größe'].map((name) => ({ name, inputSchema: { type: 'object' } }));

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
      return { result: { prompts: [] } };
    case 'resources/list':
      return { result: { resources: [{ name: 'notes', uri: 'note://1' }] } };
    case 'tools/call': {
      const content = [{ type: 'text', text: `${params.name}: ${JSON.stringify(params.arguments)}` }];
      return { result: { content, _meta: { spent: 7 } } };
    }
    default:
      return { status: 404, error: { code: -32_601, message: 'Method not found' } };
  }
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
    ['add', 'größe'],
  );
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates, []);
  const { content, _meta } = await client.callTool({ name: 'größe', arguments: { of: 'it' } });
  assert.deepEqual(content, [{ type: 'text', text: 'größe: {"of":"it"}' }]);
  // What the server says of its result stays there, beside our name.
  assert.equal(_meta?.spent, 7);
  assert.match(JSON.stringify(_meta), /"name":"culvert"/);
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
  assert.match(await missing.text(), /modern: refused: Method not found \(-32601\)/);
  const methods = new Set(heard.map(({ message: { method } }) => method));
  assert.ok(!methods.has('notifications/initialized') && !methods.has('ping'));
  assert.ok(heard.every((one) => one.headers['mcp-session-id'] === undefined));
});
