import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('a stream that its caller left is kept with the status the caller got: 200, aborted', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, overUpstreams(upstream.url));
  upstream.script('/v1/chat/completions', ['chunks=100;interval=20ms']);
  const leaving = new AbortController();
  const json = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  const response = await gateway.fetch('/v1/chat/completions', { json, signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  await upstream.when((request) => request.aborted);
  const id = response.headers.get('x-culvert-request-id');
  let record = await gateway.fetch(`/v1/requests/${id}`);
  for (let i = 0; i < 100 && record.status === 404; i++) record = await gateway.fetch(`/v1/requests/${id}`);
  const { status, class: outcome, aborted } = (await record.json()) as Record<string, unknown>;
  assert.deepEqual([status, outcome, aborted], [200, 'aborted', true]);
});

for (const path of ['/v1/messages', '/v1/chat/completions'])
  test(`a stream of Claude that its caller left at ${path} is charged for what passed, not for its first count`, async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const gateway = await startGateway(t, {
      providers: { up: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'k' } },
      models: { chat: { targets: [{ provider: 'up', model: 'mock/ok', price: { input: 0, output: 100 } }] } },
    });
    upstream.script('/v1/messages', ['chunks=100;interval=5ms']);
    const leaving = new AbortController();
    const messages = [{ role: 'user', content: 'Hello '.repeat(500) }];
    const json = { model: 'chat', stream: true, max_tokens: 1_000, messages };
    const response = await gateway.fetch(path, { json, signal: leaving.signal });
    const reader = response.body!.getReader();
    let passed = '';
    while (passed.length < 8_000) passed += Buffer.from((await reader.read()).value!).toString();
    leaving.abort();
    await upstream.when((request) => request.aborted);
    const id = response.headers.get('x-culvert-request-id');
    let record = await gateway.fetch(`/v1/requests/${id}`);
    for (let i = 0; i < 100 && record.status === 404; i++) record = await gateway.fetch(`/v1/requests/${id}`);
    const { usage, cost_usd } = (await record.json()) as {
      usage: { output_tokens: number; source: string };
      cost_usd: number;
    };
    assert.ok(usage.output_tokens >= 20, JSON.stringify(usage));
    assert.equal(usage.source, 'counted');
    assert.ok(cost_usd >= 0.002);
  });
