import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const picture = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } };
const tools = [{ type: 'function', function: { name: 'f' } }];

test('design §9: what no target can do is 400 naming the field that asks for it', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = overUpstreams(upstream.url) as { models: { chat: object } };
  const capabilities = { vision: false, tools: false, logprobs: false };
  const able = (more: object) => ({ ...config.models.chat, capabilities: { ...capabilities, ...more } });
  const gateway = await startGateway(t, {
    ...config,
    models: { chat: able({}), sees: able({ vision: true }), calls: able({ tools: true }), does: able({ tools: true }) },
  });
  const plain = [{ role: 'user', content: 'Hi' }];
  for (const [param, body, words] of [
    [
      'logprobs',
      { messages: plain, logprobs: true },
      /\(logprobs\)\. None of your other models can\. Leave that out\./,
    ],
    ['tools', { messages: plain, tools }, /: \w+\/[^ ]+ \(tools\).*\. Use 'calls' or 'does', or leave that out\./],
    [
      'messages',
      { messages: [{ role: 'user', content: [picture] }] },
      /\(vision\).*\. Use 'sees', or leave that out\./,
    ],
  ] as const) {
    const answer = await gateway.fetch('/v1/chat/completions', { json: { model: 'chat', ...body } });
    const { error } = (await answer.json()) as { error: { param: string; message: string } };
    assert.equal(answer.status, 400, error.message);
    assert.equal(error.param, param, error.message);
    assert.match(error.message, words);
  }
  assert.equal(upstream.requests().filter(({ path }) => path.endsWith('/completions')).length, 0);
});
