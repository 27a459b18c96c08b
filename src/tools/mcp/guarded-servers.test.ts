// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startMcpServer, type TestMcpOptions } from '../../../test/start-mcp-server.ts';
import type { ResolveAddresses } from '../../net/fetch-guard.ts';
import { createGuardedServers, type GuardedServer } from './guarded-servers.ts';
import { McpFault } from './mcp-fault.ts';
import type { McpSession } from './session.ts';

const long = { timeoutMs: 60_000 };
const bytesMax = 100_000;

async function opened(
  t: TestContext,
  options: TestMcpOptions = {},
  given: Partial<GuardedServer> = {},
): Promise<{ server: Awaited<ReturnType<typeof startMcpServer>>; session: McpSession }> {
  const server = await startMcpServer(t, options);
  const session = await guarded([server.place]).open({ url: server.url, bytesMax, ...long, ...given });
  if (session instanceof McpFault) assert.fail(session.message);
  t.after(session.close);
  return { server, session };
}

const here: ResolveAddresses = async () => [{ address: '127.0.0.1', family: 4 }];

const guarded = (allowed: readonly string[], resolve = here) =>
  createGuardedServers({ rules: () => ({ ports: [80, 443], allow_private: allowed }), resolve, version: '1.0.0' });

function faultIn(value: object): McpFault {
  assert.ok(value instanceof McpFault, JSON.stringify(value));
  return value;
}

async function waitingFor(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

for (const form of ['sessions', 'stateless'] as const) {
  test(`${form}: all pages of the tools are listed and a tool is called, with the headers of the caller`, async (t) => {
    const { server, session } = await opened(t, { form }, { headers: { authorization: 'Bearer mine', host: 'other' } });
    const tools = await session.listTools(long);
    if (tools instanceof McpFault) assert.fail(tools.message);
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['add', 'large', 'wait', 'fail', 'throw'],
    );
    const sum = await session.callTool('add', { a: 2, b: 3 }, long);
    assert.deepEqual(sum, { content: [{ type: 'text', text: '5' }], structuredContent: { sum: 5 } });
    const failed = await session.callTool('fail', {}, long);
    assert.ok(!(failed instanceof McpFault) && failed.isError);
    assert.match(faultIn(await session.callTool('throw', {}, long)).message, /^refused: It broke\. \(-32603\)$/);
    for (const headers of server.heard()) {
      assert.equal(headers.authorization, 'Bearer mine');
      assert.equal(headers.host, server.place);
    }
  });

  test(`${form}: an answer that is too large is a fault, and the session goes on`, async (t) => {
    const { session } = await opened(t, { form });
    const fault = faultIn(await session.callTool('large', { chars: bytesMax }, long));
    assert.equal(fault.reason, 'too-large');
    const fits = await session.callTool('large', { chars: bytesMax - 1_000 }, long);
    assert.ok(!(fits instanceof McpFault));
  });

  test(`${form}: a call that takes too long ends, and the server hears of it`, async (t) => {
    const { server, session } = await opened(t, { form });
    const { reason, message } = faultIn(await session.callTool('wait', {}, { timeoutMs: 100 }));
    assert.equal(reason, 'timeout');
    assert.equal(message, 'took longer than 0.1 s');
    if (form === 'sessions') await waitingFor(() => server.waiting() === 0);
  });
}

test('whoever leaves ends the call, and others in the same session are not delayed by it', async (t) => {
  const { server, session } = await opened(t);
  const leaving = new AbortController();
  const slow = session.callTool('wait', {}, { ...long, signal: leaving.signal });
  await waitingFor(() => server.waiting() === 1);
  assert.ok(!((await session.callTool('add', { a: 1, b: 1 }, long)) instanceof McpFault));
  leaving.abort();
  assert.equal(faultIn(await slow).reason, 'aborted');
  await waitingFor(() => server.waiting() === 0);
});

test('a server that forgot the session is told from one that refuses', async (t) => {
  const { server, session } = await opened(t);
  server.forget();
  assert.equal(faultIn(await session.callTool('add', { a: 1, b: 1 }, long)).reason, 'session-lost');
});

test('a private address is not asked unless it is allowed, also where a name leads there or a redirect', async (t) => {
  const server = await startMcpServer(t);
  const port = server.place.split(':')[1];
  const open = (url: string, allowed: readonly string[] = []) =>
    guarded(allowed).open({ url, bytesMax, timeoutMs: 60_000 });
  for (const url of [
    server.url,
    'http://127.0.0.1/mcp',
    'http://mcp.example/mcp',
    'http://[::1]/mcp',
    'file:///mcp',
    'no address',
  ]) {
    assert.equal(faultIn(await open(url)).reason, 'blocked', url);
  }
  assert.equal(server.heard().length, 0);
  const redirecting = await startMcpServer(t, {
    before(_request, response) {
      response.writeHead(307, { location: `http://localhost:${port}/mcp` }).end();
      return true;
    },
  });
  assert.equal(faultIn(await open(redirecting.url, [redirecting.place])).reason, 'broken');
  assert.equal(server.heard().length, 0);
});

test('a name is connected to where the guard found it, and the server is asked by its name', async (t) => {
  const server = await startMcpServer(t);
  const host = `mcp.example:${new URL(server.url).port}`;
  const session = await guarded([host]).open({ url: `http://${host}/mcp`, bytesMax, ...long });
  if (session instanceof McpFault) assert.fail(session.message);
  t.after(session.close);
  assert.deepEqual(await session.callTool('fail', {}, long), {
    content: [{ type: 'text', text: 'It did not work.' }],
    isError: true,
  });
  assert.deepEqual(new Set(server.heard().map((headers) => headers.host)), new Set([host]));
});

test('a name that leads elsewhere when the connection is opened is not followed', async () => {
  const asked: string[] = [];
  const servers = guarded([], async (hostname) => {
    asked.push(hostname);
    return asked.length === 1 ? [{ address: '93.184.216.34', family: 4 }] : here(hostname);
  });
  const fault = faultIn(await servers.open({ url: 'http://mcp.example/mcp', bytesMax, ...long }));
  assert.equal(fault.reason, 'blocked');
  assert.deepEqual(asked, ['mcp.example', 'mcp.example']);
});

test('what a server answers instead is a fault that says so', async (t) => {
  const cases: [answer: { status: number; type: string; body: string }, reason: McpFault['reason'], words: RegExp][] = [
    [{ status: 401, type: 'text/plain', body: '' }, 'unauthorized', /401/],
    [{ status: 500, type: 'text/plain', body: 'secret words' }, 'broken', /^answered 500$/],
    [{ status: 200, type: 'text/html', body: '<p>' }, 'broken', /not an MCP message/],
    [{ status: 200, type: 'application/json', body: '{' }, 'broken', /not an MCP message/],
    [
      { status: 200, type: 'application/json', body: '{"jsonrpc":"2.0","id":0,"result":5}' },
      'broken',
      /not an MCP message/,
    ],
  ];
  for (const [{ status, type, body }, reason, words] of cases) {
    const server = await startMcpServer(t, {
      before(_request, response) {
        response.writeHead(status, { 'content-type': type }).end(body);
        return true;
      },
    });
    const fault = faultIn(await guarded([server.place]).open({ url: server.url, bytesMax, ...long }));
    assert.equal(fault.reason, reason, body);
    assert.match(fault.message, words);
  }
  const gone = await startMcpServer(t);
  await gone.close();
  const fault = faultIn(await guarded([gone.place]).open({ url: gone.url, bytesMax, ...long }));
  assert.match(`${fault.reason}: ${fault.message}`, /^unreachable: could not be reached \(ECONNREFUSED\)$/);
  const url = 'http://127.0.0.1:6000/mcp';
  const blocked = faultIn(await guarded([new URL(url).host]).open({ url, bytesMax, ...long }));
  assert.match(`${blocked.reason}: ${blocked.message}`, /^blocked: .* port is one that the Fetch standard blocks/);
});

test('a session that is closed is ended at the server too', async (t) => {
  const { server, session } = await opened(t);
  assert.equal(server.sessions(), 1);
  await session.close();
  assert.equal(server.sessions(), 0);
});

/** A server whose stream goes on behind its answer to a call, and whose list has no end. */
async function startEndless(t: TestContext): Promise<{ place: string; streams(): number }> {
  let streams = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id?: number; method: string };
    if (id === undefined) return void response.writeHead(202).end();
    const body = (result: object) => JSON.stringify({ jsonrpc: '2.0', id, result });
    if (method === 'tools/call') {
      streams += 1;
      response.on('close', () => {
        streams -= 1;
      });
      return void response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(`event: message\ndata: ${body({ content: [] })}\n\n`);
    }
    const serverInfo = { name: 'endless', version: '1.0.0' };
    const hello = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
    const tools = [{ name: 'one', description: 'x'.repeat(bytesMax / 4), inputSchema: { type: 'object' } }];
    const result = method === 'initialize' ? hello : { tools, nextCursor: 'more' };
    response.writeHead(200, { 'content-type': 'application/json' }).end(body(result));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { place: `127.0.0.1:${port}`, streams: () => streams };
}

test('pages of a list count together, and a stream that goes on behind an answer is closed', async (t) => {
  const { place, streams } = await startEndless(t);
  const session = await guarded([place]).open({ url: `http://${place}/`, bytesMax, ...long });
  if (session instanceof McpFault) assert.fail(session.message);
  t.after(session.close);
  assert.equal(faultIn(await session.listTools(long)).reason, 'too-large');
  assert.deepEqual(await session.callTool('one', {}, long), { content: [] });
  await waitingFor(() => streams() === 0);
});
