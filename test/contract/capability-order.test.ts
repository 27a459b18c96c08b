import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('§6 what no target can do is refused before anything is reserved, sent or charged', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = overUpstreams(upstream.url);
  const models = config.models as { chat: { capabilities?: object } };
  models.chat.capabilities = { tools: false };
  const gateway = await startGateway(t, config);
  const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }];
  const body = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }], tools };
  const response = await gateway.fetch('/v1/chat/completions', { json: body });
  const { error } = (await response.json()) as { error: { param: string } };
  assert.deepEqual([response.status, error.param], [400, 'tools']);
  const id = response.headers.get('x-culvert-request-id');
  const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as {
    units: number;
    usage: { source: string };
  };
  assert.deepEqual([record.units, record.usage.source], [0, 'refused']);
  assert.deepEqual(
    upstream.requests().filter(({ method }) => method === 'POST'),
    [],
  );
});
