import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

/** A local site whose pages misbehave, each in its own way; `asked` counts by path. */
export interface AwkwardSite {
  url: string;
  /** For `fetch.allow_private`. */
  place: string;
  asked: Map<string, number>;
  /** Headers of the last request, by path. */
  told: Map<string, Record<string, unknown>>;
}

/** One page. */
export type Answer = (response: ServerResponse, url: URL) => void;

const html =
  (body: string, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers });
    response.end(body);
  };

export const article = `<!doctype html><html lang="en"><head><title>An article</title><meta name="description" content="About it">
<meta property="og:image" content="https://img.example/1.png"></head><body><nav><a href="/elsewhere">Elsewhere</a></nav>
<main><article><h1>An article</h1><p>It has <b>words</b>, and a <a href="next">link</a> to what comes after it.</p>
<p>A second paragraph follows the first one, as is the custom of articles, and says somewhat less.</p></article></main>
<footer>Imprint</footer></body></html>`;

const pages: Record<string, Answer> = {
  '/article': html(article, { etag: '"1"' }),
  '/404': (response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not here</h1>'),
  '/500': (response) => response.writeHead(500, { 'content-type': 'text/plain' }).end('broken'),
  '/teapot': (response) => response.writeHead(418).end(),
  '/empty': html(''),
  '/script-only': html('<html><body><div id="root"></div><script>render()</script></body></html>'),
  '/picture': (response) =>
    response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([137, 80, 78, 71, 0])),
  '/json': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":1}'),
  '/text': (response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('plain <b>'),
  '/large': html(`<p>start</p>${'<p>large</p>'.repeat(300_000)}`),
  '/loop': (response) => response.writeHead(302, { location: '/loop' }).end(),
  '/moved': (response) => response.writeHead(301, { location: '/article' }).end(),
  '/to': (response, url) => {
    // Headers are bytes: node writes what fits into Latin-1 alone.
    const location = Buffer.from(url.searchParams.get('url') ?? '').toString('latin1');
    response.writeHead(302, { location }).end();
  },
  '/silent': () => undefined,
  '/half': (response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': '1000' });
    response.write('<p>half', () => response.destroy());
  },
  '/drip': (response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    const drip = setInterval(() => response.write('.'), 20);
    response.on('close', () => clearInterval(drip));
  },
  '/endless': (response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    pour(response, response);
  },
  '/gzip': (response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' });
    response.end(gzipSync('<p>packed</p>'));
  },
  '/not-gzip': html('<p>x</p>', { 'content-encoding': 'gzip' }),
  '/not-pdf': (response) => response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF-1.4 nothing else'),
};

function pour(into: NodeJS.WritableStream, response: ServerResponse): void {
  const block = Buffer.alloc(64 * 1024, 'endless ');
  const more = () => {
    while (!response.destroyed && into.write(block));
    if (!response.destroyed) into.once('drain', more);
  };
  into.on('error', () => undefined);
  response.on('error', () => undefined);
  more();
}

export async function startAwkwardSite(
  t: { after(end: () => void): void },
  further: Record<string, Answer> = {},
): Promise<AwkwardSite> {
  const asked = new Map<string, number>();
  const told = new Map<string, Record<string, unknown>>();
  const listener: RequestListener = (request, response) => {
    const url = new URL(request.url!, 'http://site');
    asked.set(url.pathname, (asked.get(url.pathname) ?? 0) + 1);
    told.set(url.pathname, request.headers);
    const answer = further[url.pathname] ?? pages[url.pathname];
    if (answer === undefined) response.writeHead(404).end();
    else answer(response, url);
  };
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, place: `127.0.0.1:${port}`, asked, told };
}
