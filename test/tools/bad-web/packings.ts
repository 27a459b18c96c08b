import type { IncomingMessage, ServerResponse } from 'node:http';
import zlib from 'node:zlib';
import { type Behaviours, html, pour, raw } from './behaviour.ts';

const page = Buffer.from('<p>unpacked enough</p>');
const good = { page: /unpacked enough/ };
const broken = { refused: 'page_broken' } as const;
const cut = { page: /^endless /, warning: /cut after 2097152 bytes/ };

const packed = (packing: string, body: Buffer) => html(body, { 'content-encoding': packing });

function bomb(packing: string, packer: () => zlib.Gzip | zlib.Deflate | zlib.BrotliCompress) {
  return (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': packing });
    const stream = packer();
    stream.on('error', () => undefined);
    stream.pipe(response);
    pour(stream, response, 'endless ');
  };
}

/** Answers that are larger, or other, than what they are packed as. */
export const packings: Behaviours = {
  'is a bomb of gzip': { answer: bomb('gzip', zlib.createGzip), expect: cut },
  'is a bomb of deflate': { answer: bomb('deflate', zlib.createDeflate), expect: cut },
  'is a bomb of brotli': {
    answer: bomb('br', () => zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })),
    expect: cut,
  },
  'is a bomb in a bomb': {
    answer: packed('gzip, gzip', zlib.gzipSync(zlib.gzipSync(Buffer.alloc(20_000_000)))),
    expect: broken,
  },
  'says gzip and is not': { answer: packed('gzip', page), expect: broken },
  'says brotli and is not': { answer: packed('br', page), expect: broken },
  'says deflate and is not': { answer: packed('deflate', Buffer.from('\xff\xff\xff')), expect: broken },
  'is deflate without its frame': { answer: packed('deflate', zlib.deflateRawSync(page)), expect: broken },
  'is half of its gzip': { answer: packed('gzip', zlib.gzipSync(page).subarray(0, 25)), expect: broken },
  'is gzip with a wrong sum': {
    answer(response, request) {
      const body = zlib.gzipSync(page);
      body.writeUInt32LE(1, body.length - 8);
      packed('gzip', body)(response, request);
    },
    expect: broken,
  },
  'is gzip with rubbish behind it': {
    answer: packed('gzip', Buffer.concat([zlib.gzipSync(page), Buffer.from('rubbish')])),
    expect: broken,
  },
  'is packed as nobody asked': { answer: packed('zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd])), expect: broken },
  'names a packing that is not': { answer: packed('wurst', page), expect: broken },
  'says identity': { answer: packed('identity', page), expect: good },
  'is gzip, says so twice in other words': { answer: packed(' X-GZIP ', zlib.gzipSync(page)), expect: good },
  'goes on for ever': { answer: endless('text/html'), expect: cut },
  'promises ten GB': {
    answer: raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 10000000000\r\n\r\n');
      pour(socket, socket, 'endless ');
    }),
    expect: cut,
  },
  'is 20 million characters without an end of line': {
    answer: html(Buffer.alloc(20_000_000, 'endless ')),
    expect: cut,
  },
  'is JSON without an end': { answer: endless('application/json'), expect: cut },
  'is a feed without an end': {
    answer: endless('application/rss+xml', '<rss><channel>', '<item><title>endless item</title></item>'),
    expect: { page: /endless item/, warning: /cut after 2097152 bytes/ },
  },
  'is a PDF without an end': {
    answer: endless('application/pdf', '%PDF-1.4\n'),
    expect: { refused: 'page_unreadable' },
    asked: { maxBytes: 100_000 },
  },
};

function endless(type: string, first = '', piece = 'endless ') {
  return (response: ServerResponse, _: IncomingMessage) => {
    response.writeHead(200, { 'content-type': type });
    if (first !== '') response.write(first);
    pour(response, response, piece);
  };
}
