import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listen, onRequest, send, testTransport } from '../../../test/loopback-transport.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const refused: Record<string, string> = {
  'of another version': 'HTTP/2 200 OK\r\n\r\n',
  'of another protocol': 'SSH-2.0-OpenSSH_9\r\n',
  'of lines that end in LF alone': 'HTTP/1.1 200 OK\ncontent-length: 0\n\n\r\n\r\n',
  'with a folded line': `${ok}X: a\r\n b\r\n\r\n`,
  'with a folded length': `${ok}Content-Length: 1\r\n 0\r\n\r\na`,
  'with a blank before the colon': `${ok}Content-Length : 0\r\n\r\n`,
  'with a line without a colon': `${ok}nothing\r\n\r\n`,
  'with a bare CR in a value': `${ok}X: a\rb\r\n\r\n`,
  'with a NUL in a value': `${ok}X: a\0b\r\n\r\n`,
  'with two lengths': `${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
  'with a signed length': `${ok}Content-Length: +1\r\n\r\n`,
  'with a length and chunks': `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
  'with chunks and a length': `${ok}Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n`,
  'with a coding that we do not speak': `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`,
  'that changes the protocol': 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  'with a status of two digits': 'HTTP/1.1 20 OK\r\n\r\n',
  'with a chunk without a size': `${ok}Transfer-Encoding: chunked\r\n\r\n\r\n`,
  'with a chunk of a signed size': `${ok}Transfer-Encoding: chunked\r\n\r\n-1\r\n`,
  'with a chunk of 17 digits': `${ok}Transfer-Encoding: chunked\r\n\r\n${'1'.repeat(17)}\r\n`,
  'with a chunk longer than it says': `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n`,
  'with a chunk line that ends in LF alone': `${ok}Transfer-Encoding: chunked\r\n\r\n1\na\r\n`,
  'with a blank behind a chunk size': `${ok}Transfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n`,
  'with an extension that is none': `${ok}Transfer-Encoding: chunked\r\n\r\n1;\0\r\na\r\n0\r\n\r\n`,
  'with trailers of no name': `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n: x\r\n\r\n`,
  'with trailers that end in LF alone': `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\nZ: z\r\n\r\n`,
  'with a length among its trailers': `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n`,
  'with a length and a blank that is none': `${ok}Content-Length: 4\xa0\r\n\r\nfour`,
  'with chunks and a blank that is none': `${ok}Transfer-Encoding: chunked\xa0\r\n\r\n0\r\n\r\n`,
  'with chunks and a tab': `${ok}Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n`,
  'behind a hint that closes': `HTTP/1.1 103 E\r\nConnection: close\r\n\r\n${ok}Content-Length: 0\r\n\r\n`,
  'with endless trailers': `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${'x: y\r\n'.repeat(60_000)}`,
  'with a head that is too large': `${ok}X: ${'x'.repeat(100 * 1024)}`,
};
/** Part of the longest ones that comes byte by byte. */
const startBytes = 200;

for (const [name, text] of Object.entries(refused)) {
  for (const [how, pieceBytes] of [
    ['whole', startBytes],
    ['byte by byte', 1],
  ] as const) {
    test(`F12 an answer ${name} is refused, ${how}`, async (t) => {
      const origin = await listen(t, (socket) =>
        onRequest(socket, async () => {
          const start = Buffer.from(text.slice(0, startBytes), 'latin1');
          for (let at = 0; at < start.length && socket.writable; at += pieceBytes) {
            socket.write(start.subarray(at, at + pieceBytes));
            await new Promise(setImmediate);
          }
          socket.write(text.slice(startBytes), 'latin1');
        }),
      );
      const end = await send(testTransport(t), origin).end;
      // Undici calls it cut where the head has told a length, whatever else is wrong.
      assert.ok(end !== 'ended' && (end.kind === 'protocol' || end.kind === 'reset'), JSON.stringify(end));
    });
  }
}
