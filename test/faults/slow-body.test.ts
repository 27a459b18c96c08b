import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('F20 a body that stops coming gets 408 and a close after 60 s of silence', async (t) => {
  const { socket, received, upstream } = await halfSent(t);
  t.mock.timers.tick(59_999);
  await turns();
  assert.equal(received(), '');
  t.mock.timers.tick(1);
  await turns();
  t.mock.timers.reset();
  if (!socket.closed) await once(socket, 'close', { signal: AbortSignal.timeout(60_000) });
  assert.match(received(), /^HTTP\/1\.1 408 [\s\S]*connection: close[\s\S]*"code":408/i);
  assert.equal(upstream.requests().filter(({ method }) => method === 'POST').length, 0);
});

async function halfSent(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    // The timers that move are those of this process.
    server: { processes: 1 },
  });
  await gateway.modelsKnown;
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  let text = '';
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
  });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"model":`,
  );
  await turns();
  return { socket, upstream, received: () => text };
}

/** Some turns of the loop, for sockets to be read. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
