import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { slowness } from '../machine-load.ts';
import { fetchAt } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { mainThreadMs, noThreadTimes } from './main-thread.ts';

/* MCP servers elsewhere that answer with what nobody expects: those of the configuration, and those of callers. */

interface Call {
  /** Id of the message. */
  id: number;
  request: IncomingMessage;
  response: ServerResponse;
}
type Answer = (call: Call) => void;

const secrets = { authorization: 'Bearer operators-secret-1', 'x-api-key': 'operators-secret-2' };
const well: Answer = ({ id, response }) =>
  sent(response, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'ok' }] } });
let answer = well;
/** HTTP requests that the server got for the call. */
let asked = 0;
/** Takes our replies to requests of the server. */
let replied: (reply: unknown) => void = () => undefined;

function sent(response: ServerResponse, message: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message));
}

const named = (name: string) => ({ name, inputSchema: { type: 'object' } });
const tools = [
  named('go'),
  { ...named('go'), description: 'again' },
  named(''),
  named('x'.repeat(300)),
  named('__proto__'),
];

const server = createServer(async (request, response) => {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const message = pieces.length === 0 ? {} : JSON.parse(Buffer.concat(pieces).toString());
  const { id, method, params } = message;
  if (id !== undefined && method === undefined) replied(message);
  if (method === 'initialize') {
    const { protocolVersion } = params as { protocolVersion: string };
    const serverInfo = { name: 'hostile', version: '1' };
    return sent(response, { jsonrpc: '2.0', id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  }
  if (method === 'tools/list') return sent(response, { jsonrpc: '2.0', id, result: { tools } });
  if (method !== 'tools/call' && request.method === 'POST') return void response.writeHead(202).end();
  asked += 1;
  answer({ id, request, response });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => {
  server.closeAllConnections();
  server.close();
});
const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGatewayProcess(
  { after: after as TestContext['after'] },
  {
    fetch: { allow_private: [place] },
    mcp: { servers: { evil: { url: `http://${place}/mcp`, headers: secrets, timeout: '2m' } } },
    providers: { up: { type: 'openai', api_key: 'a-key', base_url: `${upstream.url}/v1` } },
    models: { chat: { targets: ['up/mock/ok'] } },
  },
);
const fetch = fetchAt(gateway.url);

async function call(tool = 'evil__go') {
  asked = 0;
  const beforeMs = mainThreadMs(gateway.process.pid!);
  const response = await fetch('/v1/mcp/call', { json: { tool, arguments: {} } });
  const text = await response.text();
  return { status: response.status, text, mainMs: mainThreadMs(gateway.process.pid!) - beforeMs };
}

const size = 3_900_000;
const events = (response: ServerResponse, text: string) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
/** A result with this text of JSON in a member. */
const holding =
  (json: string, member = 'x'): Answer =>
  ({ id, response }) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"${member}":${json}}}`);
const plain = holding(JSON.stringify('x'.repeat(size)));

const large: [what: string, answer: Answer, error: RegExp][] = [
  ['levels without end', ({ response }) => void response.end('['.repeat(size)), /MCP/],
  ['levels', holding('['.repeat(size / 2) + ']'.repeat(size / 2)), /levels/],
  ['levels that end soon', holding('['.repeat(5_000) + ']'.repeat(5_000)), /levels/],
  ['parts that are none', holding(`[${'{},'.repeat(size / 3 - 9)}{}]`, 'content'), /objects/],
  ['a few thousand of them', holding(`[${'{},'.repeat(60_000)}{}]`, 'content'), /not an MCP message/],
  [
    'parts of half a kind',
    holding(`[${'{"type":"resource","resource":{}},'.repeat(10_000)}{}]`, 'content'),
    /not an MCP message/,
  ],
  ['members', holding(`{${Array.from({ length: 200_000 }, (_, at) => `"k${at}":1`).join()}}`), /objects/],
  ['events', ({ response }) => events(response, 'data: {}\n\n'.repeat(size / 10)), /events/],
  ['notices', ({ response }) => events(response, 'data: {"jsonrpc":"2.0","method":"a"}\n\n'.repeat(90_000)), /events/],
  ['lines', ({ response }) => events(response, 'data: x\n'.repeat(size / 8)), /lines/],
  ['empty lines', ({ response }) => events(response, '\n'.repeat(size)), /events/],
];

for (const [what, hostile, error] of large) {
  test(`an answer with too many ${what} is a 502 that says so, and costs the loop little`, {
    skip: noThreadTimes,
    // Before it was bounded, one of these held the loop for minutes.
    timeout: 120_000,
  }, async () => {
    let bestMs = Number.POSITIVE_INFINITY;
    let calmMs = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 6; round++) {
      answer = plain;
      const calm = await call();
      assert.equal(calm.status, 200, calm.text.slice(0, 300));
      calmMs = Math.min(calmMs, calm.mainMs);
      answer = hostile;
      const { status, text, mainMs } = await call();
      assert.equal(status, 502, text.slice(0, 300));
      assert.match(text, error);
      bestMs = Math.min(bestMs, mainMs);
      // What 4 MB of plain text takes to receive and to pass on. 4,096 events take three to nine of them; without a bound,
      // an answer takes hundreds.
      if (bestMs <= Math.max(20 * slowness(), 25 * calmMs)) return;
    }
    assert.fail(`${bestMs.toFixed(0)} ms of the main thread; 4 MB of plain text take ${calmMs.toFixed(0)}`);
  });
}

const broken: [what: string, answer: Answer, status: number, error: RegExp][] = [
  ['no event', ({ response }) => events(response, ': nothing\n\n'), 502, /without a result/],
  ['no body', ({ response }) => void response.writeHead(202).end(), 502, /without a result/],
  [
    'the result of another call',
    ({ id, response }) => sent(response, { jsonrpc: '2.0', id: id + 7, result: {} }),
    502,
    /not an MCP message/,
  ],
  ['an error of HTTP', ({ response }) => void response.writeHead(500).end('x'), 502, /answered 500/],
  [
    'a redirect',
    ({ response }) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
    502,
    /answered 307: it redirects to another origin, which is not followed/,
  ],
  [
    'a page',
    ({ response }) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    502,
    /not an MCP message/,
  ],
  [
    'no server',
    ({ response }) => void response.writeHead(404).end(),
    502,
    /answered 404: its address has no MCP server/,
  ],
  ['too many calls', ({ response }) => void response.writeHead(429).end(), 503, /answered 429/],
];
for (const [what, hostile, status, error] of broken) {
  test(`a server that answers with ${what} fails the call at once, as the server's fault`, {
    timeout: 60_000,
  }, async () => {
    answer = hostile;
    const failed = await call();
    assert.equal(failed.status, status, failed.text);
    assert.match(failed.text, error);
    answer = well;
    assert.equal((await call()).status, 200, 'the server is used again');
  });
}

test('an answer that breaks off in the middle fails the call at once', { timeout: 60_000 }, async () => {
  for (const type of ['application/json', 'text/event-stream']) {
    answer = ({ id, response }) => {
      response.writeHead(200, { 'content-type': type });
      response.write(`${type === 'text/event-stream' ? 'data: ' : ''}{"jsonrpc":"2.0","id":${id},`, () =>
        response.destroy(),
      );
    };
    const failed = await call();
    assert.equal(failed.status, 502, failed.text);
  }
  answer = well;
  assert.equal((await call()).status, 200);
});

test('a result of several events, cut at every byte, is read', async () => {
  answer = async ({ id, response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const message = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'é 👍' }] } });
    const at = message.indexOf('"result"');
    const stream = `: hello\r\n\r\nevent: message\r\ndata: ${message.slice(0, at)}\r\ndata: ${message.slice(at)}\r\n\r\n`;
    for (const byte of Buffer.from(stream))
      await new Promise((resolve) => response.write(Buffer.from([byte]), resolve));
    response.end();
  };
  const { status, text } = await call();
  assert.equal(status, 200, text);
  assert.match(text, /é 👍/);
});

for (const [name, line] of Object.entries({ LF: '\n', CRLF: '\r\n', CR: '\r' })) {
  test(`a request of the server is answered while its stream waits, with lines that end with ${name}`, {
    timeout: 30_000,
  }, async (t) => {
    t.after(() => {
      replied = () => undefined;
    });
    const replies: unknown[] = [];
    answer = ({ id, response }) => {
      const write = (message: unknown) => {
        const text = `event: message${line}data: ${JSON.stringify(message)}${line}${line}`;
        response.write(text.slice(0, -1), () => setTimeout(() => response.write(text.slice(-1)), 50));
      };
      replied = (reply) => {
        replies.push(reply);
        // The LF of the last CRLF comes later.
        if (replies.length === 1) return write({ jsonrpc: '2.0', id: 'b', method: 'ping' });
        write({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'ok' }] } });
      };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const request = { jsonrpc: '2.0', id: 'a', method: 'ping' };
      response.write(`event: message${line}data: ${JSON.stringify(request)}${line}${line}`);
    };
    const { status, text } = await call();
    assert.equal(status, 200, text);
    assert.deepEqual(replies, [
      { jsonrpc: '2.0', id: 'a', result: {} },
      { jsonrpc: '2.0', id: 'b', result: {} },
    ]);
  });
}

test('a stream that breaks off again and again is asked for so often, and no more', { timeout: 60_000 }, async () => {
  answer = ({ response }) => events(response, 'id: 1\nretry: 1\ndata: {}\n\n');
  const { status, text } = await call();
  assert.equal(status, 502, text);
  assert.match(text, /requests/);
  assert.ok(asked <= 256, `${asked} requests`);
});

test('a server that asks us without end gets few answers at once, and no call waits for them', async () => {
  let answers = 0;
  let most = 0;
  const silent: ServerResponse[] = [];
  answer = ({ id, response }) => {
    const pings = Array.from({ length: 500 }, (_, at) => `data: {"jsonrpc":"2.0","id":"p${at}","method":"ping"}\n\n`);
    const result = { content: [{ type: 'text', text: 'ok' }] };
    events(response, `${pings.join('')}data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
  };
  const count = (request: IncomingMessage, response: ServerResponse) => {
    const write = response.writeHead.bind(response);
    // Replies are answered with 202: these wait.
    response.writeHead = ((status: number, ...rest: []) => {
      if (status !== 202) return write(status, ...rest);
      answers += 1;
      most = Math.max(most, answers);
      silent.push(response);
      return { end: () => response } as never;
    }) as typeof response.writeHead;
    request.once('close', () => undefined);
  };
  server.prependListener('request', count);
  const { status, text } = await call();
  server.removeListener('request', count);
  for (const response of silent) response.destroy();
  assert.equal(status, 200, text);
  assert.ok(most <= 8, `${most} replies at once`);
});

test('what a server says in an error holds none of our credentials', async () => {
  answer = ({ id, request, response }) => {
    const { authorization = '', 'x-api-key': key } = request.headers;
    const spellings = [authorization, key, Buffer.from(`${key}`).toString('base64'), encodeURIComponent(authorization)];
    sent(response, {
      jsonrpc: '2.0',
      id,
      error: { code: -32_000, message: `I refuse ${spellings.join(', ')}.`, data: spellings },
    });
  };
  const { status, text } = await call();
  assert.equal(status, 400);
  assert.match(text, /I refuse/);
  assert.doesNotMatch(text, /operators-secret|b3BlcmF0b3Jz/);
});

test('a tool that is listed twice, or cannot be called, is listed once, or not at all', async () => {
  const listed = (await (await fetch('/v1/mcp/tools')).json()) as { tools: { name: string }[] };
  assert.deepEqual(
    listed.tools.map(({ name }) => name),
    ['evil__go', 'evil____proto__'],
  );
});

test("a caller's own server is bounded more closely, and the answer of the model goes on", {
  timeout: 120_000,
}, async () => {
  const parts = JSON.stringify({ content: Array.from({ length: 20_000 }, () => ({})) });
  for (const hostile of [parts, `{"content":${'['.repeat(1_000)}${']'.repeat(1_000)}}`]) {
    answer = ({ id, response }) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`{"jsonrpc":"2.0","id":${id},"result":${hostile}}`);
    const tool = { type: 'mcp', server_label: 'mine', server_url: `http://${place}/mcp`, require_approval: 'never' };
    const response = await fetch('/v1/responses', { json: { model: 'chat', input: 'call mine__go', tools: [tool] } });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.match(text, /objects|levels/);
  }
});
