import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { listen, onRequest, send, testTransport, textOf } from '../../../test/loopback-transport.ts';
import { cut, oddAnswers, type PeerEnd } from '../../../test/odd-answers.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function say(socket: Socket, pieces: readonly Buffer[], end: PeerEnd): Promise<void> {
  for (const piece of pieces) {
    if (socket.writable) socket.write(piece);
    await turn();
  }
  await turn();
  if (end === 'closes') socket.end();
  else socket.resetAndDestroy();
}

test('S32 whatever an upstream says, it is told once, and nothing of it is the answer of the next request', async (t) => {
  let odd = { text: '', cuts: [] as number[], end: 'closes' as PeerEnd };
  const origin = await listen(t, (socket) =>
    onRequest(socket, (head) => {
      const id = /x-id: (\w+)/.exec(head)?.[1];
      if (id === undefined) say(socket, cut(odd.text, odd.cuts), odd.end);
      else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${id.length}\r\n\r\n${id}`);
    }),
  );
  let runs = 0;
  let whole = 0;
  await fc.assert(
    fc.asyncProperty(oddAnswers, async (answer) => {
      odd = answer;
      runs += 1;
      // Each time a new one: what says too much is not trusted with a kept connection again.
      const transport = testTransport(t);
      const told = send(transport, origin);
      if ((await told.end) === 'ended') whole += 1;
      assert.ok(told.heads <= 1);
      for (let i = 0; i < 2; i++) {
        const next = send(transport, origin, { headers: ['x-id', `id${runs}of${i}`] });
        assert.equal(await next.end, 'ended');
        assert.equal(textOf(next), `id${runs}of${i}`);
      }
      assert.equal(told.ends, 1);
      transport.destroy();
    }),
    { numRuns: 800 },
  );
  // When all are refused, nothing is tried.
  assert.ok(whole > runs / 4, `${whole} of ${runs}`);
});

test('an answer is the same to a reader who pauses at each piece, though the socket has ended by then', async (t) => {
  let pieces: Buffer[] = [];
  const origin = await listen(t, (socket) => onRequest(socket, () => say(socket, pieces, 'closes')));
  await fc.assert(
    fc.asyncProperty(oddAnswers, async ({ text, cuts }) => {
      pieces = cut(text, cuts);
      const transport = testTransport(t);
      const taken = send(transport, origin);
      const end = await taken.end;
      const paused = send(transport, origin);
      const push = paused.body.push.bind(paused.body);
      paused.body.push = (...more) => {
        paused.call.pause();
        setTimeout(() => paused.call.resume(), 1);
        return push(...more);
      };
      const pausedEnd = await paused.end;
      assert.equal(pausedEnd === 'ended', end === 'ended');
      if (end === 'ended') assert.equal(textOf(paused), textOf(taken));
      transport.destroy();
    }),
    { numRuns: 300 },
  );
});
