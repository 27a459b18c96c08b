import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { listening } from '../listening.ts';
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

test('a stream ends with its end mark, though the upstream keeps the connection open', async (t) => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const chunk = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    response.write(`${chunk({ role: 'assistant', content: 'Hi' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`);
  });
  const url = await listening(t, server);
  const gateway = await startGateway(t, overUpstreams(url));
  const body = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  const response = await gateway.fetch('/v1/chat/completions', { json: body, signal: AbortSignal.timeout(5_000) });
  assert.ok((await response.text()).endsWith('data: [DONE]\n\n'));
});

test('unreadable lines of a converted stream are skipped, and counted in the explanation', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url: upstream.url, api_key: 'b' } },
    models: { chat: { targets: ['claude/mock/ok'] } },
  });
  upstream.script('/v1/messages', ['malformed']);
  const body = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  const response = await gateway.fetch('/v1/chat/completions', { json: body });
  const text = await response.text();
  const id = response.headers.get('x-culvert-request-id');
  const { route, class: outcome } = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as {
    route: { malformedLines?: number };
    class: string;
  };
  assert.deepEqual([outcome, route.malformedLines, text.endsWith('data: [DONE]\n\n')], ['ok', 1, true]);
});
