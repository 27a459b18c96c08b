import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listen, listenAndKeep, onRequest, send, testTransport, textOf } from '../../../test/loopback-transport.ts';
import type { UpstreamUpload } from './upstream-call.ts';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const oneMb = 1024 * 1024;

test('a body that is read while it is sent arrives whole, under its length and not in chunks', async (t) => {
  const { origin, heads, bodies } = await listenAndKeep(t, ok);
  const transport = testTransport(t);
  for (const body of ['one', 'two']) {
    const told = send(transport, origin, { body: uploadOf(['a ', body]).upload });
    assert.equal(await told.end, 'ended');
    assert.equal(textOf(told), 'ok');
  }
  assert.deepEqual(bodies, ['a one', 'a two']);
  assert.match(heads[0]!, /\r\ncontent-length: 5\r\n/);
  assert.doesNotMatch(heads[0]!, /transfer-encoding/i);
});

test('F9 on a kept-alive socket that dies under it, it is read again from its beginning', async (t) => {
  let requests = 0;
  const bodies: string[] = [];
  const origin = await listen(t, (socket) =>
    onRequest(socket, (_, body) => {
      requests += 1;
      if (requests === 2) return socket.resetAndDestroy();
      bodies.push(body);
      socket.write(ok);
    }),
  );
  const transport = testTransport(t);
  assert.equal(await send(transport, origin, { body: 'first' }).end, 'ended');
  const { upload, opened } = uploadOf(['second']);
  assert.equal(await send(transport, origin, { body: upload }).end, 'ended');
  assert.deepEqual([bodies, opened(), transport.counts.retriedOnFreshSocket], [['first', 'second'], 2, 1]);
});

test('an upstream that reads nothing is fed no more than the buffers take; an abort closes the file', async (t) => {
  const origin = await listen(t, (socket) => socket.pause());
  const { upload, read, closed } = uploadOf(Array.from({ length: 200 }, () => 'x'.repeat(oneMb)));
  const told = send(testTransport(t), origin, { body: upload });
  await stopped(read);
  assert.ok(read() < 50, `${read()} MB were read`);
  told.call.abort();
  await closed;
});

test('an answer that comes before the body is taken is told, and the rest of the body is not read', async (t) => {
  const origin = await listen(t, (socket) => {
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno');
    });
  });
  const { upload, read, closed } = uploadOf(Array.from({ length: 200 }, () => 'x'.repeat(oneMb)));
  const transport = testTransport(t);
  const told = send(transport, origin, { body: upload });
  assert.equal(await told.end, 'ended');
  assert.deepEqual([told.status, textOf(told)], [401, 'no']);
  await closed;
  assert.ok(read() < 50, `${read()} MB were read`);
});

test('a file that cannot be read fails the exchange, in words without its path', async (t) => {
  const origin = await listen(t, () => undefined);
  const upload: UpstreamUpload = {
    bytes: 10,
    // biome-ignore lint/correctness/useYield: it fails before there is anything to give.
    async *open() {
      throw Object.assign(new Error('ENOENT: /secret/place'), { code: 'ENOENT' });
    },
  };
  const end = await send(testTransport(t), origin, { body: upload }).end;
  assert.ok(end !== 'ended');
  assert.doesNotMatch(end.message, /secret/);
});

function uploadOf(pieces: readonly string[]) {
  let opened = 0;
  let read = 0;
  const ending = Promise.withResolvers<void>();
  const upload: UpstreamUpload = {
    bytes: pieces.join('').length,
    async *open() {
      opened += 1;
      try {
        for (const piece of pieces) {
          read += 1;
          yield Buffer.from(piece);
        }
      } finally {
        ending.resolve();
      }
    },
  };
  return { upload, opened: () => opened, read: () => read, closed: ending.promise };
}

/** Resolves when a count no longer grows: nobody reports a full buffer. */
async function stopped(count: () => number): Promise<void> {
  for (let before = -1, same = 0; same < 20; ) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    same = count() === before && count() > 0 ? same + 1 : 0;
    before = count();
  }
}
