import assert from 'node:assert/strict';
import { test } from 'node:test';
import { otherKey, overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { alwaysThere, asked, chatPath, hello, serve } from './served.ts';

const { gateway, upstream } = await serve();

test('§1 "The service is an HTTP gateway"; "It accepts requests in common chat-completion … formats"', async () => {
  const response = await gateway.fetch(chatPath, { json: hello });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/json');
});

test('§1 "It routes each request to an upstream provider that is currently healthy"', async (t) => {
  const [dead, healthy] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([dead.close(), healthy.close()]));
  dead.script(chatPath, ['always status=503']);
  const two = await startGateway(t, overUpstreams(dead.url, healthy.url));
  for (let i = 0; i < 12; i++) {
    const response = await two.fetch(chatPath, { json: hello });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-culvert-provider'), 'up2');
  }
  assert.ok(asked(dead).length < 12, 'once known to be ill it is left alone');
});

test('§1 "The caller never supplies provider credentials": ours reach the provider, the caller\'s key never', async () => {
  upstream.clear();
  await gateway.fetch(chatPath, { json: hello, headers: { 'x-vendor-key': 'sk-vendor' } });
  const [request] = asked(upstream);
  assert.equal(request?.headers.authorization, 'Bearer upstream-secret-1');
  assert.ok(!JSON.stringify(request).includes(testKey));
  assert.equal(request?.headers['x-vendor-key'], undefined);
});

test('§1 "It lists the available models. Which models a caller sees can depend on the caller\'s plan"', async (t) => {
  const models = { a: { targets: ['up1/mock/ok'] }, b: { targets: ['up1/mock/ok'] } };
  const keys = [
    { key: testKey, account: 'dev', name: 'test', models: ['b'] },
    { key: otherKey, account: 'other', name: 'test' },
  ];
  const restricted = await startGateway(t, { ...overUpstreams(upstream.url), models, keys });
  await restricted.modelsKnown;
  const idsFor = async (key: string) => {
    const response = await restricted.fetch('/v1/models', { headers: { authorization: `Bearer ${key}` } });
    return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  assert.deepEqual(await idsFor(testKey), ['b']);
  assert.deepEqual(await idsFor(otherKey), ['a', 'b', ...alwaysThere]);
});

test('§1 "Usage is metered": what a request used stands in its record', async () => {
  const response = await gateway.fetch(chatPath, { json: hello });
  const { usage } = (await response.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
  const record = await gateway.fetch(`/v1/requests/${response.headers.get('x-culvert-request-id')}`);
  const told = (await record.json()) as { units: number; usage: { input_tokens: number; output_tokens: number } };
  assert.equal(told.units, 1);
  assert.equal(told.usage.input_tokens, usage.prompt_tokens);
  assert.equal(told.usage.output_tokens, usage.completion_tokens);
});
