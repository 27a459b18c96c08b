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

test('choices of separate calls have seeds of their own', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { single: { type: 'openrouter', base_url: `${upstream.url}/v1`, api_key: 'a' } },
    models: { chat: { targets: ['single/mock/ok'] } },
  });
  const json = { model: 'chat', n: 2, seed: 7, messages: [{ role: 'user', content: 'Hello' }] };
  assert.equal((await gateway.fetch('/v1/chat/completions', { json })).status, 200);
  const calls = upstream.requests().filter(({ method }) => method === 'POST');
  const seeds = calls.map(({ body }) => (body as { n?: number; seed?: number }).seed);
  assert.deepEqual(seeds.toSorted(), [7, 8]);
});

test('choices of separate calls go past a target whose context has hardly room, as one call does', async (t) => {
  const [tight, roomy] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([tight.close(), roomy.close()]));
  const gateway = await startGateway(t, {
    providers: {
      tight: { type: 'anthropic', base_url: tight.url, api_key: 'a' },
      roomy: { type: 'anthropic', base_url: roomy.url, api_key: 'b' },
    },
    models: {
      chat: {
        targets: [
          { provider: 'tight', model: 'mock/ok', priority: 1, context_window: 1_000 },
          { provider: 'roomy', model: 'mock/ok', priority: 2, context_window: 100_000 },
        ],
      },
    },
  });
  const sent = (upstream: typeof tight) => upstream.requests().filter(({ method }) => method === 'POST').length;
  for (const n of [1, 2]) {
    const json = { model: 'chat', n, max_tokens: 990, messages: [{ role: 'user', content: 'Hello' }] };
    assert.equal((await gateway.fetch('/v1/chat/completions', { json })).status, 200);
  }
  assert.deepEqual([sent(tight), sent(roomy)], [0, 3]);
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

test('each choice is charged at the price of the model that wrote it', async (t) => {
  const [first, second] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([first.close(), second.close()]));
  const at = (provider: string, usd: number, priority: number) => ({
    provider,
    model: 'mock/ok',
    priority,
    price: { input: 0, output: 0, request: usd },
  });
  const gateway = await startGateway(t, {
    providers: {
      first: { type: 'anthropic', base_url: first.url, api_key: 'a' },
      second: { type: 'anthropic', base_url: second.url, api_key: 'b' },
    },
    models: { chat: { targets: [at('first', 0.25, 1), at('second', 2, 2)] } },
  });
  // One of the three choices comes from the second.
  first.script('/v1/messages', ['status=503']);
  const body = { model: 'chat', n: 3, messages: [{ role: 'user', content: 'Hello' }] };
  const answer = await gateway.fetch('/v1/chat/completions', { json: body });
  assert.equal(answer.status, 200, await answer.text());
  const id = answer.headers.get('x-culvert-request-id');
  const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as { cost_usd: number };
  const bySecond = second.requests().filter(({ method }) => method === 'POST').length;
  assert.ok(bySecond > 0);
  assert.equal(record.cost_usd, 0.25 * (3 - bySecond) + 2 * bySecond);
});
