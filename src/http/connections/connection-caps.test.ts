import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { capConnections } from './connection-caps.ts';

/** Whether each connection of these addresses, one after the other, got a place among two of one client. */
function placesOf(addresses: readonly string[]): boolean[] {
  const refused = new Set<Socket>();
  const server = createServer();
  server.removeAllListeners('connection');
  server.on('connection', () => undefined);
  capConnections(server, {
    perAddress: () => 2,
    elsewhere: null,
    isTrusted: (address) => address === '2001:db8::1',
    refuse: (socket) => void refused.add(socket),
    isAlwaysServed: () => false,
    isFree: () => true,
    onTaken: () => undefined,
    onDropped: () => undefined,
  });
  const sockets = addresses.map((remoteAddress) => {
    const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    return Object.assign(socket, { remoteAddress, bytesRead: 0 }) as unknown as Socket;
  });
  for (const socket of sockets) server.emit('connection', socket);
  const places = sockets.map((socket) => !refused.has(socket));
  for (const socket of sockets) socket.destroy();
  return places;
}

test('addresses of one IPv6 network share the places of one client, and those of IPv4 have their own', () => {
  const network = ['2001:db8:1:2::a', '2001:db8:1:2:3:4:5:6', '2001:DB8:1:2::b', '2001:db8:1:3::a'];
  assert.deepEqual(placesOf(network), [true, true, false, true]);
  assert.deepEqual(placesOf(['192.0.2.1', '192.0.2.2', '::ffff:192.0.2.1', '192.0.2.1']), [true, true, true, false]);
});

test('a trusted proxy has as many connections as there are', () => {
  assert.deepEqual(placesOf(['2001:db8::1', '2001:db8::1', '2001:db8::1', '2001:db8::2']), [true, true, true, false]);
});
