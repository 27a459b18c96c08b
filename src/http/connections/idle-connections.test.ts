import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { capConnections } from './connection-caps.ts';
import { responseOf } from './pipelined.ts';

const request = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';

test('a connection closes when no request has come for 75 s, and not while one runs or after a further one', async (t) => {
  let nowMs = 1_000;
  t.mock.method(performance, 'now', () => nowMs);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const waiting: ServerResponse[] = [];
  const server = createServer({ keepAliveTimeout: 0 }, (_: IncomingMessage, response) => void waiting.push(response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  capConnections(server, {
    perAddress: () => undefined,
    elsewhere: null,
    isTrusted: () => false,
    refuse: () => assert.fail(),
    isAlwaysServed: () => false,
    isFree: (socket) => responseOf(socket) === null,
    onTaken() {},
    onDropped() {},
  });
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let state: 'open' | 'closed' = 'open';
  socket.on('close', () => {
    state = 'closed';
  });
  socket.resume();

  /** `seconds` later by the server's clock. */
  async function later(seconds: number): Promise<void> {
    for (let at = 0; at < seconds; at += 5) {
      nowMs += 5_000;
      t.mock.timers.tick(5_000);
    }
    for (let turns = 0; turns < 20; turns += 1) await turn();
  }
  async function asks(): Promise<ServerResponse> {
    socket.write(request);
    while (waiting.length === 0) await turn();
    return waiting.shift()!;
  }

  const first = await asks();
  await later(300);
  assert.equal(state, 'open', 'its request runs');
  first.end('ok');
  await once(first, 'close');
  await later(70);
  assert.equal(state, 'open');
  const second = await asks();
  second.end('ok');
  await once(second, 'close');
  await later(75);
  assert.equal(state, 'open', '75 s were promised after each answer');
  await later(15);
  assert.equal(state, 'closed');
});
