import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Where the caller's format is the target's, its provider knows best what it takes: Culvert checks what it reads itself. */

const upstream = await startUpstream();
after(() => upstream.close());
const small = { model: 'mock/ok', context_window: 2_000 };
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      chat: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'a', dialects: ['openai-chat'] },
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'b' },
      google: { type: 'gemini', base_url: upstream.url, api_key: 'c' },
    },
    models: {
      chat: { targets: ['chat/mock/ok'] },
      google: { targets: ['google/gemini-2.5-flash'] },
      'small-chat': { targets: [{ provider: 'chat', ...small }] },
      'small-claude': { targets: [{ provider: 'claude', ...small }] },
      either: { targets: ['google/gemini-2.5-flash', { provider: 'chat', model: 'mock/ok', priority: 2 }] },
    },
  },
);
const last = () => upstream.requests().at(-1)!;

test('log probabilities are asked of Google in its own format; callers of others are told the field', async () => {
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
  const generationConfig = { responseLogprobs: true, logprobs: 2 };
  const own = await gateway.fetch('/v1beta/models/google:generateContent', { json: { contents, generationConfig } });
  assert.equal(own.status, 200);
  assert.deepEqual((last().body as { generationConfig: unknown }).generationConfig, generationConfig);

  const chat = { model: 'google', messages: [{ role: 'user', content: 'Hello' }], logprobs: true };
  const refused = await gateway.fetch('/v1/chat/completions', { json: chat });
  assert.equal(refused.status, 400);
  assert.equal(((await refused.json()) as { error: { param: string } }).error.param, 'logprobs');
  const elsewhere = await gateway.fetch('/v1/chat/completions', { json: { ...chat, model: 'either' } });
  assert.equal(elsewhere.headers.get('x-culvert-provider'), 'chat');
});

for (const model of ['small-chat', 'small-claude']) {
  test(`an input that we estimate too long for ${model} is its provider's to judge`, async () => {
    const messages = [{ role: 'user', content: 'word '.repeat(4_000) }];
    const response = await gateway.fetch('/v1/chat/completions', { json: { model, messages } });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-culvert-attempts'), '1');
  });
}
