import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AnswerHead } from './answer-head.ts';
import { AnswerParser, type AnswerSink, answerHeadBytesMax } from './answer-parser.ts';
import { WireFailure } from './wire-failure.ts';

class Told implements AnswerSink {
  paused = false;
  heads: AnswerHead[] = [];
  pieces: Buffer[] = [];
  /** Asks for a pause after each of these. */
  pauseAfter: ('head' | 'bytes')[] = [];

  head(head: AnswerHead): void {
    this.heads.push(head);
    if (this.pauseAfter.includes('head')) this.paused = true;
  }

  bytes(piece: Buffer): void {
    assert.equal(this.paused, false);
    this.pieces.push(piece);
    if (this.pauseAfter.includes('bytes')) this.paused = true;
  }

  get body(): string {
    return Buffer.concat(this.pieces).toString('latin1');
  }
}

/** Reads all, resuming after each pause; how many bytes stand behind the answer. */
function readAll(
  told: Told,
  pieces: readonly Buffer[],
  parser = new AnswerParser(told),
): { parser: AnswerParser; behind: number } {
  let behind = 0;
  for (const piece of pieces) {
    let rest = piece;
    do {
      told.paused = false;
      rest = rest.subarray(parser.isOver ? 0 : parser.read(rest, 0));
    } while (told.paused);
    behind += rest.length;
  }
  return { parser, behind };
}

const ok = 'HTTP/1.1 200 OK\r\n';
const answers: Record<string, { text: string; body: string; ends: 'itself' | 'by close' }> = {
  'of a length': { text: `${ok}Content-Length: 11\r\nX: y\r\n\r\nhello world`, body: 'hello world', ends: 'itself' },
  'of no bytes': { text: `${ok}content-length: 0\r\n\r\n`, body: '', ends: 'itself' },
  'without content': { text: 'HTTP/1.1 204 No Content\r\n\r\n', body: '', ends: 'itself' },
  'without a reason': { text: 'HTTP/1.1 200\r\ncontent-length:1\r\n\r\na', body: 'a', ends: 'itself' },
  'in chunks': {
    text: `${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n00A;name="v"\r\n0123456789\r\n0\r\n\r\n`,
    body: 'abc0123456789',
    ends: 'itself',
  },
  'in chunks with trailers': {
    text: `${ok}transfer-encoding: Chunked\r\n\r\n1;a="b \\"";c;d=e\r\n\r\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n`,
    body: '\r',
    ends: 'itself',
  },
  'behind hints': {
    text: `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${ok}Content-Length: 2\r\n\r\nok`,
    body: 'ok',
    ends: 'itself',
  },
  'that ends with the connection': { text: 'HTTP/1.0 200 OK\r\n\r\nold', body: 'old', ends: 'by close' },
};

for (const [name, { text, body, ends }] of Object.entries(answers)) {
  test(`an answer ${name} reads the same however it is cut, and whatever is paused`, () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(text.length), { maxLength: 12 }),
        fc.subarray(['head', 'bytes'] as const),
        (cuts, pauseAfter) => {
          const bytes = Buffer.from(text, 'latin1');
          const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
          const told = new Told();
          told.pauseAfter = [...pauseAfter];
          const pieces = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
          const { parser, behind } = readAll(told, pieces);
          if (ends === 'by close') parser.close();
          assert.equal(parser.isOver, true);
          assert.equal(told.heads.length, 1);
          assert.equal(told.body, body);
          assert.equal(behind, 0);
        },
      ),
    );
  });

  test(`an answer ${name} that is cut short is never taken for whole`, () => {
    for (let end = 0; end < text.length - (ends === 'by close' ? body.length : 0); end += 1) {
      const { parser } = readAll(new Told(), [Buffer.from(text.slice(0, end), 'latin1')]);
      assert.equal(parser.isOver, false, `${end} bytes`);
      assert.throws(() => parser.close(), end === 0 ? { code: 'closed' } : end < 12 ? { code: 'cut' } : WireFailure);
    }
  });
}

test('what stands behind an answer is not read', () => {
  for (const { text, ends } of Object.values(answers)) {
    if (ends === 'by close') continue;
    const told = new Told();
    const { behind } = readAll(told, [Buffer.from(`${text}${ok}`, 'latin1')]);
    assert.equal(behind, ok.length);
    assert.equal(told.heads.length, 1);
  }
});

test('a parser reads one answer after the other', () => {
  const told = new Told();
  const parser = new AnswerParser(told);
  for (const { text, ends } of Object.values(answers)) {
    parser.begin();
    readAll(told, [Buffer.from(text, 'latin1')], parser);
    if (ends === 'by close') parser.close();
    assert.equal(parser.isOver, true);
  }
});

const refused: Record<string, string> = {
  'of another version': 'HTTP/2 200 OK\r\n\r\n',
  'of another protocol': 'SSH-2.0-OpenSSH_9\r\n',
  'of lines that end in LF alone': 'HTTP/1.1 200 OK\ncontent-length: 0\n\n\r\n\r\n',
  'with a folded line': `${ok}X: a\r\n b\r\n\r\n`,
  'with a blank before the colon': `${ok}Content-Length : 0\r\n\r\n`,
  'with a line without a colon': `${ok}nothing\r\n\r\n`,
  'with a bare CR in a value': `${ok}X: a\rb\r\n\r\n`,
  'with a NUL in a value': `${ok}X: a\0b\r\n\r\n`,
  'with two lengths': `${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
  'with a signed length': `${ok}Content-Length: +1\r\n\r\n`,
  'with a length and chunks': `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
  'with a coding that we do not speak': `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`,
  'that changes the protocol': 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  'with a status of two digits': 'HTTP/1.1 20 OK\r\n\r\n',
  'with a chunk without a size': `${ok}Transfer-Encoding: chunked\r\n\r\n\r\n`,
  'with a chunk of a signed size': `${ok}Transfer-Encoding: chunked\r\n\r\n-1\r\n`,
  'with a chunk of 14 digits': `${ok}Transfer-Encoding: chunked\r\n\r\n${'1'.repeat(14)}\r\n`,
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
  'with an endless extension': `${ok}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(5_000)}`,
  'with endless trailers': `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${'x: y\r\n'.repeat(5_000)}`,
  'with a head that is too large': `${ok}X: ${'x'.repeat(answerHeadBytesMax)}`,
};
for (const [name, text] of Object.entries(refused)) {
  test(`F12 an answer ${name} is refused, whole or byte by byte`, () => {
    const bytes = Buffer.from(text, 'latin1');
    assert.throws(() => readAll(new Told(), [bytes]), WireFailure);
    const single = Array.from({ length: bytes.length }, (_, i) => bytes.subarray(i, i + 1));
    assert.throws(() => readAll(new Told(), single), WireFailure);
  });
}

test('whether a connection may be used again is as the answer says', () => {
  const kept = (head: string) => {
    const told = new Told();
    readAll(told, [Buffer.from(`${head}content-length: 0\r\n\r\n`)]);
    return told.heads[0]!.keptAlive;
  };
  assert.equal(kept(ok), true);
  assert.equal(kept(`${ok}Connection: Close\r\n`), false);
  assert.equal(kept(`${ok}Connection: keep-alive, close\r\n`), false);
  assert.equal(kept(`${ok}Proxy-Connection: close\r\n`), false);
  assert.equal(kept('HTTP/1.0 200 OK\r\n'), false);
  assert.equal(kept('HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n'), true);
});
