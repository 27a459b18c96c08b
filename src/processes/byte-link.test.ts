import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { FailureError } from '../kernel/failure.ts';
import { createByteLink } from './byte-link.ts';

/** Two ends of a stream that delivers bytes in pieces of these sizes, over and over. */
function inPieces(sizes: readonly number[]): [Duplex, Duplex] {
  let at = 0;
  const end = (other: () => Duplex) =>
    new Duplex({
      read() {},
      write(bytes: Buffer, _, done) {
        for (let from = 0; from < bytes.length; at += 1) {
          const size = sizes[at % sizes.length]!;
          other().push(bytes.subarray(from, from + size));
          from += size;
        }
        done();
      },
    });
  const one: Duplex = end(() => two);
  const two: Duplex = end(() => one);
  return [one, two];
}

test('messages come whole and in order, in whatever pieces their bytes come', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(sizes, fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 6 }), async (pieces, bodies) => {
      const [here, there] = inPieces(pieces);
      createByteLink(there, { echo: (body: Uint8Array) => body }, () => {});
      const link = createByteLink<{ echo(body: Uint8Array): Uint8Array }>(here, {}, () => {});
      const answers = await Promise.all(bodies.map((body) => link.ask('echo', body)));
      assert.deepEqual(
        answers.map((answer) => [...answer]),
        bodies.map((body) => [...body]),
      );
    }),
    { numRuns: 30 },
  );
});

test('when the other end is gone, what waits fails, and its owner is told', async () => {
  const [here, there] = inPieces([7]);
  let gone = 0;
  createByteLink(there, { never: () => new Promise(() => {}) }, () => {});
  const link = createByteLink<{ never(): Promise<void> }>(here, {}, () => {
    gone += 1;
  });
  const asked = assert.rejects(link.ask('never'), (error: FailureError) => error.failure.kind === 'overloaded');
  await turn();
  here.destroy();
  await asked;
  assert.equal(gone, 1);
});
