import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { closedLoop } from '../bench/gateway/load.ts';
import { openCallers } from '../bench/overload/callers.ts';
import { listening } from './listening.ts';

const request = Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n');

test('a benchmark counts an answer that never comes as an error, and ends', async (t) => {
  const url = await listening(
    t,
    createServer(() => undefined),
  );
  const port = Number(new URL(url).port);
  const { requests, errors } = await closedLoop({ port, request, connections: 2, seconds: 0.1, patienceMs: 200 });
  assert.ok(requests >= 2);
  assert.equal(errors, requests);
});

test('it reads a chunked answer whose end comes in pieces', async (t) => {
  const pieces = ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '2\r\nhi\r\n0', '\r\n', '\r\n'];
  const server = createServer();
  server.on('connection', async (socket) => {
    for (const piece of pieces) {
      socket.setNoDelay(true).write(piece);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  const port = Number(new URL(await listening(t, server)).port);
  const loop = { port, request, connections: 1, seconds: 5, requestsMax: 1, patienceMs: 1_000 };
  const { requests, errors } = await closedLoop(loop);
  assert.deepEqual([requests, errors], [1, 0]);
});

test('callers that come at a rate read such an answer, too', async (t) => {
  const server = createServer((_, response) => {
    // In three pieces: a chunk, half of the last one, and its end.
    const { socket } = response;
    socket?.setNoDelay(true).write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0');
    setTimeout(() => socket?.write('\r\n\r\n'), 20);
  });
  const port = Number(new URL(await listening(t, server)).port);
  const order = { port, request: String(request), patienceMs: 1_000, restMs: 0, connections: 1 };
  const run = await openCallers({ ...order, perSecond: 20, seconds: 0.1 });
  const saw = await run();
  assert.deepEqual([saw.answeredMs.length > 0, saw.lost, saw.otherStatus], [true, 0, {}]);
});
