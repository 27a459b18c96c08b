import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Address, createFetchGuard } from './fetch-guard.ts';
import { guardedPost } from './guarded-post.ts';

const nobody = async (): Promise<readonly Address[]> => Promise.reject(new Error('ENOTFOUND'));

async function receiver(t: TestContext, status: number, headers: Record<string, string> = {}) {
  const heard: { request: IncomingMessage; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      heard.push({ request, body });
      response.writeHead(status, headers).end();
    });
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return { heard, port: (server.address() as AddressInfo).port };
}

test('a post arrives whole with its headers; redirects are an answer like any other', async (t) => {
  const { heard, port } = await receiver(t, 302, { location: 'http://169.254.169.254/' });
  const place = `127.0.0.1:${port}`;
  const guard = createFetchGuard({ ports: [], allow_private: [place] }, nobody);
  const status = await guardedPost(`http://${place}/a?b=c`, { 'x-a': '1' }, '{"é":1}', { guard, timeoutMs: 60_000 });
  assert.equal(status, 302);
  const [{ request, body }] = heard as [(typeof heard)[0]];
  assert.deepEqual([request.method, request.url, request.headers['x-a'], body], ['POST', '/a?b=c', '1', '{"é":1}']);
});

test('a receiver that changes the protocol unasked has not received, and is not waited for', async (t) => {
  const server = createServer((request) => {
    request.socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const guard = createFetchGuard({ ports: [], allow_private: [place] }, nobody);
  await assert.rejects(guardedPost(`http://${place}/`, {}, '{}', { guard, timeoutMs: 60_000 }), /without an answer/);
});

test('S17, F27: nothing is posted to a private address, in whatever spelling, by name or after a change of mind', async (t) => {
  const { heard, port } = await receiver(t, 200);
  const ports = [port];
  const closed = createFetchGuard({ ports, allow_private: [] }, async () => [{ address: '127.0.0.1', family: 4 }]);
  for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', 'hook.test', 'localhost']) {
    const posting = guardedPost(`http://${host}:${port}/`, {}, '{}', { guard: closed, timeoutMs: 60_000 });
    await assert.rejects(posting, /public Internet/, host);
  }
  // A guard whose answer is no longer true by the time of the connection.
  const late = {
    ...closed,
    check: async () => ({ ok: true as const, addresses: [{ address: '127.0.0.1', family: 4 as const }] }),
  };
  const posting = guardedPost(`http://hook.test:${port}/`, {}, '{}', { guard: late, timeoutMs: 60_000 });
  await assert.rejects(posting, /public Internet/);
  assert.deepEqual(heard, []);
});
