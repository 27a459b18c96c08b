import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Behaviours, html, pour, rawText } from './behaviour.ts';

const to =
  (location: string, status = 302) =>
  (response: ServerResponse) =>
    void response.writeHead(status, { location }).end();

/** The same path with a number that counts. */
function chain(length: number) {
  return (response: ServerResponse, request: IncomingMessage) => {
    const url = new URL(request.url ?? '/', 'http://site');
    const at = Number(url.searchParams.get('at') ?? 0);
    if (at < length) to(`${url.pathname}?at=${at + 1}`)(response);
    else html('<p>at its end</p>')(response, request);
  };
}

const blocked = { refused: 'url_blocked' } as const;
const tooMany = { refused: 'page_redirects' } as const;

/** Pages that lead away, and answers that are not pages. */
export const redirects: Behaviours = {
  'redirects to itself': { answer: to(''), expect: tooMany },
  'redirects five times': { answer: chain(5), expect: { page: /at its end/ } },
  'redirects six times': { answer: chain(6), expect: tooMany },
  'redirects for ever': { answer: chain(Number.POSITIVE_INFINITY), expect: tooMany },
  'redirects to a file': { answer: to('file:///etc/passwd'), expect: blocked },
  'redirects to a script': { answer: to('javascript:alert(1)'), expect: blocked },
  'redirects to data': { answer: to('data:text/html,<p>x</p>'), expect: blocked },
  'redirects to gopher': { answer: to('gopher://127.0.0.1:70/_x'), expect: blocked },
  'redirects to the metadata of a cloud': { answer: to('http://169.254.169.254/latest/meta-data/'), expect: blocked },
  'redirects to another port of this machine': { answer: to('http://127.0.0.1:1/'), expect: blocked },
  'redirects to this machine by name': { answer: to('http://localhost/'), expect: blocked },
  'redirects with a user and password': {
    answer: (response, request) => to(`http://a:b@${request.headers.host}/is-a-good-page`)(response),
    expect: blocked,
  },
  'redirects to what is no URL': { answer: to('http://[::'), expect: blocked },
  'redirects to a URL of 10 KB': { answer: to(`/${'a'.repeat(10_000)}`), expect: blocked },
  'redirects nowhere': {
    answer: (response) => void response.writeHead(302, { 'content-type': 'text/plain' }).end('somewhere'),
    expect: { page: /somewhere/, status: 302 },
  },
  'redirects to two places': {
    answer: rawText('HTTP/1.1 302 Found\r\nlocation: /is-a-good-page\r\nlocation: http://127.0.0.1:1/\r\n\r\n'),
    expect: { page: /like no other/ },
  },
  'redirects with bytes that are no ASCII': {
    answer: rawText(Buffer.from('HTTP/1.1 302 Found\r\nlocation: /caf\xe9\r\ncontent-length: 0\r\n\r\n', 'latin1')),
    expect: { page: /^$/, status: 404 },
  },
  'redirects, and never stops saying so': {
    answer(response) {
      response.writeHead(302, { location: '/is-a-good-page' });
      pour(response, response, 'moved ');
    },
    expect: { page: /like no other/ },
  },
  'redirects by a header that is no redirect': {
    answer: html('<p>still here</p>', { refresh: '0; url=http://127.0.0.1:1/' }),
    expect: { page: /still here/ },
  },
  'redirects by a meta element, to itself': {
    answer: html('<meta http-equiv="refresh" content="0; url="><p>still here</p>'),
    expect: { page: /still here/ },
  },
  'offers a choice': {
    answer: (response) => void response.writeHead(300, { 'content-type': 'text/plain' }).end('choose'),
    expect: { page: /choose/, status: 300 },
  },
  'says that nothing has changed, unasked': {
    answer: (response) => void response.writeHead(304).end(),
    expect: { page: /^$/, status: 304 },
  },
  'has no content': { answer: (response) => void response.writeHead(204).end(), expect: { page: /^$/, status: 204 } },
  'has a part of its content': {
    answer: (response) =>
      void response.writeHead(206, { 'content-type': 'text/html', 'content-range': 'bytes 0-9/100' }).end('<p>a part'),
    expect: { page: /a part/, status: 206 },
  },
  'wants a password': {
    answer: (response) =>
      void response.writeHead(401, { 'content-type': 'text/html', 'www-authenticate': 'Basic' }).end('<p>who?</p>'),
    expect: { page: /who\?/, status: 401 },
  },
  'is gone for good': { answer: (response) => void response.writeHead(410).end(), expect: { page: /^$/, status: 410 } },
  'has had enough of us': {
    answer: (response) =>
      void response.writeHead(429, { 'content-type': 'text/plain', 'retry-after': '3600' }).end('enough'),
    expect: { page: /enough/, status: 429 },
  },
  'is broken within': {
    answer: (response) => void response.writeHead(500, { 'content-type': 'text/html' }).end('<pre>at main.c:1</pre>'),
    expect: { page: /at main/, status: 500 },
  },
  'is down': {
    answer: (response) => void response.writeHead(503, { 'retry-after': 'soon' }).end(),
    expect: { page: /^$/, status: 503 },
  },
};
