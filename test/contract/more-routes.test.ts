import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from '../../src/http/exchange.ts';
import { writeJson } from '../../src/http/write-json.ts';
import { openAiChat } from '../../src/inference/dialects/openai-chat/index.ts';
import { startBareServer } from './bare-server.ts';

const open = { auth: 'none', quota: 'none', dialect: openAiChat } as const;
const byId: Route = {
  ...open,
  method: 'GET',
  path: '/v1/things/:id',
  handle: (exchange) => writeJson(exchange, 200, { id: exchange.params.id ?? null }),
};
const chat: Route = {
  ...open,
  method: 'POST',
  path: '/v1/chat/completions',
  handle: (exchange) => writeJson(exchange, 200, { ok: true }),
};

test('conversations are served before the other routes stand, and other calls wait for those', async (t) => {
  const asked = Promise.withResolvers<void>();
  const made = Promise.withResolvers<readonly Route[]>();
  const server = await startBareServer(t, {
    routes: [chat],
    moreRoutes() {
      asked.resolve();
      return made.promise;
    },
  });
  const waiting = fetch(`${server.url}/v1/things/7`);
  await asked.promise;
  const served = await fetch(`${server.url}/v1/chat/completions?x=1`, { method: 'POST' });
  assert.deepEqual([served.status, await served.json()], [200, { ok: true }]);

  made.resolve([byId]);
  assert.deepEqual(await (await waiting).json(), { id: '7' });
  // What is no route is told so only now that all are known.
  const missing = await fetch(`${server.url}/v1/thing`);
  const { error } = (await missing.json()) as { error: { message: string } };
  assert.deepEqual([missing.status, /POST \/v1\/chat\/completions/.test(error.message)], [404, true]);
  assert.equal((await fetch(`${server.url}/v1/chat/completions`)).headers.get('allow'), 'POST');
});

test('routes that cannot be made cost their callers the connection, not the others theirs', async (t) => {
  const server = await startBareServer(t, {
    routes: [chat],
    moreRoutes: () => Promise.reject(new Error('a file is missing')),
  });
  await assert.rejects(fetch(`${server.url}/v1/things/7`));
  assert.equal((await fetch(`${server.url}/v1/chat/completions`, { method: 'POST' })).status, 200);
  assert.match(String(server.unexpected[0]), /a file is missing/);
});
