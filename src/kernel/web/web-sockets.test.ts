import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { importWs, unmask } from './web-sockets.ts';

test('any part of any buffer is unmasked as RFC 6455 says, and no byte beside it', () => {
  const mask = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);
  for (let from = 0; from < 8; from += 1) {
    for (let length = 0; length < 24; length += 1) {
      const all = Buffer.from(Array.from({ length: 40 }, (_, at) => (at * 7) & 255));
      const expected = Buffer.from(all);
      for (let at = 0; at < length; at += 1) expected[from + at]! ^= mask[at & 3]!;
      unmask(all.subarray(from, from + length), mask);
      assert.deepEqual(all, expected, `${length} bytes from ${from}`);
    }
  }
});

test('ws masks by it: messages of every length arrive as they were sent, and the sender keeps its bytes', async (t) => {
  const { WebSocket, WebSocketServer } = await importWs();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => {
    client.terminate();
    server.close();
    server.closeAllConnections();
  });
  await once(client, 'open');
  for (const length of [0, 1, 23, 24, 25, 125, 126, 127, 8_043, 65_535, 65_536, 300_001]) {
    const message = Buffer.alloc(length, 'culvert');
    client.send(message.subarray());
    const [echoed] = (await once(client, 'message')) as [Buffer];
    assert.ok(echoed.equals(Buffer.alloc(length, 'culvert')), `${length} bytes`);
    assert.ok(message.equals(Buffer.alloc(length, 'culvert')), 'the bytes of the sender');
  }
});
