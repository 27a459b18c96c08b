import assert from 'node:assert/strict';
import net, { type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { listen, onRequest, originOf, send, testTransport, textOf } from '../../../test/loopback-transport.ts';
import { assertWithin } from '../../../test/machine-load.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const begun = `${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`;

/** An upstream that tells when a socket came, when a request came, and when the socket closed. */
async function watched(t: TestContext, answer: string) {
  const connected = Promise.withResolvers<Socket>();
  const requested = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const origin = await listen(t, (socket) => {
    connected.resolve(socket);
    socket.on('end', () => closed.resolve());
    socket.on('close', () => closed.resolve());
    onRequest(socket, () => {
      if (answer !== '') socket.write(answer);
      requested.resolve();
    });
  });
  return { origin, connected: connected.promise, requested: requested.promise, closed: closed.promise };
}

/** Turns of the loop, which pass in microseconds: unlike ms, no other process makes them more. */
async function turnsUntil(closed: Promise<unknown>): Promise<number> {
  let state: 'open' | 'closed' = 'open';
  void closed.then(() => {
    state = 'closed';
  });
  let turns = 0;
  for (; state === 'open'; turns += 1) await new Promise(setImmediate);
  return turns;
}

const turnsMax = 50;

for (const [state, answer] of [
  ['waiting for headers', ''],
  ['the body', begun],
] as const) {
  test(`abort in ${state}: the upstream sees the close at once, the observer nothing`, async (t) => {
    const upstream = await watched(t, answer);
    const transport = testTransport(t);
    const told = send(transport, upstream.origin);
    await (answer === '' ? upstream.requested : told.began);
    told.call.abort();
    told.call.abort();
    assert.ok((await turnsUntil(upstream.closed)) <= turnsMax);
    assert.equal(told.ends, 0);
    assert.equal(transport.counts.running, 0);
  });
}

test('abort while paused closes too', async (t) => {
  const upstream = await watched(t, begun);
  const told = send(testTransport(t), upstream.origin);
  await told.began;
  told.call.pause();
  told.call.abort();
  told.call.resume();
  await upstream.closed;
  assert.equal(told.ends, 0);
});

test('abort from within a callback: nothing more is told', async (t) => {
  const upstream = await watched(t, `${begun}3\r\ndef\r\n0\r\n\r\n`);
  const transport = testTransport(t);
  const told: string[] = [];
  const call = transport.send(
    {
      origin: upstream.origin,
      path: '/',
      method: 'GET',
      headers: [],
      body: null,
      connectTimeoutMs: 1_000,
      headersTimeoutMs: 1_000,
      bodyTimeoutMs: 1_000,
    },
    {
      headers: () => told.push('headers'),
      data() {
        told.push('data');
        call.abort();
      },
      ended: () => told.push('ended'),
      failed: () => told.push('failed'),
    },
  );
  await upstream.closed;
  assert.deepEqual(told, ['headers', 'data']);
});

test('abort while the name is looked up: no socket is opened', async (t) => {
  const upstream = await watched(t, '');
  let answer = (): void => undefined;
  const asked = Promise.withResolvers<void>();
  const transport = testTransport(t, {
    lookup: (_, { all }, callback) => {
      answer = () => (all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4));
      asked.resolve();
    },
  });
  const told = send(transport, upstream.origin.replace('127.0.0.1', 'upstream.test'));
  await asked.promise;
  told.call.abort();
  answer();
  let connected = false;
  upstream.connected.then(() => {
    connected = true;
  });
  // Another exchange to the same upstream gives a late socket all the time it needs.
  await send(transport, 'http://127.0.0.1:1').end;
  assert.equal(connected, false);
  assert.equal(told.ends, 0);
});

test('abort while TLS is agreed on: the upstream sees the close at once', async (t) => {
  const upstream = await watched(t, '');
  const told = send(testTransport(t), upstream.origin.replace('http:', 'https:'));
  const socket = await upstream.connected;
  await new Promise((hello) => socket.once('data', hello));
  told.call.abort();
  assert.ok((await turnsUntil(upstream.closed)) <= turnsMax);
  assert.equal(told.ends, 0);
});

test('F2 a connection that never stands is given up at connectTimeoutMs', async (t) => {
  // TLS that is never answered hangs as a black hole does, and is under the same limit.
  const upstream = await watched(t, '');
  const startedAt = performance.now();
  const told = send(testTransport(t), upstream.origin.replace('http:', 'https:'), { connectTimeoutMs: 60 });
  assert.deepEqual(await told.end, { kind: 'connect-timeout', message: 'timed out connecting (ETIMEDOUT)' });
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs >= 55, `${tookMs} ms`);
  assertWithin(tookMs, 500);
  await upstream.closed;
});

test('F18 aborted at 300 random moments, the upstream ends with no socket open', { timeout: 10_000 }, async (t) => {
  let open = 0;
  const server = net.createServer((socket) => {
    open += 1;
    socket.on('close', () => {
      open -= 1;
    });
    socket.on('error', () => undefined);
    onRequest(socket, () => {
      socket.write(`${ok}Transfer-Encoding: chunked\r\n\r\n`);
      for (let i = 0; i < 20; i++) setImmediate(() => socket.write('3\r\nabc\r\n'));
      setImmediate(() => setImmediate(() => socket.write('0\r\n\r\n')));
    });
  });
  const origin = await originOf(server);
  const transport = testTransport(t);
  let seed = 12345;
  const next = (): number => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return seed;
  };
  for (let i = 0; i < 300; i++) {
    const told = send(transport, origin);
    for (let turns = next() % 12; turns > 0; turns--) await new Promise(setImmediate);
    told.call.abort();
    assert.equal(transport.counts.running, 0);
    assert.ok(told.ends <= 1);
  }
  // One may be kept alive, by an exchange that ended before its abort.
  while (open > 1) await new Promise(setImmediate);
  transport.destroy();
  while (open > 0) await new Promise(setImmediate);
  server.close();
});

test('F19 pause stops reading: the upstream backs up, and resume brings every byte', async (t) => {
  const piece = Buffer.alloc(64 * 1024, 'x');
  const totalBytes = 40 * 1024 * 1024;
  let takenBytes = 0;
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => {
      socket.write(`${ok}Content-Length: ${totalBytes}\r\n\r\n`);
      const more = (): void => {
        while (takenBytes < totalBytes) {
          takenBytes += piece.length;
          if (!socket.write(piece)) break;
        }
      };
      socket.on('drain', more);
      more();
    }),
  );
  const told = send(testTransport(t), origin);
  await told.began;
  told.call.pause();
  // What the upstream could get rid of no longer grows: the kernel's buffers are full.
  let before = -1;
  while (before !== takenBytes) {
    before = takenBytes;
    await new Promise((later) => setTimeout(later, 60));
  }
  const shownBytes = told.bodyBytes;
  assert.ok(takenBytes <= 12 * 1024 * 1024, `${takenBytes} bytes`);
  assert.ok(shownBytes <= 1024 * 1024, `${shownBytes} bytes`);
  told.call.resume();
  assert.equal(await told.end, 'ended');
  assert.equal(told.bodyBytes, totalBytes);
});

test('paused before the answer, nothing but its headers is shown until resume', async (t) => {
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => socket.write(`${ok}Content-Length: 3\r\n\r\nabc`, () => socket.emit('answered'))),
  );
  const told = send(testTransport(t), origin);
  told.call.pause();
  while (told.headers === null) await new Promise(setImmediate);
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
  assert.equal(told.bodyBytes, 0);
  told.call.resume();
  assert.equal(await told.end, 'ended');
  assert.equal(textOf(told), 'abc');
});
