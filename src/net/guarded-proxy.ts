import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type Duplex, Transform } from 'node:stream';
import { createServer, request as httpRequest } from '../kernel/web/node-http.ts';
import { checkedLookup } from './checked-lookup.ts';
import { type FetchGuard, type GuardVerdict, portOf } from './fetch-guard.ts';
import { headerBytesMax } from './guarded-fetch.ts';
import { createProxyPass, type ProxyBounds, type ProxyPass } from './proxy-pass.ts';

/**
 * A forward proxy on loopback for our browser. All requests of its pages (documents, scripts, frames, redirects) go
 * through here and meet the same guard as `guardedFetch` (S17, F27). Nobody else on the machine can use it: each pass
 * has its own password.
 */
export type GuardedProxy = Awaited<ReturnType<typeof startGuardedProxy>>;

const connectionsMax = 256;
const connectTimeoutMs = 10_000;
const urlCharsMax = 8_192;
/** A TLS handshake record (RFC 8446 §5.1): nothing else goes through a tunnel, so that `ws:` does not. */
const tlsHandshake = 0x16;
/** Headers of one connection, or of the proxy itself (RFC 9110 §7.6.1). */
const proxyHeaders = new Set(
  (
    'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer ' +
    'transfer-encoding upgrade'
  ).split(' '),
);

export async function startGuardedProxy() {
  const passes: Passes = new Map();
  const server = createServer({ maxHeaderSize: headerBytesMax, requestTimeout: 0 });
  server.maxConnections = connectionsMax;
  // A failure breaks one connection only.
  server.on('request', (request, response) => forward(passes, request, response).catch(() => request.socket.destroy()));
  server.on('connect', (request, socket, head) => tunnel(passes, request, socket, head).catch(() => socket.destroy()));
  server.on('upgrade', (_request, socket) => socket.destroy());
  server.on('clientError', (_error, socket) => socket.destroy());

  // Workers of one server would share the port otherwise.
  server.listen({ port: 0, host: '127.0.0.1', exclusive: true });
  await once(server, 'listening');
  // It keeps no process alive: its users do.
  server.unref();
  const { port } = server.address() as AddressInfo;

  return {
    /** `http://127.0.0.1:…` */
    url: `http://127.0.0.1:${port}`,
    /** Lets one page through, until `end`, wherever `guard` lets it go. */
    open(bounds: ProxyBounds, guard: FetchGuard): ProxyPass {
      const user = randomBytes(12).toString('hex');
      const password = randomBytes(24).toString('hex');
      const pass = createProxyPass(bounds, { user, password }, () => passes.delete(user));
      passes.set(user, { password: Buffer.from(password, 'latin1'), pass, guard });
      return pass;
    },
    async close(): Promise<void> {
      for (const { pass } of [...passes.values()]) pass.end();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Admitted {
  pass: ProxyPass;
  guard: FetchGuard;
}

/** By user. */
type Passes = Map<string, Admitted & { password: Buffer }>;

interface Checked {
  url: URL;
  addresses: (GuardVerdict & { ok: true })['addresses'];
  guard: FetchGuard;
}

/** Null: it has no pass, or one that has ended. */
function admitted(passes: Passes, { headers }: IncomingMessage): Admitted | null {
  const credentials = /^Basic ([\w+/=-]{1,400})$/i.exec(headers['proxy-authorization'] ?? '')?.[1] ?? '';
  const text = Buffer.from(credentials, 'base64').toString('latin1');
  const colon = text.indexOf(':');
  const known = passes.get(text.slice(0, colon));
  const password = Buffer.from(text.slice(colon + 1), 'latin1');
  if (known === undefined || password.length !== known.password.length) return null;
  return timingSafeEqual(password, known.password) && !known.pass.ended() ? known : null;
}

/** Null: the pass has the refusal already. */
async function checked({ pass, guard }: Admitted, text: string): Promise<Checked | null> {
  const url = text.length > urlCharsMax ? null : URL.parse(text);
  if (url === null || !pass.begin()) return null;
  const verdict = await guard.check(url);
  if (verdict.ok) return pass.ended() ? null : { url, addresses: verdict.addresses, guard };
  pass.refused(url, verdict);
  return null;
}

/** A request without TLS. */
async function forward(passes: Passes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const one = admitted(passes, request);
  if (one === null) {
    response.writeHead(407, { 'proxy-authenticate': 'Basic realm="culvert"', 'content-length': '0' }).end();
    return;
  }
  const { pass } = one;
  pass.holds(request.socket);
  const { url: target = '' } = request;
  const place = /^http:/i.test(target) ? await checked(one, target) : null;
  // A page that is refused gets no answer of ours, which it would take for its server's.
  if (place === null) return void request.socket.destroy();
  const { url } = place;
  const upstream = httpRequest({
    host: bareHost(url),
    port: portOf(url),
    path: url.pathname + url.search,
    method: request.method ?? 'GET',
    // A new socket: one that is kept could have been connected for another check.
    agent: false,
    maxHeaderSize: headerBytesMax,
    lookup: checkedLookup(place.addresses),
    headers: ['host', url.host, ...passedOn(request.rawHeaders, 'host'), 'connection', 'close'],
  });
  upstream.on('socket', (socket) => watch(pass, place, socket));
  upstream.on('error', () => request.socket.destroy());
  upstream.on('response', (answer) => {
    answer.on('error', () => response.destroy());
    try {
      response.writeHead(answer.statusCode ?? 502, passedOn(answer.rawHeaders));
    } catch {
      // A head that node cannot write.
      return void response.destroy();
    }
    answer.on('aborted', () => response.destroy());
    answer.pipe(counted(pass)).pipe(response);
  });
  response.on('close', () => upstream.destroy());
  request.pipe(counted(pass)).pipe(upstream);
}

/** `CONNECT`: to a checked address, and TLS alone. */
async function tunnel(passes: Passes, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  socket.on('error', () => socket.destroy());
  const one = admitted(passes, request);
  if (one === null) {
    socket.end(
      'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="culvert"\r\ncontent-length: 0\r\n\r\n',
    );
    return;
  }
  const { pass } = one;
  pass.holds(socket);
  const place = await checked(one, `https://${request.url}/`);
  if (place === null) return void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
  const { url } = place;
  const upstream = connect({ host: bareHost(url), port: portOf(url), lookup: checkedLookup(place.addresses) });
  watch(pass, place, upstream);
  upstream.on('error', () => socket.destroy());
  upstream.on('close', () => {
    // The last bytes are still on their way to the browser.
    if (!upstream.readableEnded) socket.destroy();
  });
  socket.on('close', () => upstream.destroy());
  upstream.once('connect', () => {
    if (upstream.destroyed) return;
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) socket.unshift(head);
    socket.once('data', (first: Buffer) => {
      if (first[0] !== tlsHandshake) return void socket.destroy();
      socket.pause();
      socket.unshift(first);
      socket.pipe(counted(pass)).pipe(upstream);
      upstream.pipe(counted(pass)).pipe(socket);
    });
  });
}

/** The connection is the pass's, goes to a checked address or nowhere, and is given up when nothing comes of it. */
function watch(pass: ProxyPass, { url, guard }: Checked, socket: Socket): void {
  pass.holds(socket);
  const timer = setTimeout(() => socket.destroy(), connectTimeoutMs);
  socket.once('close', () => clearTimeout(timer));
  // Before the listeners of writers.
  socket.prependOnceListener('connect', () => {
    clearTimeout(timer);
    const { remoteAddress } = socket;
    if (remoteAddress !== undefined && guard.allows(url, remoteAddress)) return;
    pass.refused(url, { ok: false, reason: 'blocked', message: 'its address is not on the public Internet' });
    socket.destroy();
  });
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Flat, name before value; `but`: one that stays here too. */
function passedOn(raw: readonly string[], but = ''): string[] {
  const forwarded: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2);
    if (name.toLowerCase() === but || proxyHeaders.has(name.toLowerCase())) continue;
    forwarded.push(name, value);
  }
  return forwarded;
}

/** Passing bytes are counted. Above the bound the pass ends itself and everything it holds. */
function counted(pass: ProxyPass): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (pass.spend(chunk.length)) done(null, chunk);
      else done();
    },
  });
}
