import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('a forwarded stream that finished but left [DONE] out gets it from us', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, overUpstreams(upstream.url));
  upstream.script('/v1/chat/completions', ['omit=done']);
  const body = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  const text = await (await gateway.fetch('/v1/chat/completions', { json: body })).text();
  assert.match(text, /"finish_reason":"stop"/);
  assert.ok(text.endsWith('data: [DONE]\n\n'), text.slice(-200));
});
