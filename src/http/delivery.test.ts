import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { rawExchange } from '../../test/raw-exchange.ts';
import { openAiChat } from '../formats/dialects/openai-chat/index.ts';
import { sendWhole } from '../inference/spine/sink.ts';
import { systemClock } from '../kernel/clock.ts';
import { identityHeaders, ResponseDelivery, writeAnswer } from './delivery.ts';
import type { Exchange } from './exchange.ts';

const stallMs = 150;
const piece = Buffer.alloc(64 * 1024, 'x');
/** More than the kernel takes on both sides of a loopback connection. */
const muchBytes = 40 * 1024 * 1024;

test('F19 a reader who is behind makes write say so with at most 256 KB waiting; who takes nothing is dropped', async (t) => {
  const { client, socket, response } = await clientOf(t);
  socket.pause();
  client.expect([]);
  client.start('events', []);
  const gone = new Promise<void>((resolve) => client.onDisconnect(resolve));
  // As the pipeline does: it goes on as soon as the reader has caught up, and the kernel's buffers do that for a while.
  let bytes = 0;
  const fill = () => {
    while (client.chunk(piece) === 'ready') bytes += piece.length;
    assert.ok(response.writableLength <= 256 * 1024, `${response.writableLength} bytes wait`);
  };
  client.onDrain(fill);
  fill();
  await gone;
  assert.ok(bytes < muchBytes);
  assert.equal(client.disconnected, true);
});

test('F19 a whole answer that nobody takes is dropped too', async (t) => {
  const { client, socket } = await clientOf(t);
  socket.pause();
  const gone = new Promise<void>((resolve) => client.onDisconnect(resolve));
  sendWhole(client, [], Buffer.alloc(muchBytes, 'x'));
  await gone;
});

test('a reader who catches up is told of and no longer dropped, and the connection serves on', async (t) => {
  const { client, socket, response } = await clientOf(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let tail = '';
  socket.on('data', (bytes: Buffer) => (tail = (tail + bytes.toString('latin1')).slice(-64)));
  socket.pause();
  client.expect([]);
  client.start('events', []);
  while (client.chunk(piece) === 'ready');
  const drained = new Promise<void>((resolve) => client.onDrain(resolve));
  t.mock.timers.tick(stallMs - 1);
  socket.resume();
  await drained;
  t.mock.timers.tick(2 * stallMs);
  assert.equal(response.destroyed, false);
  assert.equal(client.chunk('data: [DONE]\n\n'), 'ready');
  client.end(null);
  while (!tail.endsWith('data: [DONE]\n\n\r\n0\r\n\r\n')) await once(socket, 'data');
  assert.equal(socket.destroyed, false);
  assert.equal(client.disconnected, false);
});

test('a stream that is cut ends with why, also where the steps of its request do not end it', async (t) => {
  const { client, socket } = await clientOf(t);
  let received = '';
  socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')));
  client.expect([]);
  client.start('events', []);
  client.chunk('data: 1\n\n');
  let left = 0;
  client.onDisconnect(() => (left += 1));
  client.cut({ kind: 'overloaded', message: 'It was cut.' });
  client.chunk('data: 2\n\n');
  while (!received.endsWith('0\r\n\r\n')) await once(socket, 'data');
  assert.match(received, /data: 1\n\n.*It was cut\./s);
  assert.doesNotMatch(received, /data: 2|DONE/);
  assert.deepEqual([left, client.disconnected], [1, true]);
});

test('10 s of silence: headers and a comment, then a comment every 10 s, until there is content', async (t) => {
  const { client, socket } = await clientOf(t);
  let received = '';
  socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')));
  const arrival = async (text: string) => {
    while (!received.includes(text)) await once(socket, 'data');
  };
  t.mock.timers.enable({ apis: ['setTimeout'] });
  client.expect(['x-culvert-cost', '1']);
  t.mock.timers.tick(9_999);
  assert.equal(client.committed, false);
  t.mock.timers.tick(1);
  assert.equal(client.committed, true);
  await arrival(': keep-alive\n\n');
  assert.match(received, /200 OK[\s\S]*content-type: text\/event-stream[\s\S]*x-culvert-cost: 1/);
  assert.doesNotMatch(received, /x-culvert-provider/);
  t.mock.timers.tick(10_000);
  client.start('events', ['x-culvert-provider', 'late']);
  client.chunk('data: {}\n\n');
  await arrival('data: {}');
  assert.equal(received.split(': keep-alive\n\n').length - 1, 2);
  t.mock.timers.tick(9_999);
  client.end({ failure: { kind: 'internal' }, headers: [] });
  t.mock.timers.tick(60_000);
  await arrival('"error"');
  assert.equal(received.split(': keep-alive\n\n').length - 1, 2);
  assert.doesNotMatch(received, /x-culvert-provider|\[DONE\]/);
});

async function clientOf(t: TestContext) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const socket: Socket = connect(port, '127.0.0.1').on('error', () => undefined);
  t.after(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
  const [request, response] = await once(server, 'request');
  const exchange = {
    request,
    response,
    requestId: 'req_1',
    clientRequestId: null,
    route: { dialect: openAiChat },
  } as unknown as Exchange;
  return { client: new ResponseDelivery(exchange, systemClock, stallMs), socket, response: exchange.response };
}

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const json = ['content-type', 'application/json'];
const headers = [
  'x-culvert-cost',
  '1',
  'ratelimit-policy',
  '"5h";q=50;w=18000',
  'x-culvert-model',
  'gpt-é',
  'vary',
  '*',
];

test('an answer has the head and the bytes that node would write, whatever its bytes, length and status', async (t) => {
  const bodies = [everyByte, Buffer.alloc(100_000, everyByte), 'Grüße', Buffer.alloc(0)];
  for (const body of bodies)
    for (const status of [200, 202]) {
      const length = String(Buffer.byteLength(body));
      const plain = await answerOf(t, (response) => {
        response.writeHead(status, ['content-length', length, ...identityHeaders(ids), ...json, ...headers]);
        response.end(body);
      });
      const ours = await answerOf(t, (response) => writeAnswer(answered(response), status, headers, body));
      assert.deepEqual(linesOf(ours.head), linesOf(plain.head));
      assert.equal(Buffer.compare(ours.body, plain.body), 0);
      assert.equal(ours.body.length, Number(length));
    }
});

const pieces = [
  'data: one\n\n',
  'Grüße 😀',
  '',
  everyByte,
  Buffer.alloc(100_000, everyByte),
  'two',
  Buffer.alloc(0),
  'é'.repeat(9_000),
];

for (const version of ['1.0', '1.1'])
  for (const end of ['with its last piece', 'a turn later'] as const)
    test(`a stream that ends ${end} has all bytes of its pieces in order, over HTTP/${version}`, async (t) => {
      const server = createServer(async (request, response) => {
        const exchange = { ...ids, request, response, route: { dialect: openAiChat } } as unknown as Exchange;
        const client = new ResponseDelivery(exchange, systemClock);
        client.start('bytes', []);
        for (const turn of [pieces, pieces.slice(0, 2), [...pieces, everyByte]]) {
          for (const one of turn) client.chunk(one);
          if (end === 'with its last piece' && turn.at(-1) === everyByte) client.end(null);
          await new Promise((resolve) => setImmediate(resolve));
        }
        client.end(null);
      });
      t.after(() => server.close());
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.write(`GET / HTTP/${version}\r\nhost: x\r\nconnection: close\r\n\r\n`);
      const got = Buffer.concat(await socket.toArray());
      const body = got.subarray(got.indexOf('\r\n\r\n') + 4);
      const sent = [...pieces, ...pieces.slice(0, 2), ...pieces, everyByte];
      const expected = Buffer.concat(sent.map((one) => Buffer.from(one as string)));
      assert.equal(Buffer.compare(version === '1.0' ? body : joinedChunks(body), expected), 0);
    });

/** A body in chunks without their sizes; throws where its last chunk does not end it. */
function joinedChunks(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const sizeEnd = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.toString('latin1', at, sizeEnd), 16);
    at = sizeEnd + 2 + size;
    assert.equal(body.toString('latin1', at, at + 2), '\r\n');
    at += 2;
    if (size > 0) chunks.push(body.subarray(sizeEnd + 2, at - 2));
    else {
      assert.equal(at, body.length);
      return Buffer.concat(chunks);
    }
  }
}

test('what is left of a turn is not sent to a response that was destroyed in it', async (t) => {
  const { client, response } = await clientOf(t);
  response.on('error', assert.ifError);
  client.start('events', []);
  client.chunk('data: one\n\n');
  response.destroy();
  await once(response, 'close');
  assert.equal(client.disconnected, true);
});

test('headers that were set before, as CORS does, go out too', async (t) => {
  const answer = await answerOf(t, (response) => {
    response.setHeader('access-control-allow-origin', 'https://app.example');
    writeAnswer(answered(response), 200, headers, 'x');
  });
  assert.match(answer.head, /access-control-allow-origin: https:\/\/app\.example\r\n/);
  assert.match(answer.head, /x-culvert-cost: 1(\r\n|$)/);
});

for (const value of ['a\r\nset-cookie: b', 'a\nb', 'a\0', 'aĊset-cookie: b'])
  for (const name of ['x-culvert-model', 'ratelimit-policy', 'vary'])
    test(`S6 ${JSON.stringify(value)} in ${name} is no header and begins none`, async (t) => {
      const answer = await answerOf(t, (response) => {
        assert.throws(() => writeAnswer(answered(response), 200, [name, value], 'x'), { code: 'ERR_INVALID_CHAR' });
        assert.equal(response.headersSent, false);
        response.writeHead(500).end();
      });
      assert.equal(answer.status, 500);
      assert.doesNotMatch(answer.head, /set-cookie/);
    });

test('S6 a name that is none is refused', async (t) => {
  await answerOf(t, (response) => {
    assert.throws(() => writeAnswer(answered(response), 200, ['x\r\ny', 'z'], 'x'), { code: 'ERR_INVALID_HTTP_TOKEN' });
    response.writeHead(500).end();
  });
});

const ids = { requestId: 'req_1', clientRequestId: 'mine' };
const answered = (response: ServerResponse) => ({ ...ids, response });

async function answerOf(t: TestContext, answer: (response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume();
    answer(response);
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return rawExchange({ url: `http://127.0.0.1:${port}`, path: '/', body: {} });
}

function linesOf(head: string): string[] {
  return head
    .split('\r\n')
    .filter((line) => !/^date:/i.test(line))
    .sort();
}
