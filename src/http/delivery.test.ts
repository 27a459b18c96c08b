import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { openAiChat } from '../inference/dialects/openai-chat/index.ts';
import { sendWhole } from '../inference/spine/sink.ts';
import { systemClock } from '../kernel/clock.ts';
import { ResponseDelivery } from './delivery.ts';
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
  const gone = new Promise<void>((resolve) => client.onGone(resolve));
  // As the pipeline does: on as soon as the reader has caught up, which the kernel's buffers do for a while.
  let bytes = 0;
  const fill = () => {
    while (client.chunk(piece) === 'ready') bytes += piece.length;
    assert.ok(response.writableLength <= 256 * 1024, `${response.writableLength} bytes wait`);
  };
  client.onDrain(fill);
  fill();
  await gone;
  assert.ok(bytes < muchBytes);
  assert.equal(client.gone, true);
});

test('F19 a whole answer that nobody takes is dropped too', async (t) => {
  const { client, socket } = await clientOf(t);
  socket.pause();
  const gone = new Promise<void>((resolve) => client.onGone(resolve));
  sendWhole(client, [], Buffer.alloc(muchBytes, 'x'));
  await gone;
});

test('a reader who catches up is told of, and the connection serves on', async (t) => {
  const { client, socket } = await clientOf(t);
  socket.pause();
  client.expect([]);
  client.start('events', []);
  while (client.chunk(piece) === 'ready');
  const drained = new Promise<void>((resolve) => client.onDrain(resolve));
  socket.resume();
  await drained;
  assert.equal(client.chunk('data: [DONE]\n\n'), 'ready');
  client.end(null);
  await new Promise((resolve) => setTimeout(resolve, 2 * stallMs));
  assert.equal(socket.destroyed, false);
  assert.equal(client.gone, false);
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
