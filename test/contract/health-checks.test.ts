import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('a provider whose health check fails is passed over until one passes', async (t) => {
  const [sick, well] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([sick.close(), well.close()]));
  sick.script('/v1/models', Array(50).fill('status=503'));
  const config = overUpstreams(sick.url, well.url);
  const providers = config.providers as Record<string, object>;
  providers.up1 = { ...providers.up1, health: { path: '/models', interval: '1s' } };
  const gateway = await startGateway(t, config);
  await sick.when((request) => request.path === '/v1/models' && request.ended_ms !== null);
  const ask = async () => {
    const body = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
    const response = await gateway.fetch('/v1/chat/completions', { json: body });
    await response.arrayBuffer();
    return response.headers.get('x-culvert-provider');
  };
  // The check's answer is read a moment after it was sent.
  let answeredBy = await ask();
  for (let i = 0; i < 50 && answeredBy !== 'up2'; i++) answeredBy = await ask();
  assert.equal(answeredBy, 'up2');
  sick.clear();
  const deadlineMs = Date.now() + 20_000;
  while (answeredBy !== 'up1' && Date.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    answeredBy = await ask();
  }
  assert.equal(answeredBy, 'up1');
});
