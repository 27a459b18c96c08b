import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { after, test } from 'node:test';
import { type Address, createFetchGuard, type ResolveAddresses } from './fetch-guard.ts';
import { startGuardedProxy } from './guarded-proxy.ts';
import type { ProxyBounds, ProxyPass } from './proxy-pass.ts';

const servers: { close(): unknown }[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, place: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` };
}

interface World {
  allow?: readonly string[];
  ports?: readonly number[];
  resolve?: ResolveAddresses;
  bytesMax?: number;
  requestsMax?: number;
}

async function proxied(world: World = {}) {
  const { allow = [], ports = [80, 443], resolve = async () => Promise.reject(new Error('ENOTFOUND')) } = world;
  const guard = createFetchGuard({ ports, allow_private: allow }, resolve);
  const proxy = await startGuardedProxy();
  after(() => proxy.close());
  const open = (bounds: ProxyBounds) => proxy.open(bounds, guard);
  const pass = open({ bytesMax: world.bytesMax ?? 1_000_000, requestsMax: world.requestsMax ?? 100 });
  const { port } = new URL(proxy.url);
  const authorization = (of: Pick<ProxyPass, 'user' | 'password'>) =>
    `Basic ${Buffer.from(`${of.user}:${of.password}`).toString('base64')}`;

  /** Status and body; null when the connection was closed without an answer. */
  function get(url: string, as: Pick<ProxyPass, 'user' | 'password'> | null = pass, headers = {}) {
    return new Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> } | null>((resolve) => {
      const sent = as === null ? headers : { ...headers, 'proxy-authorization': authorization(as) };
      const request = httpRequest({ host: '127.0.0.1', port, path: url, headers: sent, agent: false });
      request.on('error', () => resolve(null));
      request.on('response', (response) => {
        let body = '';
        response.setEncoding('latin1').on('data', (text: string) => {
          body += text;
        });
        response.on('error', () => resolve(null));
        response.on('end', () => resolve({ status: response.statusCode!, body, headers: response.headers }));
      });
      request.end();
    });
  }

  /** Everything that came through a tunnel in which `first` was sent. */
  function tunnel(to: string, first: Buffer, as: Pick<ProxyPass, 'user' | 'password'> | null = pass) {
    return new Promise<string>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1');
      let came = '';
      let sent = false;
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(came));
      socket.on('data', (data) => {
        came += data.toString('latin1');
        if (sent || !came.startsWith('HTTP/1.1 200')) return;
        sent = true;
        socket.write(first);
      });
      const secret = as === null ? '' : `proxy-authorization: ${authorization(as)}\r\n`;
      socket.write(`CONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\n${secret}\r\n`);
    });
  }

  return { open, pass, get, tunnel };
}

const tlsHello = Buffer.from([0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5]);

/** Answers with what it got, and ends. */
async function echo() {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.once('data', (data) => socket.end(data));
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, place: `127.0.0.1:${port}`, connections: () => connections };
}

test('a page comes through, with its status, without what is between us and the browser', async () => {
  const reported: unknown[] = [];
  const site = await serve((request, response) => {
    reported.push(request.headers['proxy-authorization'], request.headers.host, request.headers['x-own'], request.url);
    response.writeHead(404, { 'x-its': 'own', 'content-type': 'text/plain' }).end('not there');
  });
  const { get } = await proxied({ allow: [site.place] });
  const answer = await get(`${site.url}/a?b=c`, undefined, { 'x-own': '1', host: 'elsewhere.example' });
  assert.equal(answer?.status, 404);
  assert.equal(answer.body, 'not there');
  assert.equal(answer.headers['x-its'], 'own');
  assert.deepEqual(reported, [undefined, site.place, '1', '/a?b=c']);
});

test('nobody without the password of a page that is open gets anything', async () => {
  const site = await serve((_request, response) => response.end('secret'));
  const { open, pass, get, tunnel } = await proxied({ allow: [site.place] });
  assert.equal((await get(site.url, null))?.status, 407);
  assert.equal((await get(site.url, { user: pass.user, password: 'x' }))?.status, 407);
  assert.equal((await get(site.url, { user: 'x', password: pass.password }))?.status, 407);
  assert.match(await tunnel(site.place, tlsHello, null), /^HTTP\/1\.1 407/);
  const other = open({ bytesMax: 1_000, requestsMax: 10 });
  assert.equal((await get(site.url, other))?.body, 'secret');
  other.end();
  assert.equal((await get(site.url, other))?.status, 407, 'the page is over');
});

test('S17 no spelling of a private place is connected to, by a request or a tunnel', async () => {
  let requests = 0;
  const site = await serve((_request, response) => response.end(String(++requests)));
  const { pass, get, tunnel } = await proxied({ ports: [site.port, 80, 443] });
  for (const host of [
    '127.0.0.1',
    '169.254.169.254',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::1]',
    '[::]',
    '0x7f.1',
    '2130706433',
    '0',
    'localhost',
    'localhost.',
    'x.localhost',
    'printer.local',
    'metadata.google.internal',
    '10.0.0.1',
    '100.64.0.1',
    '[fd00::1]',
    '168.63.129.16',
    'user:pass@127.0.0.1',
  ]) {
    assert.equal(await get(`http://${host}:${site.port}/`), null, host);
    assert.match(await tunnel(`${host}:${site.port}`, tlsHello), /^HTTP\/1\.1 (?:403|400)|^$/, host);
  }
  assert.equal(requests, 0);
  assert.equal(pass.refusalAt(new URL(`http://127.0.0.1:${site.port}/`))?.reason, 'blocked');
  for (const url of ['ftp://example.org/', 'file:///etc/passwd', 'https://example.org/', '/etc/passwd']) {
    assert.equal(await get(url), null, url);
  }
  assert.match(await tunnel('example.org:22', tlsHello), /^HTTP\/1\.1 403/, 'a port that is shut');
});

test('F27 a name is looked up once for each request, and what was checked is what is connected to', async () => {
  let requests = 0;
  const site = await serve((_request, response) => response.end(String(++requests)));
  const answers: (readonly Address[])[] = [
    // First it resolves to the public Internet (nobody answers there), then, with a TTL of 0, to this machine.
    [{ address: '192.0.2.1', family: 4 }],
    [{ address: '127.0.0.1', family: 4 }],
    [
      { address: '8.8.8.8', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ],
    [{ address: '::ffff:127.0.0.1', family: 6 }],
  ];
  let lookups = 0;
  const resolve = async () => answers[lookups++]!;
  const { get, tunnel } = await proxied({ ports: [site.port], resolve });
  for (let i = 0; i < answers.length; i++) assert.equal(await get(`http://rebind.example:${site.port}/`), null);
  assert.equal(lookups, answers.length);
  lookups = 0;
  for (let i = 0; i < answers.length; i++) {
    assert.match(await tunnel(`rebind.example:${site.port}`, tlsHello), /^HTTP\/1\.1 403/);
  }
  assert.equal(requests, 0);
});

test('F27 what is let through is connected to by the address that was checked', async () => {
  const site = await serve((request, response) => response.end(request.headers.host));
  let lookups = 0;
  const resolve: ResolveAddresses = async () => (lookups++ === 0 ? [{ address: '127.0.0.1', family: 4 }] : []);
  const { get } = await proxied({ allow: ['127.0.0.0/8'], ports: [site.port], resolve });
  assert.equal((await get(`http://here.example:${site.port}/`))?.body, `here.example:${site.port}`);
  assert.equal(lookups, 1, 'a second look could have another answer');
});

test('through a tunnel goes TLS and nothing else, so that no ws: does', async () => {
  const place = await echo();
  const { tunnel } = await proxied({ allow: [place.place] });
  assert.equal(
    (await tunnel(place.place, tlsHello)).split('\r\n\r\n')[1],
    tlsHello.toString('latin1'),
    'what came whole is given whole',
  );
  const plain = await tunnel(place.place, Buffer.from('GET / HTTP/1.1\r\nupgrade: websocket\r\n\r\n'));
  assert.equal(plain, 'HTTP/1.1 200 Connection established\r\n\r\n');
});

test('a page that takes more bytes than it may is cut off, with all that it had open', async () => {
  const site = await serve((request, response) => {
    if (request.url === '/large') response.end('x'.repeat(200_000));
    else if (request.url === '/small') response.end('small');
  });
  const { pass, get } = await proxied({ allow: [site.place], bytesMax: 100_000 });
  assert.equal((await get(`${site.url}/small`))?.body, 'small');
  const waiting = get(`${site.url}/never`);
  assert.equal(await get(`${site.url}/large`), null);
  assert.equal(pass.ended(), 'bytes');
  assert.equal(await waiting, null);
  assert.equal((await get(`${site.url}/small`))?.status, 407);
});

test('a page that asks too often is cut off', async () => {
  const site = await serve((_request, response) => response.end('x'));
  const { pass, get } = await proxied({ allow: [site.place], requestsMax: 3 });
  for (let i = 0; i < 3; i++) assert.equal((await get(site.url))?.body, 'x');
  assert.equal(await get(site.url), null);
  assert.equal(pass.ended(), 'requests');
});

test('a server that breaks off breaks one answer, and the next comes', async () => {
  const site = await serve((request, response) => {
    if (request.url === '/half') {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half', () => response.destroy());
    } else if (request.url === '/none') request.socket.destroy();
    else response.end('well');
  });
  const { get } = await proxied({ allow: [site.place] });
  assert.equal(await get(`${site.url}/half`), null);
  assert.equal(await get(`${site.url}/none`), null);
  assert.equal((await get(site.url))?.body, 'well');
});
