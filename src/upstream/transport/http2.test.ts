import assert from 'node:assert/strict';
import { createSecureServer, type Http2Stream, type SecureServerOptions, type ServerHttp2Session } from 'node:http2';
import https from 'node:https';
import type { AddressInfo, LookupFunction, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { send, type Told, testTransport, textOf } from '../../../test/loopback-transport.ts';
import { cert, key } from '../../../test/upstream-certificate.ts';
import type { UpstreamRequest } from './upstream-call.ts';

const route: NonNullable<UpstreamRequest['route']> = {
  id: 'h2',
  proxy: 'off',
  ca: cert,
  cert: undefined,
  key: undefined,
  http2: true,
};

const toLoopback: LookupFunction = (_, { all }, told) =>
  all ? told(null, [{ address: '127.0.0.1', family: 4 }]) : told(null, '127.0.0.1', 4);

interface Answering {
  /** Id of a stream, or null over HTTP/1.1. */
  stream: Http2Stream | null;
  path: string;
  begin(text: string): void;
  end(text: string): void;
}

/** An upstream that offers HTTP/2 and HTTP/1.1, and answers as the test says. */
async function upstream(t: TestContext, answer: (to: Answering) => void, options: SecureServerOptions = {}) {
  const sessions: ServerHttp2Session[] = [];
  const sockets: Socket[] = [];
  const server = createSecureServer({ key, cert, allowHTTP1: true, ...options }, (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const stream = request.httpVersion === '2.0' ? request.stream : null;
      stream?.on('error', () => undefined);
      answer({
        stream,
        path: request.url,
        begin: (text) => void response.write(text),
        end: (text) => void response.end(`${text}${body}`),
      });
    });
  });
  server.on('session', (session) => sessions.push(session));
  server.on('connection', (socket: Socket) => sockets.push(socket));
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  const transport = testTransport(t, { lookup: toLoopback });
  const origin = `https://upstream.test:${(server.address() as AddressInfo).port}`;
  const ask = (path: string, request: Partial<UpstreamRequest> = {}): Told =>
    send(transport, origin, { route, path, body: path, ...request });
  return { ask, sessions, sockets: () => sockets.length, cut: () => sockets[0]!.destroy() };
}

const endAll = (to: Answering) => to.end('whole ');

test('once an origin has answered over HTTP/2, exchanges share the connection', async (t) => {
  const { ask, sockets } = await upstream(t, endAll);
  assert.equal(await ask('/first').end, 'ended');
  const paths = Array.from({ length: 60 }, (_, i) => `/path-${i}`);
  const answers = paths.map((path) => ask(path));
  for (const [i, answer] of answers.entries()) {
    assert.equal(await answer.end, 'ended');
    assert.equal(textOf(answer), `whole ${paths[i]}`);
  }
  assert.equal(sockets(), 1);
});

test('an origin that offers no HTTP/2 is asked by HTTP/1.1', async (t) => {
  const server = https.createServer({ key, cert, ALPNProtocols: ['http/1.1'] }, (request, response) => {
    response.end(request.httpVersion);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const transport = testTransport(t, { lookup: toLoopback });
  const answer = send(transport, `https://upstream.test:${(server.address() as AddressInfo).port}`, { route });
  assert.equal(await answer.end, 'ended');
  assert.equal(textOf(answer), '1.1');
});

test('who aborts resets one stream, and others on the connection go on', async (t) => {
  const left = Promise.withResolvers<void>();
  const open: Answering[] = [];
  const { ask, sockets } = await upstream(t, (to) => {
    if (to.path === '/first') return to.end('');
    to.begin('begun ');
    open.push(to);
    if (to.path === '/left') to.stream?.on('close', left.resolve);
  });
  await ask('/first').end;
  const [gone, stays] = [ask('/left'), ask('/stays')];
  await Promise.all([gone.began, stays.began]);
  gone.call.abort();
  await left.promise;
  open.find(({ path }) => path === '/stays')!.end('done ');
  assert.equal(await stays.end, 'ended');
  assert.equal(textOf(stays), 'begun done /stays');
  assert.equal(gone.ends, 0);
  assert.equal(sockets(), 1);
});

test('a stream that the peer resets is lost alone', async (t) => {
  const { ask, sockets } = await upstream(t, (to) => {
    if (to.path !== '/reset') return to.end('');
    to.begin('half');
    setTimeout(() => to.stream?.close(2), 20);
  });
  await ask('/first').end;
  const [reset, other] = [ask('/reset'), ask('/other')];
  assert.deepEqual(await reset.end, { kind: 'reset', message: 'the stream was reset (HTTP/2)' });
  assert.equal(await other.end, 'ended');
  assert.equal(await ask('/later').end, 'ended');
  assert.equal(sockets(), 1);
});

test('a cut connection fails what had begun on it, and the next exchange opens another', async (t) => {
  const { ask, cut, sockets } = await upstream(t, (to) => (to.path === '/held' ? to.begin('half') : to.end('')));
  await ask('/first').end;
  const held = [ask('/held'), ask('/held')];
  await Promise.all(held.map((one) => one.began));
  cut();
  for (const one of held) assert.equal(((await one.end) as { kind: string }).kind, 'reset');
  assert.equal(await ask('/later').end, 'ended');
  assert.equal(sockets(), 2);
});

test('a connection that takes its leave ends its answers, and takes no new ones', async (t) => {
  const open: Answering[] = [];
  const { ask, sessions, sockets } = await upstream(t, (to) => {
    if (to.path !== '/held') return to.end('');
    to.begin('half ');
    open.push(to);
  });
  await ask('/first').end;
  const held = ask('/held');
  await held.began;
  sessions[0]!.close();
  await new Promise((done) => setTimeout(done, 50));
  assert.equal(await ask('/later').end, 'ended');
  assert.equal(sockets(), 2);
  open[0]!.end('done ');
  assert.equal(await held.end, 'ended');
  assert.equal(textOf(held), 'half done /held');
});

test('what a leaving connection has not begun is asked elsewhere at once, while others on it go on', async (t) => {
  const open: Answering[] = [];
  let refused = 0;
  const { ask, sessions, sockets } = await upstream(t, (to) => {
    if (to.path === '/held') {
      to.begin('half ');
      open.push(to);
    } else if (to.path === '/refused' && sessions.length === 1) {
      refused += 1;
      if (refused === 1) sessions[0]!.goaway(0, open[0]!.stream!.id);
    } else to.end('');
  });
  await ask('/first').end;
  const held = ask('/held');
  await held.began;
  const others = [ask('/refused'), ask('/refused'), ask('/refused')];
  for (const other of others) assert.equal(await other.end, 'ended');
  assert.equal(sockets(), 2);
  open[0]!.end('done ');
  assert.equal(await held.end, 'ended');
  assert.equal(textOf(held), 'half done /held');
});

test('a peer that takes few streams gets more connections, and nobody waits', async (t) => {
  const open: Answering[] = [];
  const { ask, sockets } = await upstream(
    t,
    (to) => {
      if (to.path === '/first') return to.end('');
      to.begin('half ');
      open.push(to);
    },
    { settings: { maxConcurrentStreams: 2 } },
  );
  await ask('/first').end;
  const held = Array.from({ length: 5 }, () => ask('/held'));
  await Promise.all(held.map((one) => one.began));
  assert.ok(sockets() >= 3, `${sockets()} connections`);
  for (const one of open) one.end('done ');
  for (const one of held) assert.equal(await one.end, 'ended');
});

test('who does not read holds up nobody else, and not more is held for him than his window', async (t) => {
  let written = 0;
  const { ask, sockets } = await upstream(t, (to) => {
    if (to.path !== '/endless') return to.end('');
    const { stream } = to;
    const more = () => {
      while (stream!.writable && stream!.write(Buffer.alloc(16_384, 'x'))) written += 16_384;
    };
    to.begin('x');
    stream!.on('drain', more);
    more();
  });
  await ask('/first').end;
  const slow = ask('/endless');
  await slow.began;
  slow.call.pause();
  for (let i = 0; i < 20; i++) assert.equal(await ask(`/quick-${i}`).end, 'ended');
  await new Promise((done) => setTimeout(done, 100));
  assert.ok(written < 2_000_000, `${written} bytes were taken from the upstream`);
  assert.equal(sockets(), 1);
  slow.call.abort();
});

test('a connection on which nothing comes back is left by the next exchange', async (t) => {
  let silent = false;
  const { ask, sockets } = await upstream(t, (to) => {
    if (!silent) to.end('');
  });
  await ask('/first').end;
  silent = true;
  const unanswered = ask('/silent');
  await new Promise((done) => setTimeout(done, 50));
  unanswered.call.abort();
  silent = false;
  assert.equal(await ask('/later').end, 'ended');
  assert.equal(sockets(), 2);
});

test('HTTP/2 is not asked for unless it is wanted', async (t) => {
  const { ask, sessions } = await upstream(t, endAll);
  assert.equal(await ask('/one', { route: { ...route, id: 'h1', http2: false } }).end, 'ended');
  assert.equal(sessions.length, 0);
});
