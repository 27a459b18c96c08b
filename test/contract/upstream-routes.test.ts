import assert from 'node:assert/strict';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import https from 'node:https';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { listening, startForwardProxy } from '../forward-proxy.ts';
import { cert, key } from '../loopback-certificate.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import * as named from '../upstream-certificate.ts';

/* Issue 12 §2: the way to a provider, through proxies and with certificates. */

const completion = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'over there' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

/** A chat as it arrived. */
interface Arrived {
  host: string;
  /** Owner of the client certificate that came with it. */
  by: string | null;
}

function provider(arrived: Arrived[]) {
  return (request: IncomingMessage, response: ServerResponse) => {
    const isChat = request.method === 'POST';
    if (isChat) {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate?.() ?? {};
      arrived.push({ host: request.headers.host!, by: (subject?.CN as string | undefined) ?? null });
    }
    request.resume();
    response.setHeader('content-type', 'application/json').end(isChat ? completion : '{"data":[]}');
  };
}

const over = (provider: Record<string, unknown>) => ({
  providers: { up: { type: 'openai', api_key: 'provider-secret', ...provider } },
  models: { chat: { targets: [{ provider: 'up', model: 'm' }] } },
});

const ask = (gateway: TestGateway) =>
  gateway.fetch('/v1/chat/completions', { json: { model: 'chat', messages: [{ role: 'user', content: 'Hi' }] } });

const isChatOrder = (order: string) => order.startsWith('CONNECT') || order.startsWith('POST');
const basic = (user: string) => `Basic ${Buffer.from(user).toString('base64')}`;

test('HTTPS_PROXY: a provider by https:// is asked in a tunnel, by its own name and certificate', async (t) => {
  const arrived: Arrived[] = [];
  const port = await listening(t, https.createServer({ key: named.key, cert: named.cert }, provider(arrived)));
  const proxy = await startForwardProxy(t, port);
  const config = over({ base_url: 'https://upstream.test/v1', tls: { ca: named.cert } });
  const gateway = await startGateway(t, config, { env: { HTTPS_PROXY: `http://user:pass@${proxy.url}` } });
  for (let i = 0; i < 2; i += 1) assert.equal((await ask(gateway)).status, 200);
  assert.deepEqual(arrived, Array(2).fill({ host: 'upstream.test', by: null }));
  assert.deepEqual(new Set(proxy.orders), new Set([`CONNECT upstream.test:443 ${basic('user:pass')}`]));
});

test('HTTP_PROXY: a provider by http:// is asked by its whole URL', async (t) => {
  const arrived: Arrived[] = [];
  const proxy = await startForwardProxy(t, await listening(t, http.createServer(provider(arrived))));
  const config = over({ base_url: 'http://upstream.test:8000/v1' });
  const gateway = await startGateway(t, config, { env: { HTTP_PROXY: `http://user:pass@${proxy.url}` } });
  assert.equal((await ask(gateway)).status, 200);
  assert.deepEqual(arrived, [{ host: 'upstream.test:8000', by: null }]);
  await gateway.modelsKnown;
  const look = `GET http://upstream.test:8000/v1/models ${basic('user:pass')}`;
  assert.ok(proxy.orders.includes(look), proxy.orders.join('\n'));
  const orders = proxy.orders.filter(isChatOrder);
  assert.deepEqual(orders, [`POST http://upstream.test:8000/v1/chat/completions ${basic('user:pass')}`]);
});

test('a provider’s own proxy wins over the environment’s, and so does `off`; this machine is asked straight', async (t) => {
  const arrived: Arrived[] = [];
  const port = await listening(t, http.createServer(provider(arrived)));
  const [own, environment] = [await startForwardProxy(t, port), await startForwardProxy(t, port)];
  const env = { HTTP_PROXY: `http://${environment.url}` };
  const here = `http://127.0.0.1:${port}/v1`;
  for (const [provider, askedOf] of [
    [{ base_url: 'http://upstream.test/v1', proxy: `http://${own.url}` }, own],
    [{ base_url: 'http://upstream.test/v1' }, environment],
    [{ base_url: here, proxy: `http://${own.url}` }, own],
    [{ base_url: here }, null],
    [{ base_url: here, proxy: 'off' }, null],
  ] as const) {
    for (const { orders } of [own, environment]) orders.length = 0;
    const gateway = await startGateway(t, over(provider), { env });
    assert.equal((await ask(gateway)).status, 200);
    for (const proxy of [own, environment]) {
      assert.equal(proxy.orders.filter(isChatOrder).length, proxy === askedOf ? 1 : 0, JSON.stringify(provider));
    }
    await gateway.close(0);
  }
  const straight = over({ base_url: 'http://no-such-host.invalid/v1', proxy: 'off' });
  const gateway = await startGateway(t, straight, { env });
  assert.equal((await ask(gateway)).status, 502);
});

for (const status of [403, 407, 502]) {
  test(`a proxy that refuses with ${status} fails the attempt, and no secret is told`, async (t) => {
    const proxy = await startForwardProxy(t, 1, status);
    const url = `http://user:hidden@${proxy.url}`;
    const gateway = await startGateway(t, over({ base_url: 'https://upstream.test/v1', proxy: url }));
    const response = await ask(gateway);
    const text = await response.text();
    assert.equal(response.status, 502);
    assert.match(text, /proxy/);
    assert.doesNotMatch(text, /hidden|upstream\.test|127\.0\.0\.1/);
  });
}

test('a provider that wants a client certificate gets the one of its configuration, and only then answers', async (t) => {
  const arrived: Arrived[] = [];
  const server = https.createServer(
    { key, cert, ca: named.cert, requestCert: true, rejectUnauthorized: true },
    provider(arrived),
  );
  const port = await listening(t, server);
  const proxy = await startForwardProxy(t, port);
  const base_url = `https://127.0.0.1:${port}/v1`;
  const client = { ca: cert, cert: named.cert, key: named.key };
  for (const [provider, status] of [
    [{ base_url, tls: client }, 200],
    [{ base_url, tls: client, proxy: `http://${proxy.url}` }, 200],
    [{ base_url, tls: { ca: cert } }, 502],
    [{ base_url }, 502],
  ] as const) {
    const gateway = await startGateway(t, over(provider));
    assert.equal((await ask(gateway)).status, status, JSON.stringify(provider));
    await gateway.close(0);
  }
  const expected = { host: `127.0.0.1:${port}`, by: 'upstream.test' };
  assert.deepEqual(arrived, [expected, expected]);
});

test('`http2: true`: requests side by side share one connection to a provider that offers it', async (t) => {
  const waiting: (() => void)[] = [];
  const versions: string[] = [];
  let connections = 0;
  const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    request.resume();
    if (request.method !== 'POST') return void response.end('{"data":[]}');
    versions.push(request.httpVersion);
    const answer = () => {
      response.setHeader('content-type', 'application/json');
      response.end(completion);
    };
    // The first opens the connection; of the others none is answered before all have come.
    if (versions.length === 1) return answer();
    waiting.push(answer);
    if (waiting.length === 20) for (const one of waiting) one();
  });
  server.on('connection', () => {
    connections += 1;
  });
  const port = await listening(t, server);
  const gateway = await startGateway(
    t,
    over({ base_url: `https://127.0.0.1:${port}/v1`, tls: { ca: cert }, http2: true }),
  );
  assert.equal((await ask(gateway)).status, 200);
  const opened = connections;
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(gateway)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    Array(20).fill(200),
  );
  assert.deepEqual(new Set(versions), new Set(['2.0']));
  assert.equal(connections, opened);
});

test('a start with a proxy in the environment that is none is refused, and the value not shown', async (t) => {
  const starting = startGateway(t, {}, { env: { HTTPS_PROXY: 'socks5://user:hidden@proxy.test' } });
  await assert.rejects(starting, (error: Error) => /HTTPS_PROXY/.test(error.message) && !/hidden/.test(error.message));
});
