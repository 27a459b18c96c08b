import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { FailureError } from '../../kernel/failure.ts';
import { createConnection, QdrantRefused } from './qdrant-connection.ts';

/** A Qdrant that answers each request with the next of these; `null`: it breaks the connection. */
async function qdrantThat(t: TestContext, answers: ({ status?: number; body: unknown } | null)[]) {
  const requests: { method: string | undefined; path: string | undefined; key: unknown }[] = [];
  const server = createServer((request, response) => {
    requests.push({ method: request.method, path: request.url, key: request.headers['api-key'] });
    const answer = answers.shift() ?? null;
    if (answer === null) return void request.socket.destroy();
    response
      .writeHead(answer.status ?? 200)
      .end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/below/`;
  const connection = createConnection({ url, apiKey: 'k' });
  t.after(async () => {
    await connection.close();
    server.closeAllConnections();
    server.close();
  });
  const ask = (use: 'read' | 'write' = 'read', room?: { bytes: number }) =>
    connection.ask({ method: 'POST', path: '/collections', body: '{}', use, ...(room && { room }) });
  const refused = (use?: 'read' | 'write') =>
    ask(use).then(
      () => 'no refusal',
      (error: unknown) => {
        if (error instanceof QdrantRefused) return `refused ${error.status}: ${error.message}`;
        assert.ok(error instanceof FailureError, String(error));
        assert.equal(error.failure.kind, 'overloaded');
        return JSON.stringify(error.failure);
      },
    );
  return { ask, refused, requests };
}

test('a request goes below the path of the URL, with the key, and its result comes back', async (t) => {
  const { ask, requests } = await qdrantThat(t, [{ body: { result: { count: 1 } } }, { body: { result: false } }]);
  const room = { bytes: 1_000 };
  assert.deepEqual(await ask('read', room), { count: 1 });
  assert.equal(room.bytes, 1_000 - JSON.stringify({ result: { count: 1 } }).length);
  assert.equal(await ask(), false);
  assert.deepEqual(requests[0], { method: 'POST', path: '/below/collections', key: 'k' });
});

test('what Qdrant finds wrong is the caller’s; its limits, its key and its own faults are not', async (t) => {
  const error = (status: number, message?: unknown) => ({
    status,
    body: message === undefined ? 'no JSON' : { status: { error: message } },
  });
  const { refused } = await qdrantThat(t, [
    error(400, 'x'.repeat(301)),
    error(404),
    error(499, 7),
    ...[401, 403, 408, 429, 500, 302].map((status) => error(status, 'no')),
    { body: {} },
    { body: 'no JSON' },
  ]);
  assert.match(await refused(), /^refused 400: .*x{300}(?!x)/);
  assert.match(await refused(), /^refused 404: .*no reason given/);
  assert.match(await refused(), /^refused 499: .*no reason given/);
  for (const status of [401, 403]) assert.match(await refused(), new RegExp(`key of vectors.api_key .HTTP ${status}`));
  for (const status of [408, 429, 500, 302, 200, 200])
    assert.match(await refused(), new RegExp(`answered with HTTP ${status}`));
});

test('reading is tried again once where the connection broke, writing is not', async (t) => {
  const { ask, refused, requests } = await qdrantThat(t, [null, { body: { result: 1 } }, null, null, null]);
  assert.equal(await ask('read'), 1);
  assert.equal(requests.length, 2);
  assert.match(await refused('write'), /overloaded/);
  assert.equal(requests.length, 3);
  assert.match(await refused('read'), /overloaded/);
  assert.equal(requests.length, 5);
});
