import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { listen, send, testTransport } from '../../../test/loopback-transport.ts';
import { readProxy } from './proxy.ts';
import type { UpstreamRoute } from './upstream-call.ts';

const throughProxy = (url: string): UpstreamRoute => ({
  id: url,
  proxy: readProxy(url)!,
  ca: undefined,
  cert: undefined,
  key: undefined,
});

/** Longer than any test: what is closed was closed by its caller. */
const connectTimeoutMs = 3_600_000;

test('F2 a proxy that never answers is given up at connectTimeoutMs, and its connection closed', async (t) => {
  const closed = Promise.withResolvers<void>();
  const proxy = await listen(t, (socket) => socket.resume().on('close', () => closed.resolve()));
  const told = send(testTransport(t), 'https://upstream.test', {
    route: throughProxy(proxy),
    connectTimeoutMs: 60,
  });
  assert.deepEqual(await told.end, { kind: 'connect-timeout', message: 'timed out connecting (ETIMEDOUT)' });
  await closed.promise;
});

test('abort while a proxy is asked for a tunnel: it sees the close, the observer nothing', async (t) => {
  const asked = Promise.withResolvers<Socket>();
  const proxy = await listen(t, (socket) => socket.once('data', () => asked.resolve(socket)));
  const told = send(testTransport(t), 'https://upstream.test', { route: throughProxy(proxy), connectTimeoutMs });
  const socket = await asked.promise;
  const closed = new Promise((resolve) => socket.resume().once('close', resolve));
  told.call.abort();
  await closed;
  assert.equal(told.ends, 0);
});

test('abort while TLS is agreed on in a tunnel: the proxy sees the close', async (t) => {
  const hello = Promise.withResolvers<Socket>();
  const proxy = await listen(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.once('data', () => hello.resolve(socket));
    });
  });
  const told = send(testTransport(t), 'https://upstream.test', { route: throughProxy(proxy), connectTimeoutMs });
  const socket = await hello.promise;
  const closed = new Promise((resolve) => socket.resume().once('close', resolve));
  told.call.abort();
  await closed;
  assert.equal(told.ends, 0);
});

for (const [name, answer, message] of [
  ['closes', '', /^the proxy could not reach it/],
  ['says what is no HTTP', 'SSH-2.0-OpenSSH_9\r\n\r\n', /^the proxy could not reach it/],
  ['says no', 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', /PROXY_407/],
  ['speaks before the origin could', 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', /PROXY_200/],
  ['closes the tunnel', 'HTTP/1.1 200 OK\r\n\r\n', /no secure connection/],
] as const) {
  test(`a proxy that ${name} fails the request once`, async (t) => {
    const proxy = await listen(t, (socket) => socket.once('data', () => socket.end(answer)));
    const told = send(testTransport(t), 'https://upstream.test', { route: throughProxy(proxy) });
    const end = await told.end;
    assert.ok(end !== 'ended');
    assert.match(end.message, message);
    assert.equal(told.ends, 1);
  });
}
