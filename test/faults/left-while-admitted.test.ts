import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/** A service that knows keys, and whose answers wait until they are let go. */
async function startService(t: TestContext) {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    asked.resolve();
    await released.promise;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ account: 'research', id: 'ada' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/who`;
  return { url, asked: asked.promise, release: () => released.resolve() };
}

test('a caller who leaves while its key is looked up holds no place of its account', async (t) => {
  const service = await startService(t);
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['up/mock/ok'] } },
    plans: { one: { concurrency: 1 } },
    accounts: { research: { plan: 'one' } },
    callers: { webhook: { url: service.url, secret: 'a-secret-of-32-characters-or-more', deadline: '10s' } },
  });
  const json = { model: 'chat', messages: [{ role: 'user', content: 'Hi' }] };
  const headers = { authorization: 'Bearer their-key' };
  const leaving = new AbortController();
  const left = gateway.fetch('/v1/chat/completions', { json, headers, signal: leaving.signal });
  await service.asked;
  leaving.abort();
  await assert.rejects(left);
  // The server learns of it before it hears of the key.
  await new Promise((resolve) => setTimeout(resolve, 50));
  service.release();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const next = await gateway.fetch('/v1/chat/completions', { json, headers });
  assert.equal(next.status, 200, await next.text());
});
