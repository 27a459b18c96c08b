import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { listening } from '../listening.ts';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(4 * 1024 * 1024)]);

test('S30 pictures that never come leave others theirs, and those that came take room until the request has ended', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const web = await listening(
    t,
    createServer((request, response) => {
      if (request.url !== '/hang') response.end(png);
    }),
  );
  const gateway = await startGateway(t, {
    providers: { engine: { type: 'vllm', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
    models: { chat: { targets: ['engine/mock/ok'] } },
    fetch: { allow_private: [new URL(web).host] },
    // Of which an account has half: room for one such picture in base64, and not for two.
    server: { processes: 1, body_memory: '12mb', body_limit: '2mb' },
  });
  await gateway.modelsKnown;
  const gone = new AbortController();
  const ask = async (key: string, ...paths: string[]) => {
    const content = paths.map((path) => ({ type: 'image_url', image_url: { url: web + path } }));
    const headers = { authorization: `Bearer ${key}` };
    const json = { model: 'chat', messages: [{ role: 'user', content }] };
    const response = await gateway.fetch('/v1/chat/completions', { json, headers, signal: gone.signal });
    return [response.status, ((await response.json()) as { error?: { message: string } }).error?.message];
  };
  for (let round = 0; round < 3; round += 1) assert.deepEqual(await ask(testKey, '/a'), [200, undefined]);
  const [status, message] = await ask(testKey, '/a', '/b');
  assert.equal(status, 503);
  assert.match(String(message), /^Your account has as many bytes of request bodies/);
  const hanging = Array.from({ length: 64 }, () => ask(testKey, '/hang').catch(() => null));
  // One account has three quarters of the places.
  assert.deepEqual((await Promise.race(hanging))?.[0], 503);
  assert.deepEqual(await ask(otherKey, '/a'), [200, undefined]);
  gone.abort();
  await Promise.all(hanging);
});
