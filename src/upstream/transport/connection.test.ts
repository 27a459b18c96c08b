// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { fakeTime } from '../../../test/fake-time.ts';
import { blackHole } from '../../../test/faults/dead-places.ts';
import { listen, listenAndKeep, onRequest, send, testTransport, textOf } from '../../../test/loopback-transport.ts';
import { until } from '../../../test/until.ts';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

test('an answer nobody asked for, sent behind another, never becomes the answer of the next request', async (t) => {
  let sockets = 0;
  const origin = await listen(t, (socket) => {
    sockets += 1;
    onRequest(socket, () => socket.write(`${ok}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`));
  });
  const transport = testTransport(t);
  for (let i = 0; i < 3; i++) {
    const told = send(transport, origin);
    assert.equal(await told.end, 'ended');
    assert.equal(textOf(told), 'ok');
  }
  assert.equal(sockets, 3);
});

test('a socket on which somebody sent what nobody asked for is closed', async (t) => {
  const closed = Promise.withResolvers<void>();
  const upstream = Promise.withResolvers<Socket>();
  const origin = await listen(t, (socket) => {
    upstream.resolve(socket);
    socket.on('close', () => closed.resolve());
    onRequest(socket, () => socket.write(ok));
  });
  const transport = testTransport(t);
  await send(transport, origin).end;
  (await upstream.promise).write('H');
  await closed.promise;
  assert.equal(transport.counts.connections, 0);
});

test('a turn of the loop that is longer than the time to connect fails no upstream that took the connection', async (t) => {
  const { origin } = await listenAndKeep(t, ok);
  const transport = testTransport(t);
  // Loads undici.
  assert.equal(await send(transport, origin).end, 'ended');
  const second = await listenAndKeep(t, ok);
  const told = send(transport, second.origin, { connectTimeoutMs: 100 });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  assert.equal(await told.end, 'ended');
});

test('a caller that leaves while the upstream connects leaves no socket behind', async (t) => {
  const connecting = () => process.getActiveResourcesInfo().filter((kind) => kind === 'ConnectWrap').length;
  const origin = await blackHole(t);
  const transport = testTransport(t);
  const before = connecting();
  const left = send(transport, origin, { connectTimeoutMs: 60_000 });
  await until('it connects', () => connecting() === before + 1);
  left.call.abort();
  await until('it does not connect any more', () => connecting() === before);
});

test('a body of many sizes and letters arrives byte for byte, under its length', async (t) => {
  const { origin, heads, bodies } = await listenAndKeep(t, ok);
  const transport = testTransport(t);
  const sent = ['', 'a', 'grüße, 日本', 'x'.repeat(12 * 1024), 'x'.repeat(12 * 1024 + 1), 'é'.repeat(200_000)];
  for (const body of sent) {
    for (const form of [body, Buffer.from(body)]) {
      assert.equal(await send(transport, origin, { body: form }).end, 'ended');
      assert.equal(bodies.pop(), Buffer.from(body).toString('latin1'));
      assert.match(heads.pop()!, new RegExp(`\\r\\ncontent-length: ${Buffer.byteLength(body)}\\r\\n`));
    }
  }
});

for (const [hint, idleMs] of [
  ['', 30_000],
  ['Keep-Alive: timeout=5\r\n', 4_000],
  ['Keep-Alive: max=7, timeout=900\r\n', 120_000],
] as const) {
  test(`an idle socket is closed after ${idleMs / 1_000} s (${hint.trim() || 'no hint'})`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const closed = Promise.withResolvers<void>();
    const origin = await listen(t, (socket) => {
      socket.on('close', () => closed.resolve());
      onRequest(socket, () => socket.write(ok.replace('OK\r\n', `OK\r\n${hint}`)));
    });
    const transport = testTransport(t);
    await send(transport, origin).end;
    t.mock.timers.tick(idleMs - 1);
    await send(transport, origin).end;
    assert.equal(transport.counts.connections, 1);
    t.mock.timers.tick(idleMs);
    await closed.promise;
    assert.equal(transport.counts.connections, 0);
  });
}

test('an upstream that keeps a socket for a second only is asked on a fresh one', async (t) => {
  let sockets = 0;
  const origin = await listen(t, (socket) => {
    sockets += 1;
    onRequest(socket, () => socket.write(ok.replace('OK\r\n', 'OK\r\nKeep-Alive: timeout=1\r\n')));
  });
  const transport = testTransport(t);
  for (let i = 0; i < 3; i++) assert.equal(await send(transport, origin).end, 'ended');
  assert.equal(sockets, 3);
  assert.equal(transport.counts.connections, 0);
});

test('an upstream that answers while we still send, and reads no further, is asked on a fresh socket next', async (t) => {
  let sockets = 0;
  const origin = await listen(t, (socket) => {
    sockets += 1;
    if (sockets > 1) return onRequest(socket, () => socket.write(ok));
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig');
    });
  });
  const transport = testTransport(t);
  const told = send(transport, origin, { body: Buffer.alloc(32 * 1024 * 1024, 'x') });
  assert.equal(await told.end, 'ended');
  assert.deepEqual([told.status, textOf(told)], [413, 'big']);
  assert.equal(transport.counts.connections, 0);
  assert.equal(await send(transport, origin).end, 'ended');
});

for (const text of [ok, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n']) {
  test(`paused on its last bytes, an answer is whole though the upstream closes before resume (${text.slice(17, 31)})`, async (t) => {
    const upstream = Promise.withResolvers<Socket>();
    const origin = await listen(t, (socket) =>
      onRequest(socket, () => {
        socket.end(text);
        upstream.resolve(socket);
      }),
    );
    const told = send(testTransport(t), origin);
    told.call.pause();
    const socket = await upstream.promise;
    while (!socket.writableFinished || told.headers === null) await new Promise(setImmediate);
    told.call.resume();
    assert.equal(await told.end, 'ended');
    assert.equal(textOf(told), 'ok');
  });
}

test('F3 an upstream that sends hints and never an answer fails at the headers timeout', {
  timeout: 30_000,
}, async (t) => {
  const time = fakeTime();
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => {
      const hinting = setInterval(() => {
        time.advance(100);
        socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
      }, 10);
      socket.on('close', () => clearInterval(hinting));
    }),
  );
  const end = await send(testTransport(t, { time }), origin, { headersTimeoutMs: 1_000 }).end;
  assert.deepEqual(end, { kind: 'headers-timeout', message: 'no answer came in time' });
});
