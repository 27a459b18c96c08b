import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { brotliCompressSync, createGzip, deflateRawSync, gzipSync } from 'node:zlib';
import { type Address, createFetchGuard } from './fetch-guard.ts';
import { type Fetched, guardedFetch } from './guarded-fetch.ts';

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.closeAllConnections();
  for (const server of servers) server.close();
});

async function serve(listener: RequestListener): Promise<{ port: number; place: string; url: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, place: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/` };
}

interface FetchOptions {
  allow?: readonly string[];
  ports?: readonly number[];
  resolve?: (hostname: string) => Promise<readonly Address[]>;
  bytesMax?: number;
  timeoutMs?: number;
  signal?: AbortSignal;
  mayFollow?: (url: URL) => Promise<boolean>;
}

const nobody = async (): Promise<readonly Address[]> => Promise.reject(new Error('ENOTFOUND'));

function get(url: string, options: FetchOptions = {}): Promise<Fetched> {
  const {
    allow = [],
    ports = [80, 443],
    resolve = nobody,
    bytesMax = 100_000,
    timeoutMs = 5_000,
    signal,
    mayFollow = null,
  } = options;
  const guard = createFetchGuard({ ports, allow_private: allow }, resolve);
  return guardedFetch(url, { guard, bytesMax, timeoutMs, accept: '*/*', mayFollow, ...(signal && { signal }) });
}

/** As servers that take RFC 9110's deflate for the bare format of RFC 1951, and pack only for who takes it. */
function answerDeflated({ headers }: IncomingMessage, response: ServerResponse): void {
  if (!/deflate/.test(headers['accept-encoding'] ?? '')) return void response.end('not packed');
  response.writeHead(200, { 'content-encoding': 'deflate' }).end(deflateRawSync('packed'));
}

const reasonOf = (fetched: Fetched) => (fetched.ok ? 'ok' : fetched.reason);

test('a page is fetched with its type and status, packed or not', async () => {
  const { url, place } = await serve((request, response) => {
    if (request.url === '/gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('packed'));
    else if (request.url === '/br') response.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync('br'));
    else if (request.url === '/deflate') answerDeflated(request, response);
    else if (request.url === '/zip') response.writeHead(200, { 'content-encoding': 'zip' }).end('x');
    else if (request.url === '/broken') response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip');
    else response.writeHead(404, { 'content-type': 'image/png' }).end('plain');
  });
  const allow = [place];
  const body = Buffer.from('plain');
  const unknown = { cut: false, etag: null, lastModified: null };
  const page = { ok: true, status: 404, url, contentType: 'image/png', body, ...unknown };
  assert.deepEqual(await get(url, { allow }), page);
  for (const [path, text] of [
    ['gzip', 'packed'],
    ['br', 'br'],
    ['deflate', 'not packed'],
  ] as const) {
    const fetched = await get(url + path, { allow });
    assert.equal(fetched.ok && fetched.body.toString(), text);
  }
  assert.equal(reasonOf(await get(`${url}zip`, { allow })), 'broken');
  assert.equal(reasonOf(await get(`${url}broken`, { allow })), 'broken');
});

test('S17 nothing is asked of a private place, also not behind a redirect', async () => {
  let requests = 0;
  const inner = await serve((_, response) => {
    requests++;
    response.end('secret');
  });
  const outer = await serve((request, response) => {
    const to = new URL(request.url!, 'http://x').searchParams.get('to')!;
    response.writeHead(302, { location: to }).end();
  });
  assert.equal(reasonOf(await get(inner.url)), 'blocked');
  const allow = [outer.place];
  for (const to of [inner.url, `http://0x7f.1:${inner.port}/`, 'file:///etc/passwd', `//localhost:${inner.port}/`]) {
    assert.equal(reasonOf(await get(`${outer.url}?to=${encodeURIComponent(to)}`, { allow })), 'blocked', to);
  }
  assert.equal(requests, 0);
  // The same way with the second place excepted too.
  const both = await get(`${outer.url}?to=${encodeURIComponent(inner.url)}`, { allow: [...allow, inner.place] });
  assert.equal(both.ok && both.body.toString(), 'secret');
});

test('S17 F27 a name that moves from a public to a private address is refused, whenever it moves', async () => {
  let requests = 0;
  const { port } = await serve((_, response) => {
    requests++;
    response.end('secret');
  });
  const answers = ['93.184.215.14', '127.0.0.1'];
  let queries = 0;
  const resolve = async (): Promise<readonly Address[]> => [{ address: answers[queries++]!, family: 4 }];
  const guard = createFetchGuard({ ports: [port], allow_private: [] }, resolve);
  const url = new URL(`http://rebinding.example:${port}/`);
  assert.equal((await guard.check(url)).ok, true);
  assert.equal((await guard.check(url)).ok, false);
  assert.equal(queries, 2, 'no answer is remembered between two checks');

  // The connection goes to the checked address: the name is resolved once per hop, and its second answer is never used.
  const hops = ['127.0.0.2', '127.0.0.1'];
  queries = 0;
  const moving = async (): Promise<readonly Address[]> => [{ address: hops[queries++]!, family: 4 }];
  const moved = await get(url.href, { ports: [port], allow: ['127.0.0.2'], resolve: moving });
  assert.equal(reasonOf(moved), 'unreachable');
  assert.equal(queries, 1);
  assert.equal(requests, 0);
});

test('S17 the address that a socket ends up at is checked as well', async () => {
  let requests = 0;
  const { port } = await serve((_, response) => {
    requests++;
    response.end('secret');
  });
  const honest = createFetchGuard({ ports: [port], allow_private: [] }, nobody);
  // A guard whose first look is fooled.
  const fooled = {
    allows: honest.allows,
    check: async () => ({ ok: true as const, addresses: [{ address: '127.0.0.1', family: 4 as const }] }),
  };
  const url = `http://fooled.example:${port}/`;
  const fetched = await guardedFetch(url, { guard: fooled, bytesMax: 100, timeoutMs: 2_000, accept: '*/*' });
  assert.equal(reasonOf(fetched), 'blocked');
  assert.equal(requests, 0);
});

test('S18 ten thousand redirects: five are followed', async () => {
  let requests = 0;
  const { url, place } = await serve((_, response) => {
    requests++;
    response.writeHead(302, { location: `/${requests}` }).end();
  });
  assert.equal(reasonOf(await get(url, { allow: [place] })), 'redirects');
  assert.equal(requests, 6);
});

test('S18 an endless body, a promised giant and a bomb are cut at the cap', async () => {
  const { url, place } = await serve((request, response) => {
    if (request.url === '/promised') {
      response.writeHead(200, { 'content-length': '10000000000' });
      response.write('x');
      return;
    }
    const packed = request.url === '/bomb' ? createGzip() : null;
    response.writeHead(200, packed === null ? {} : { 'content-encoding': 'gzip' });
    packed?.pipe(response);
    const into = packed ?? response;
    const block = Buffer.alloc(64 * 1024);
    const more = () => {
      while (!response.destroyed && into.write(block));
      if (!response.destroyed) into.once('drain', more);
    };
    more();
  });
  for (const path of ['', 'promised', 'bomb']) {
    assert.equal(reasonOf(await get(url + path, { allow: [place], bytesMax: 1_000_000 })), 'too-large', path);
  }
});

test('S18 a slow drip, a server that never answers and a name server that hangs end at the time cap', async () => {
  const { url, place, port } = await serve((request, response) => {
    if (request.url === '/silent') return;
    response.write('x');
    const drip = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(drip));
  });
  const allow = [place];
  assert.equal(reasonOf(await get(url, { allow, timeoutMs: 150 })), 'timeout');
  assert.equal(reasonOf(await get(`${url}silent`, { allow, timeoutMs: 150 })), 'timeout');
  const hanging = () => new Promise<never>(() => undefined);
  assert.equal(reasonOf(await get('http://hangs.example/', { resolve: hanging, timeoutMs: 50 })), 'timeout');
  assert.equal(reasonOf(await get(`http://gone.example:${port}/`, { ports: [port] })), 'unreachable');
});

test('a redirect is followed only where whoever asks allows it, and is not waited for longer than the rest', async () => {
  const requests: string[] = [];
  const { url, place } = await serve((request, response) => {
    requests.push(request.url!);
    if (request.url === '/') response.writeHead(302, { location: '/next' }).end();
    else response.end('here');
  });
  const allow = [place];
  assert.equal(reasonOf(await get(url, { allow, mayFollow: async () => false })), 'redirects');
  assert.equal(reasonOf(await get(url, { allow, mayFollow: () => new Promise(() => {}), timeoutMs: 100 })), 'timeout');
  assert.deepEqual(requests, ['/', '/']);
  assert.equal(reasonOf(await get(url, { allow, mayFollow: async ({ pathname }) => pathname === '/next' })), 'ok');
});

test('whoever waits may leave', async () => {
  const { url, place } = await serve(() => undefined);
  const leaving = new AbortController();
  const fetched = get(url, { allow: [place], signal: leaving.signal });
  await wait(20);
  leaving.abort();
  assert.equal(reasonOf(await fetched), 'aborted');
  assert.equal(reasonOf(await get(url, { allow: [place], signal: AbortSignal.abort() })), 'aborted');
});

test('F59 a server that changes the protocol unasked is unreachable, and not waited for', async () => {
  const { url, place } = await serve((request) => {
    request.socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  });
  assert.equal(reasonOf(await get(url, { allow: [place], timeoutMs: 60_000 })), 'unreachable');
});

test('what is no URL, or breaks off, is said plainly', async () => {
  const { url, place } = await serve((request, response) => {
    if (request.url === '/reset') request.socket.resetAndDestroy();
    else {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => request.socket.destroy());
    }
  });
  assert.equal(reasonOf(await get('nonsense')), 'blocked');
  assert.equal(reasonOf(await get(`http://x/${'a'.repeat(9_000)}`)), 'blocked');
  assert.equal(reasonOf(await get(`${url}reset`, { allow: [place] })), 'unreachable');
  assert.equal(reasonOf(await get(url, { allow: [place] })), 'broken');
});

test('cookies of a redirect reach the site that set them, and no other', async () => {
  const told: [string, string | undefined][] = [];
  const server = await serve((request, response) => {
    const { host, cookie } = request.headers;
    const site = host?.replace(/:.*/, '') ?? '';
    told.push([site, cookie]);
    const [next, set] = steps.get(site) ?? ['', []];
    if (next === '') return response.end('done');
    response.writeHead(302, { location: `http://${next}:${server.port}/`, 'set-cookie': set }).end();
  });
  const all = [
    'a=1; Path=/',
    'a=2',
    'b=3; Secure',
    'c=4; Domain=.shop.example',
    'd=5; Domain=example',
    'e=6; Max-Age=0',
  ];
  const steps = new Map<string, [string, string[]]>([
    ['www.shop.example', ['other.example', all]],
    ['other.example', ['pay.shop.example', ['f=7', 'g=8; Domain=shop.example']]],
  ]);
  const resolve = async (): Promise<readonly Address[]> => [{ address: '127.0.0.1', family: 4 }];
  const guard = createFetchGuard({ ports: [server.port], allow_private: ['127.0.0.1'] }, resolve);
  const order = { guard, bytesMax: 100, timeoutMs: 5_000, accept: '*/*', headers: { cookie: 'mine=0' } };
  const fetched = await guardedFetch(`http://www.shop.example:${server.port}/`, order);
  assert.equal(fetched.ok && fetched.body.toString(), 'done');
  assert.deepEqual(told, [
    ['www.shop.example', 'mine=0'],
    ['other.example', undefined],
    ['pay.shop.example', 'c=4'],
  ]);
  // Back at the first one.
  steps.set('other.example', ['www.shop.example', []]);
  steps.set('www.shop.example', ['other.example', all]);
  told.length = 0;
  assert.equal(reasonOf(await guardedFetch(`http://www.shop.example:${server.port}/`, order)), 'redirects');
  assert.deepEqual(told[2], ['www.shop.example', 'mine=0; a=2; c=4']);
});
