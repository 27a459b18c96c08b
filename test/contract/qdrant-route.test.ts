import assert from 'node:assert/strict';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { listening, startForwardProxy } from '../forward-proxy.ts';
import { cert, key } from '../loopback-certificate.ts';
import { otherKey, startGateway } from '../start-gateway.ts';
import * as named from '../upstream-certificate.ts';

/* Issue 12 §2: a Qdrant is reached as providers are, through proxies and with certificates. */

interface Arrived {
  host: string;
  /** Owner of the client certificate that came with it. */
  by: string | null;
}

/** A second gateway, whose root speaks Qdrant's API, behind `arrived`, which keeps how it was asked. */
async function qdrant(t: TestContext, arrived: Arrived[]) {
  const gateway = await startGateway(t);
  return async (request: IncomingMessage, response: ServerResponse) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate?.() ?? {};
    arrived.push({ host: request.headers.host!, by: (subject?.CN as string | undefined) ?? null });
    const onward = http.request(`${gateway.url}${request.url}`, { method: request.method, headers: request.headers });
    request.pipe(onward);
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
  };
}

const over = (vectors: Record<string, unknown>) => ({ vectors: { engine: 'qdrant', api_key: otherKey, ...vectors } });

/** Status of making a collection, and how many points stand in it after one was written. */
async function use(t: TestContext, config: Record<string, unknown>, env: Record<string, string> = {}) {
  const gateway = await startGateway(t, config, { env });
  const put = (path: string, json: object) => gateway.fetch(`/collections/docs${path}`, { method: 'PUT', json });
  const made = await put('', { vectors: { size: 2, distance: 'Dot' } });
  const text = await made.text();
  await put('/points?wait=true', { points: [{ id: 1, vector: [1, 0] }] });
  const found = await gateway.fetch('/collections/docs/points/count', { json: {} });
  const { result } = (await found.json()) as { result?: { count: number } };
  await gateway.close(0);
  return { status: made.status, text, points: result?.count ?? null };
}

test('a Qdrant behind a proxy that wants a client certificate is asked through the one with the other', async (t) => {
  const arrived: Arrived[] = [];
  const wants = { key, cert, ca: named.cert, requestCert: true, rejectUnauthorized: true };
  const port = await listening(t, https.createServer(wants, await qdrant(t, arrived)));
  const proxy = await startForwardProxy(t, port);
  const url = `https://127.0.0.1:${port}`;
  const tls = { ca: cert, cert: named.cert, key: named.key };
  const done = await use(t, over({ url, tls, proxy: `http://user:pass@${proxy.url}` }));
  assert.deepEqual([done.status, done.points], [200, 1], done.text);
  assert.ok(proxy.orders.every((order) => order.startsWith(`CONNECT 127.0.0.1:${port} Basic `)));
  assert.deepEqual(new Set(arrived.map(({ by }) => by)), new Set(['upstream.test']));

  const asked = arrived.length;
  for (const less of [{ ca: cert }, undefined]) {
    const refused = await use(t, over({ url, tls: less }));
    assert.equal(refused.status, 503);
    assert.match(refused.text, /Qdrant cannot be reached/);
  }
  assert.equal(arrived.length, asked);
});

test("the environment's proxy leads to a Qdrant too; `off` and NO_PROXY ask it straight", async (t) => {
  const arrived: Arrived[] = [];
  const port = await listening(t, http.createServer(await qdrant(t, arrived)));
  const proxy = await startForwardProxy(t, port);
  const env = { HTTP_PROXY: `http://${proxy.url}` };
  const there = await use(t, over({ url: 'http://qdrant.test:6333' }), env);
  assert.deepEqual([there.status, there.points], [200, 1], there.text);
  assert.ok(arrived.every(({ host }) => host === 'qdrant.test:6333'));
  assert.ok(proxy.orders.includes('PUT http://qdrant.test:6333/collections/culvert_2_dot nobody'));

  proxy.orders.length = 0;
  const url = 'http://no-such-host.invalid:6333';
  for (const [vectors, more] of [
    [{ url, proxy: 'off' }, {}],
    [{ url }, { NO_PROXY: '.invalid' }],
  ] as const) {
    assert.equal((await use(t, over(vectors), { ...env, ...more })).status, 503);
  }
  assert.deepEqual(proxy.orders, []);
});

test('a certificate that is none refuses the start, naming the key and no content', async (t) => {
  const starting = startGateway(t, over({ url: 'https://q.test', tls: { ca: '-----BEGIN NONSENSE secret' } }));
  await assert.rejects(
    starting,
    (error: Error) => /vectors\.tls\.ca/.test(error.message) && !/secret/.test(error.message),
  );
});
