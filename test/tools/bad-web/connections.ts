import { type Behaviours, drip, html, pour, raw, rawText, shortMs } from './behaviour.ts';

const slow = { timeout: shortMs };
const timedOut = { refused: 'page_timeout' } as const;
const unreachable = { refused: 'page_unreachable' } as const;
const broken = { refused: 'page_broken' } as const;
const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n';
const page = '<p>good enough</p>';
const good = /good enough/;

/** Servers that do not keep to HTTP, or not to its end. */
export const connections: Behaviours = {
  'says nothing': { answer: () => undefined, expect: timedOut, asked: slow },
  'stops in its headers': { answer: raw((socket) => void socket.write(head)), expect: timedOut, asked: slow },
  'stops in its body': {
    answer: (response) => void response.writeHead(200, { 'content-type': 'text/html' }).write(page),
    expect: timedOut,
    asked: slow,
  },
  'drips its headers': {
    answer: raw((socket) => {
      socket.write(head);
      drip(socket, socket, 'x-a: b\r\n');
    }),
    expect: { refused: ['page_timeout', 'page_unreachable'] },
    asked: slow,
  },
  'drips its body': {
    answer(response) {
      response.writeHead(200, { 'content-type': 'text/html' });
      drip(response, response, '.');
    },
    expect: timedOut,
    asked: slow,
  },
  'hangs up at once': { answer: raw((socket) => void socket.end()), expect: unreachable },
  'resets before it answers': { answer: raw((socket) => void socket.resetAndDestroy()), expect: unreachable },
  'resets in its body': {
    answer: (response) => {
      response.writeHead(200, { 'content-type': 'text/html', 'content-length': '1000' });
      response.write('<p>half', () => response.socket?.resetAndDestroy());
    },
    expect: broken,
  },
  'ends before its length': { answer: rawText(`${head}content-length: 1000\r\n\r\n<p>half`), expect: broken },
  'goes on after its length': {
    answer: rawText(`${head}content-length: ${page.length}\r\n\r\n${page}<p>secret of the next one`),
    expect: { page: good },
  },
  'has two lengths': {
    answer: rawText(`${head}content-length: 5\r\ncontent-length: 18\r\n\r\n${page}`),
    expect: unreachable,
  },
  'has a length below nothing': { answer: rawText(`${head}content-length: -5\r\n\r\n${page}`), expect: unreachable },
  'has a length and pieces': {
    answer: rawText(`${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n12\r\n${page}\r\n0\r\n\r\n`),
    expect: unreachable,
  },
  'has no length, and ends': { answer: rawText(`${head}\r\n${page}`), expect: { page: good } },
  'sends rubbish for a piece': {
    answer: rawText(`${head}transfer-encoding: chunked\r\n\r\nzz\r\n${page}\r\n0\r\n\r\n`),
    expect: broken,
  },
  'says that a piece is endless': {
    answer: rawText(`${head}transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n${page}`),
    expect: broken,
  },
  'ends before its last piece': {
    answer: rawText(`${head}transfer-encoding: chunked\r\n\r\n12\r\n${page}\r\n`),
    expect: broken,
  },
  'never ends what follows its pieces': {
    answer: raw((socket) => {
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n12\r\n${page}\r\n0\r\n`);
      pour(socket, socket, `x-a: ${'b'.repeat(500)}\r\n`);
    }),
    expect: broken,
  },
  'packs its transfer in a way of its own': {
    answer: rawText(`${head}transfer-encoding: wurst\r\n\r\n${page}`),
    expect: { page: good },
  },
  'answers in another protocol': { answer: rawText('SSH-2.0-OpenSSH_9.2p1\r\n'), expect: unreachable },
  'answers in TLS': { answer: rawText(Buffer.from([21, 3, 1, 0, 2, 2, 70])), expect: unreachable },
  'answers without a head, as HTTP/0.9': { answer: rawText(page), expect: unreachable },
  'writes its status in words': { answer: rawText(`HTTP/1.1 fine OK\r\n\r\n${page}`), expect: unreachable },
  'has a status of 999': { answer: rawText(`HTTP/1.1 999 Denied\r\n\r\n${page}`), expect: { page: good, status: 999 } },
  'writes its headers for ever': {
    answer: raw((socket) => {
      socket.write(head);
      pour(socket, socket, 'x-a: b\r\n');
    }),
    expect: unreachable,
  },
  'has one header of 64 KB': {
    answer: rawText(`${head}x-a: ${'b'.repeat(65_536)}\r\n\r\n${page}`),
    expect: unreachable,
  },
  'has headers of 40 KB': {
    answer: rawText(
      `${head}content-security-policy: ${'b'.repeat(40_000)}\r\ncontent-length: ${page.length}\r\n\r\n${page}`,
    ),
    expect: { page: good },
  },
  'has a header with a zero byte': { answer: rawText(`${head}x-a: b\0c\r\n\r\n${page}`), expect: unreachable },
  'folds a header': { answer: rawText(`${head}x-a: b\r\n c\r\n\r\n${page}`), expect: unreachable },
  'says 100 and 103 for ever': {
    answer: raw((socket) => pour(socket, socket, 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n')),
    expect: { refused: ['page_timeout', 'page_unreachable'] },
    asked: slow,
  },
  'changes the protocol unasked': {
    answer: rawText('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nrest'),
    expect: unreachable,
  },
  'has a page after a push of hints': {
    answer: rawText(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${head}content-length: 18\r\n\r\n${page}`),
    expect: { page: good },
  },
  'is a good page': {
    answer: html('<h1>Good</h1><p>A page that is like no other.</p>'),
    expect: { page: /like no other/ },
  },
};
