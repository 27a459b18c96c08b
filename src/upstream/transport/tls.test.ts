import assert from 'node:assert/strict';
import { once } from 'node:events';
import https from 'node:https';
import type { AddressInfo, LookupFunction } from 'node:net';
import { type TestContext, test } from 'node:test';
import tls, { type TLSSocket } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { onRequest, originOf, send, testTransport, textOf } from '../../../test/loopback-transport.ts';
import { cert, key } from '../../../test/upstream-certificate.ts';

const toLoopback: LookupFunction = (_, { all }, callback) =>
  all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4);

async function secureUpstream(t: TestContext) {
  const sockets: { servername: unknown; resumed: boolean }[] = [];
  const server = https.createServer({ key, cert }, (request, response) => {
    response.writeHead(200, request.url === '/last' ? { connection: 'close' } : {});
    response.end('secret');
  });
  server.on('secureConnection', (socket: TLSSocket & { servername?: unknown }) =>
    sockets.push({ servername: socket.servername, resumed: socket.isSessionReused() }),
  );
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

test('an answer comes over TLS, on a socket that is kept alive', async (t) => {
  const { port, sockets } = await secureUpstream(t);
  const transport = testTransport(t, { ca: cert, lookup: toLoopback });
  for (let i = 0; i < 3; i++) {
    const told = send(transport, `https://upstream.test:${port}`);
    assert.equal(await told.end, 'ended');
    assert.equal(textOf(told), 'secret');
  }
  assert.equal(sockets.length, 1);
  assert.equal(sockets[0]?.servername, 'upstream.test');
});

test('the next connection to an origin resumes its TLS session', async (t) => {
  const { port, sockets } = await secureUpstream(t);
  const transport = testTransport(t, { ca: cert, lookup: toLoopback });
  for (let i = 0; i < 2; i++) await send(transport, `https://upstream.test:${port}`, { path: '/last' }).end;
  assert.deepEqual(
    sockets.map(({ resumed }) => resumed),
    [false, true],
  );
});

for (const answer of [
  'Content-Length: 6\r\n\r\nsecret',
  'Transfer-Encoding: chunked\r\n\r\n6\r\nsecret\r\n0\r\n\r\n',
]) {
  test(`paused, an answer over TLS is whole though its upstream closed before resume (${answer.slice(0, 14)})`, async (t) => {
    const closed = Promise.withResolvers<void>();
    const server = tls.createServer({ key, cert }, (socket) => {
      onRequest(socket, () => socket.end(`HTTP/1.1 200 OK\r\n${answer}`, closed.resolve));
    });
    const { port } = new URL(await originOf(server));
    t.after(() => server.close());
    const transport = testTransport(t, { ca: cert, lookup: toLoopback });
    const told = send(transport, `https://upstream.test:${port}`);
    pauseAtFirstBytes(told);
    await told.began;
    await closed.promise;
    for (let i = 0; i < 5; i++) await new Promise(setImmediate);
    assert.equal(told.ends, 0);
    told.call.resume();
    assert.equal(await told.end, 'ended');
    assert.equal(textOf(told), 'secret');
    while (transport.counts.connections > 0) await new Promise(setImmediate);
  });
}

test('paused, an answer over TLS that is cut short fails at resume, after what came of it', async (t) => {
  const closed = Promise.withResolvers<void>();
  const server = tls.createServer({ key, cert }, (socket) => {
    onRequest(socket, () =>
      socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n', closed.resolve),
    );
  });
  const { port } = new URL(await originOf(server));
  t.after(() => server.close());
  const told = send(testTransport(t, { ca: cert, lookup: toLoopback }), `https://upstream.test:${port}`);
  pauseAtFirstBytes(told);
  await told.began;
  await closed.promise;
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
  told.call.resume();
  const end = await told.end;
  assert.equal(end !== 'ended' && end.kind, 'reset');
  assert.equal(textOf(told), 'ab');
});

function pauseAtFirstBytes(told: ReturnType<typeof send>): void {
  const { body } = told;
  const push = body.push.bind(body);
  body.push = (...pieces) => {
    if (body.length === 0) told.call.pause();
    return push(...pieces);
  };
}

test('a certificate that nobody vouches for is a tls fault', async (t) => {
  const { port } = await secureUpstream(t);
  const end = await send(testTransport(t, { lookup: toLoopback }), `https://upstream.test:${port}`).end;
  assert.deepEqual(end, { kind: 'tls', message: 'no secure connection could be made (DEPTH_ZERO_SELF_SIGNED_CERT)' });
});

test('a certificate for another name is a tls fault, and the name is not told', async (t) => {
  const { port } = await secureUpstream(t);
  const transport = testTransport(t, { ca: cert, lookup: toLoopback });
  for (const host of ['elsewhere.test', '127.0.0.1']) {
    const end = await send(transport, `https://${host}:${port}`).end;
    assert.deepEqual(end, {
      kind: 'tls',
      message: 'no secure connection could be made (ERR_TLS_CERT_ALTNAME_INVALID)',
    });
  }
});

test('who shows a client certificate and who does not share no connection, and neither do two certificates', async (t) => {
  const server = https.createServer(
    { key, cert, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      response.end(`${subject?.CN ?? 'nobody'} ${request.socket.remotePort}`);
    },
  );
  const { port } = new URL(await originOf(server));
  t.after(() => server.close());
  const transport = testTransport(t, { ca: cert, lookup: toLoopback });
  const shown = { proxy: 'off', ca: undefined, cert, key } as const;
  const byWhom = [];
  for (const route of [undefined, { ...shown, id: 'a' }, undefined, { ...shown, id: 'b' }, { ...shown, id: 'a' }]) {
    const told = send(transport, `https://upstream.test:${port}`, { route });
    assert.equal(await told.end, 'ended');
    byWhom.push(textOf(told).split(' '));
  }
  const names = byWhom.map(([name]) => name);
  assert.deepEqual(names, ['nobody', 'upstream.test', 'nobody', 'upstream.test', 'upstream.test']);
  assert.equal(new Set(byWhom.map(([, from]) => from)).size, 3);
});

/** An upstream in a thread of its own, which answers while this one's loop stands still. */
const elsewhere = `
const { parentPort, workerData } = require('node:worker_threads');
const server = require('node:https').createServer(workerData, (request, response) => request.resume().on('end', () => response.end('ok')));
server.on('secureConnection', () => parentPort.postMessage('opened'));
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

test('a connection is kept whose answer comes in one turn with the news that its request was sent', async (t) => {
  const upstream = new Worker(elsewhere, { eval: true, workerData: { key, cert } });
  t.after(() => upstream.terminate());
  const [port] = await once(upstream, 'message');
  let opened = 0;
  upstream.on('message', () => opened++);
  const transport = testTransport(t, { ca: cert, lookup: toLoopback });
  for (let i = 0; i < 5; i++) {
    // Writes of this phase of a turn are reported at the end of the next, after everything that came meanwhile.
    await new Promise(setImmediate);
    const told = send(transport, `https://upstream.test:${port}`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, i === 0 ? 0 : 100);
    assert.equal(await told.end, 'ended');
  }
  assert.equal(transport.counts.connections, 1);
  assert.equal(opened, 1);
});
