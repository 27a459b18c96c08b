import assert from 'node:assert/strict';
import type { OnReadOpts } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { readInto } from './read-into.ts';

/** What node does when `text` came over a socket. */
function read(socket: OnReadOpts, text: string): void {
  const landing = socket.buffer as Buffer;
  socket.callback(landing.write(text, 'latin1'), landing);
}

function memoryOf(pieces: readonly Buffer[]): number {
  let bytes = 0;
  for (const memory of new Set(pieces.map(({ buffer }) => buffer))) bytes += memory.byteLength;
  return bytes;
}

test('what was read stays as it came, whatever is read after it over any socket', () => {
  const reads = fc.array(fc.tuple(fc.nat(2), fc.constantFrom(1, 7, 300, 4_096, 4_097, 9_000, 65_536)), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(reads, (list) => {
      const came: [Buffer, string][] = [];
      let text = '';
      const sockets = [0, 1, 2].map(() => readInto((bytes) => came.push([bytes, text])));
      for (const [i, [socket, length]] of list.entries()) {
        text = String.fromCharCode(65 + (i % 26)).repeat(length);
        read(sockets[socket]!, text);
      }
      assert.equal(came.length, list.length);
      for (const [bytes, expected] of came) assert.equal(bytes.toString('latin1'), expected);
    }),
  );
});

test('what waits of one slow stream keeps little more memory than it has bytes, whatever others read meanwhile', () => {
  const slow: Buffer[] = [];
  const slowSocket = readInto((bytes) => slow.push(bytes));
  const busySocket = readInto(() => undefined);
  for (let i = 0; i < 1_000; i++) {
    read(slowSocket, 'data: {"delta":"slowly"}\n\n');
    for (let j = 0; j < 10; j++) read(busySocket, 'x'.repeat(3_000));
  }
  const bytes = slow.reduce((sum, { length }) => sum + length, 0);
  assert.ok(memoryOf(slow) <= bytes + 2 * 8 * 1024, `${memoryOf(slow)} for ${bytes} bytes`);
});
