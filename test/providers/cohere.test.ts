import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('an effort that Cohere does not know becomes the nearest that it knows, for callers of each format', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { co: { type: 'cohere', base_url: `${upstream.url}/compatibility/v1`, api_key: 'k' } },
    models: { m: { targets: ['co/mock-ok'] } },
  });
  await gateway.modelsKnown;
  const messages = [{ role: 'user', content: 'Hello' }];
  const sent = async (path: string, json: object) => {
    upstream.clear();
    const answer = await gateway.fetch(path, { json: { model: 'm', ...json } });
    assert.equal(answer.status, 200, await answer.text());
    const body = upstream.requests().at(-1)!.body as JsonObject;
    return [body.reasoning_effort, answer.headers.get('x-culvert-dropped')?.includes('reasoning_effort') ?? false];
  };
  const chat = '/v1/chat/completions';
  for (const stream of [false, true]) {
    assert.deepEqual(await sent(chat, { messages, stream, reasoning_effort: 'low' }), ['high', true]);
    assert.deepEqual(await sent(chat, { messages, stream, reasoning_effort: 'minimal' }), ['none', true]);
    assert.deepEqual(await sent(chat, { messages, stream, reasoning_effort: 'high' }), ['high', false]);
    assert.deepEqual(await sent(chat, { messages, stream }), [undefined, false]);
  }
  assert.deepEqual((await sent('/v1/responses', { input: 'Hello', reasoning: { effort: 'medium' } }))[0], 'high');
  const thinking = { type: 'enabled', budget_tokens: 1_024 };
  assert.deepEqual((await sent('/v1/messages', { messages, max_tokens: 2_000, thinking }))[0], 'high');
});
