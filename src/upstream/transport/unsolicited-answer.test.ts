// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeTime } from '../../../test/fake-time.ts';
import { listen, onRequest, send, testTransport, textOf } from '../../../test/loopback-transport.ts';
import { restAfterAnswerMs } from './send.ts';

/** Each ms of these upstreams and of a connection's rest is this many here: a timer of this process may be late. */
const slower = 20;

const withBody = (text: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;

for (const [name, afterMs] of [
  ['in the next turn', 0],
  ['1 ms later', 1],
  ['3 ms later', 3],
] as const) {
  test(`S32 a second answer ${name}: 1,000 requests of 8 at a time, none gets what another was answered`, async (t) => {
    const origin = await listen(t, (socket) =>
      onRequest(socket, (head) => {
        const answer = withBody(/x-id: (\w+)/.exec(head)![1]!);
        socket.write(answer);
        setTimeout(() => {
          if (socket.writable) socket.write(answer);
        }, afterMs * slower);
      }),
    );
    const transport = testTransport(t, { restMs: restAfterAnswerMs * slower });
    let sent = 0;
    const asking = async (): Promise<void> => {
      while (sent < 1_000) {
        const id = `request${sent++}`;
        const told = send(transport, origin, { headers: ['x-id', id] });
        assert.equal(await told.end, 'ended');
        assert.equal(textOf(told), id);
      }
    };
    await Promise.all(Array.from({ length: 8 }, asking));
  });
}

for (const [head, body] of [
  ['204 No Content', withBody('evil')],
  ['304 Not Modified', withBody('evil')],
  ['200 OK\r\nContent-Length: 0', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'],
] as const) {
  test(`S32 a body behind ${head.replace('\r\n', ', ')} is nobody's answer: the connection is closed`, async (t) => {
    let sockets = 0;
    const origin = await listen(t, (socket) => {
      sockets += 1;
      onRequest(socket, () => {
        socket.write(`HTTP/1.1 ${head}\r\n\r\n`);
        setTimeout(() => {
          if (socket.writable) socket.write(body);
        }, 5);
      });
    });
    const transport = testTransport(t);
    for (let i = 1; i <= 50; i += 1) {
      const told = send(transport, origin);
      assert.equal(await told.end, 'ended');
      assert.deepEqual([textOf(told), sockets], ['', i]);
    }
  });
}

test('S32 a connection rests after its answer, and is used again after that', async (t) => {
  const time = fakeTime();
  let sockets = 0;
  const origin = await listen(t, (socket) => {
    sockets += 1;
    onRequest(socket, () => socket.write(withBody('ok')));
  });
  const transport = testTransport(t, { time, restMs: restAfterAnswerMs });
  for (const [waitMs, opened] of [
    [0, 1],
    [restAfterAnswerMs - 1, 2],
    [1, 2],
    [restAfterAnswerMs, 2],
  ] as const) {
    time.advance(waitMs);
    assert.equal(await send(transport, origin).end, 'ended');
    assert.equal(sockets, opened);
  }
});

const leave = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n';
for (const [name, unasked, when, opened] of [
  ['what nobody asked for is not trusted with a connection again', withBody('evil'), 'later', 4],
  ['a second answer with its first is not trusted with a connection again', withBody('evil'), 'at once', 4],
  ['408 on an idle connection only takes leave of it', leave, 'later', 2],
] as const) {
  test(`S32 an upstream that sends ${name}`, async (t) => {
    let sockets = 0;
    const origin = await listen(t, (socket) => {
      sockets += 1;
      const first = sockets === 1;
      onRequest(socket, () => {
        socket.write(withBody('ok') + (first && when === 'at once' ? unasked : ''));
        if (first && when === 'later') setTimeout(() => socket.write(unasked), 5);
      });
    });
    const transport = testTransport(t);
    assert.equal(await send(transport, origin).end, 'ended');
    while (transport.counts.connections > 0) await new Promise(setImmediate);
    for (let i = 0; i < 3; i += 1) assert.equal(await send(transport, origin).end, 'ended');
    assert.equal(sockets, opened);
  });
}
