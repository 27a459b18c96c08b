import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

interface Completion {
  choices: { index: number; message: { content: string } }[];
  usage: { total_tokens: number };
}

test('n choices come from targets of one choice a call when those with native n fail', async (t) => {
  const [native, single] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([native.close(), single.close()]));
  const gateway = await startGateway(t, {
    providers: {
      native: { type: 'openai', base_url: `${native.url}/v1`, api_key: 'a' },
      single: { type: 'anthropic', base_url: single.url, api_key: 'b' },
    },
    models: { chat: { targets: ['native/mock/ok', { provider: 'single', model: 'mock/ok', priority: 2 }] } },
  });
  native.script('/v1/chat/completions', ['status=503']);
  const body = { model: 'chat', n: 3, messages: [{ role: 'user', content: 'Hello' }] };
  const response = await gateway.fetch('/v1/chat/completions', { json: body });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-culvert-attempts'), '4');
  const answer = (await response.json()) as Completion;
  assert.deepEqual(
    answer.choices.map((choice) => choice.index),
    [0, 1, 2],
  );
  for (const choice of answer.choices) assert.ok(choice.message.content.length > 0);
  assert.equal(single.requests().filter(({ method }) => method === 'POST').length, 3);
  assert.ok(answer.usage.total_tokens > 0);
});

test('n choices stream merged, with their indexes, one role each and one end', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { single: { type: 'anthropic', base_url: upstream.url, api_key: 'b' } },
    models: { chat: { targets: ['single/mock/ok'] } },
  });
  const body = {
    model: 'chat',
    n: 2,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'Hello' }],
  };
  const text = await (await gateway.fetch('/v1/chat/completions', { json: body })).text();
  const chunks = text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
    .map(
      (frame) =>
        JSON.parse(frame.slice(6)) as {
          id: string;
          choices: { index: number; delta: { role?: string }; finish_reason: string | null }[];
          usage?: object | null;
        },
    );
  const choices = chunks.flatMap((chunk) => chunk.choices);
  assert.deepEqual([...new Set(choices.map((choice) => choice.index))].sort(), [0, 1]);
  assert.equal(choices.filter((choice) => choice.delta.role === 'assistant').length, 2);
  assert.equal(choices.filter((choice) => choice.finish_reason === 'stop').length, 2);
  assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
  assert.ok(chunks.at(-1)?.usage);
  assert.ok(text.endsWith('data: [DONE]\n\n'));
  assert.equal(text.split('[DONE]').length, 2);
});
