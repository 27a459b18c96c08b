// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import net, { type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { blackHole } from '../../../test/faults/dead-places.ts';
import { onRequest, send, testTransport, textOf } from '../../../test/loopback-transport.ts';
import { createLookup } from './lookup.ts';

const hello = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n';

test('F78 a name moves under load and the old address refuses: no request fails, and the name is asked for again', async (t) => {
  const before = await serve(0, '127.0.0.1', `${hello}-1`);
  const { port } = before.address() as AddressInfo;
  const after = await serve(port, '127.0.0.2', `${hello}-2`);
  t.after(() => after.close());
  let address = '127.0.0.1';
  let asked = 0;
  const transport = testTransport(t, {
    // As long as a name server allows: within the test nobody would ask again.
    lookup: createLookup({
      resolve: async () => {
        asked += 1;
        return { addresses: [{ address, family: 4 }], ttlMs: 60_000 };
      },
    }),
  });
  const origin = `http://moving.test:${port}`;
  const answers: string[] = [];
  const ask = async () => {
    const told = send(transport, origin);
    const end = await told.end;
    answers.push(end === 'ended' ? textOf(told) : end.kind);
  };
  for (let i = 0; i < 5; i++) await ask();
  assert.deepEqual(new Set(answers.splice(0)), new Set(['-1']));
  // No later query is refused for being too soon.
  await new Promise((done) => setTimeout(done, 1_000));
  await new Promise((done) => before.close(done));
  address = '127.0.0.2';
  for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 20 }, ask));
  assert.deepEqual(new Set(answers), new Set(['-2']));
  assert.equal(answers.length, 100);
  assert.equal(asked, 2);
});

test('F2 an address that swallows connections is waited for once, and tried last from then on', async (t) => {
  const { port } = new URL(await blackHole(t));
  const alive = await serve(Number(port), '127.0.0.2', `${hello}-2`);
  t.after(() => alive.close());
  const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 as const }));
  const lookup = createLookup({ resolve: async () => ({ addresses, ttlMs: 60_000 }) });
  const tried: string[] = [];
  const transport = testTransport(t, { lookup });
  const order = () => lookup('half.test', { all: true }, (_, all) => tried.push((all as LookupAddress[])[0]!.address));
  for (let i = 0; i < 2; i++) {
    const told = send(transport, `http://half.test:${port}`);
    assert.equal(await told.end, 'ended');
    assert.equal(textOf(told), '-2');
    order();
  }
  assert.deepEqual(tried, ['127.0.0.2', '127.0.0.2']);
});

async function serve(port: number, host: string, answer: string): Promise<net.Server> {
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    onRequest(socket, () => socket.end(answer));
  });
  await new Promise<void>((ready) => server.listen(port, host, ready));
  return server;
}
