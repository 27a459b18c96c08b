// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { fakeTime } from '../../../test/fake-time.ts';
import { listen, onRequest, send, testTransport } from '../../../test/loopback-transport.ts';

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

test('F9 a fresh socket that dies is not tried again', async (t) => {
  let requests = 0;
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => {
      requests += 1;
      socket.resetAndDestroy();
    }),
  );
  const transport = testTransport(t);
  const end = await send(transport, origin).end;
  assert.equal(end !== 'ended' && end.kind, 'reset');
  assert.equal(requests, 1);
  assert.equal(transport.counts.retriedOnFreshSocket, 0);
});

for (const [how, end] of [
  ['closed', (socket: Socket) => socket.end()],
  ['reset', (socket: Socket) => socket.resetAndDestroy()],
] as const) {
  test(`F9 3,000 requests on sockets that are ${how} just as they are reused: none fails, each runs once`, async (t) => {
    const seen = new Map<string, number>();
    let sockets = 0;
    const origin = await listen(t, (socket) => {
      sockets += 1;
      let served = 0;
      const servedMax = 1 + (sockets % 3);
      onRequest(socket, (head) => {
        served += 1;
        // The request that finds a server past its limit is dropped, unread as far as the server goes.
        if (served > servedMax) {
          end(socket);
          return;
        }
        const id = /x-id: (\d+)/.exec(head)?.[1] ?? '';
        seen.set(id, (seen.get(id) ?? 0) + 1);
        socket.write(answer);
        // Some close between two requests instead.
        if (served === servedMax && sockets % 2 === 0) setImmediate(() => end(socket));
      });
    });
    const transport = testTransport(t);
    const one = async (id: number): Promise<void> => {
      const told = send(transport, origin, { headers: ['x-id', String(id)] });
      assert.equal(await told.end, 'ended', `request ${id}`);
    };
    for (let id = 0; id < 3_000; id += 10) await Promise.all(Array.from({ length: 10 }, (_, i) => one(id + i)));
    assert.equal(seen.size, 3_000);
    assert.ok([...seen.values()].every((times) => times === 1));
    assert.ok(transport.counts.retriedOnFreshSocket > 100, `${transport.counts.retriedOnFreshSocket} retries`);
  });
}

test('F9 a fresh socket opened in place of one that closed while the request waited is not tried again either', async (t) => {
  let requests = 0;
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => {
      requests += 1;
      if (requests === 1) socket.end(answer.replace('OK\r\n', 'OK\r\nConnection: close\r\n'));
      else socket.resetAndDestroy();
    }),
  );
  const transport = testTransport(t);
  const failed = Promise.withResolvers<string>();
  const post = (ended: () => void): void => {
    const timeouts = { connectTimeoutMs: 1_000, headersTimeoutMs: 5_000, bodyTimeoutMs: 5_000 };
    transport.send(
      { origin, path: '/', method: 'POST', headers: [], body: 'x', ...timeouts },
      { headers() {}, data() {}, ended, failed: ({ kind }) => failed.resolve(kind) },
    );
  };
  // In the very callback, before the socket is closed as the answer said.
  post(() => post(() => failed.resolve('ended')));
  assert.equal(await failed.promise, 'reset');
  assert.equal(requests, 2);
  assert.equal(transport.counts.retriedOnFreshSocket, 0);
});

test('F9 once means once: the repeated request that dies too is told', async (t) => {
  let requests = 0;
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => {
      requests += 1;
      if (requests === 1) socket.write(answer);
      else socket.resetAndDestroy();
    }),
  );
  const transport = testTransport(t);
  await send(transport, origin).end;
  const end = await send(transport, origin).end;
  assert.equal(end !== 'ended' && end.kind, 'reset');
  assert.equal(requests, 3);
  assert.equal(transport.counts.retriedOnFreshSocket, 1);
});

test('F9 after the first byte of an answer nothing is repeated', async (t) => {
  let requests = 0;
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => {
      requests += 1;
      if (requests === 1) socket.write(answer);
      else socket.end('HTTP/1.1 200');
    }),
  );
  const transport = testTransport(t);
  await send(transport, origin).end;
  const end = await send(transport, origin).end;
  assert.notEqual(end, 'ended');
  assert.equal(requests, 2);
});

test('F9 a reused socket that dies long after the request was written is the upstream failing: told, not repeated', async (t) => {
  const time = fakeTime();
  let requests = 0;
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => {
      requests += 1;
      if (requests === 1) {
        socket.write(answer);
        return;
      }
      time.advance(2_001);
      socket.resetAndDestroy();
    }),
  );
  const transport = testTransport(t, { time });
  await send(transport, origin).end;
  const end = await send(transport, origin).end;
  assert.equal(end !== 'ended' && end.kind, 'reset');
  assert.equal(requests, 2);
});

test('sockets that upstreams close while idle are forgotten, those of failed exchanges too', {
  timeout: 5_000,
}, async (t) => {
  const sockets: Socket[] = [];
  const origin = await listen(t, (socket) => {
    sockets.push(socket);
    onRequest(socket, (head) => (head.includes('/fails') ? socket.end('HTTP/1.1 2') : socket.write(answer)));
  });
  const transport = testTransport(t);
  const paths = ['/', '/', '/', '/fails', '/'];
  await Promise.all(paths.map((path) => send(transport, origin, { path }).end));
  assert.equal(transport.counts.connections, 4);
  for (const socket of sockets) socket.end();
  while (transport.counts.connections > 0) await new Promise(setImmediate);
});

test('an answer nobody asked for, sent ahead on an idle socket, never becomes the answer of the next request', async (t) => {
  const origin = await listen(t, (socket) => {
    let served = 0;
    onRequest(socket, () => {
      served += 1;
      socket.write(answer);
      if (served === 1) setImmediate(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'));
    });
  });
  const transport = testTransport(t);
  for (let i = 0; i < 20; i++) {
    const told = send(transport, origin);
    assert.equal(await told.end, 'ended');
    assert.equal(Buffer.concat(told.body).toString(), 'ok');
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  }
});
