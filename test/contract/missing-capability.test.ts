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

test('an endpoint that no provider of a model has is 400 naming the provider and models that can', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: {
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'k' },
      ranks: { type: 'cohere', base_url: `${upstream.url}/v1`, api_key: 'k' },
    },
    models: {
      chat: { targets: ['claude/mock/ok'] },
      vectors: { type: 'embedding', targets: ['ranks/embed-v4.0'] },
      ranker: { type: 'rerank', targets: ['ranks/rerank-v3.5'] },
    },
  });
  for (const [path, json, words] of [
    ['/v1/embeddings', { input: 'x' }, /serves \/v1\/embeddings \(it has claude\)\. Use 'vectors'/],
    ['/v1/rerank', { query: 'x', documents: ['y'] }, /serves \/v1\/rerank \(it has claude\)\. Use 'ranker'\./],
    ['/v1/images/generations', { prompt: 'x' }, /makes pictures \(it has claude\)\. Use /],
    ['/v1/audio/speech', { input: 'x', voice: 'alloy' }, /serves \/v1\/audio\/speech \(it has claude\)\. Use /],
  ] as const) {
    const answer = await gateway.fetch(path, { json: { model: 'chat', ...json } });
    const { error } = (await answer.json()) as { error: { param: string; message: string } };
    assert.deepEqual([answer.status, error.param], [400, 'model'], error.message);
    assert.match(error.message, words);
  }
});

test('what a converter cannot say to any target is 400 naming field and targets', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['claude/mock/ok'] } },
  });
  const json = {
    model: 'chat',
    messages: [{ role: 'user', content: 'Hi' }],
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'mp3' },
  };
  const answer = await gateway.fetch('/v1/chat/completions', { json });
  const { error } = (await answer.json()) as { error: { param: string; message: string } };
  assert.deepEqual([answer.status, error.param], [400, 'modalities'], error.message);
  assert.match(error.message, /does not answer in audio here\. \(claude\/mock\/ok\)$/);
});
