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
