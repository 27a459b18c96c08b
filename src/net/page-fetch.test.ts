import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { createHostTurns } from './host-turns.ts';
import { createPageFetcher, type PageFetch } from './page-fetch.ts';

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.closeAllConnections();
  for (const server of servers) server.close();
});

async function serve(listener: RequestListener): Promise<{ url: string; place: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${place}/`, place };
}

function fetcherFor(places: readonly string[], parts: { contact?: string; waitingMax?: number } = {}) {
  const nowMs = () => performance.now();
  return createPageFetcher({
    rules: () => ({ ports: [80], allow_private: places }),
    resolve: async () => [],
    turns: createHostTurns({ atOnceMax: 1, waitingMax: parts.waitingMax ?? 10, hostsMax: 10, nowMs }),
    nowMs,
    version: '9',
    contact: () => parts.contact,
  });
}

const order = (url: string, options: Partial<PageFetch> = {}): PageFetch => ({
  tenant: 'a',
  url,
  accept: '*/*',
  headers: {},
  mobile: false,
  bytesMax: { page: 10, pdf: 20 },
  timeoutMs: 60_000,
  delayMs: 0,
  signal: new AbortController().signal,
  ...options,
});

test('a page is asked under our name, with a place to complain to', async () => {
  const sent: (string | undefined)[] = [];
  const { url, place } = await serve(({ headers }, response) => {
    sent.push(headers['user-agent']);
    response.end();
  });
  await fetcherFor([place]).fetch(order(url));
  const known = fetcherFor([place], { contact: 'https://ai.example.org' });
  await known.fetch(order(url, { mobile: true }));
  await known.fetch(order(url, { headers: { 'user-agent': 'mine' } }));
  assert.equal(sent[0], 'Culvert/9');
  assert.match(sent[1]!, /Mobile Culvert\/9 \(\+https:\/\/ai\.example\.org\)$/);
  assert.equal(sent[2], 'mine');
});

test('credentials of the caller are not shown to where a page redirects', async () => {
  const sent: IncomingHttpHeaders[] = [];
  const other = await serve(({ headers }, response) => {
    sent.push(headers);
    response.end('there');
  });
  const first = await serve(({ headers, url }, response) => {
    sent.push(headers);
    response.writeHead(302, { location: url === '/' ? '/same' : other.url }).end();
  });
  const headers = { cookie: 'a=b', authorization: 'Bearer x', referer: 'https://r.example/', 'accept-language': 'de' };
  await fetcherFor([first.place, other.place]).fetch(order(first.url, { headers }));
  assert.deepEqual(
    sent.map(({ cookie, authorization, referer }) => [cookie, authorization, referer]),
    [
      ['a=b', 'Bearer x', 'https://r.example/'],
      ['a=b', 'Bearer x', 'https://r.example/'],
      [undefined, undefined, undefined],
    ],
  );
  assert.equal(sent[2]!['accept-language'], 'de');
});

test('S18 pages are cut at their bound, PDFs at theirs', async () => {
  const { url, place } = await serve((request, response) => {
    response.writeHead(200, { 'content-type': request.url === '/pdf' ? 'application/pdf' : 'text/html' });
    response.end('x'.repeat(100));
  });
  const fetcher = fetcherFor([place]);
  const [page, pdf] = [await fetcher.fetch(order(url)), await fetcher.fetch(order(`${url}pdf`))];
  assert.ok(page.ok && page.cut && page.body.length === 10);
  assert.ok(pdf.ok && pdf.cut && pdf.body.length === 20);
});

test('a host’s turn is waited for no longer than the page may take, and only so many wait', async () => {
  const requested = Promise.withResolvers<void>();
  const { url, place } = await serve(() => requested.resolve());
  const fetcher = fetcherFor([place], { waitingMax: 1 });
  const leaving = new AbortController();
  const running = fetcher.fetch(order(url, { signal: leaving.signal }));
  await requested.promise;
  const waiting = fetcher.fetch(order(url, { timeoutMs: 50 }));
  const refused = await fetcher.fetch(order(url));
  assert.equal(refused.ok || refused.reason, 'busy');
  const late = await waiting;
  assert.equal(late.ok || late.reason, 'timeout');
  leaving.abort();
  const gone = await running;
  assert.equal(gone.ok || gone.reason, 'aborted');
});
