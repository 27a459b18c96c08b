import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const hello = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };

test('F1 a failing first provider is invisible: the second answers', async (t) => {
  const [first, second] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([first.close(), second.close()]));
  const gateway = await startGateway(t, overUpstreams(first.url, second.url));
  first.script('/v1/chat/completions', ['status=503']);
  const response = await gateway.fetch('/v1/chat/completions', { json: hello });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-culvert-attempts'), '2');
  assert.equal(response.headers.get('x-culvert-provider'), 'up2');
});

test('an unknown model is 404 with the allowed ones', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, overUpstreams(upstream.url));
  const response = await gateway.fetch('/v1/chat/completions', { json: { ...hello, model: 'chatt' } });
  assert.equal(response.status, 404);
  const { error } = (await response.json()) as { error: { message: string; code: number; type: string } };
  assert.equal(error.code, 404);
  assert.match(error.message, /Did you mean 'chat'\?/);
});
