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

test('what a fallback alone can do is 400 naming the field for a request without fallbacks', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = overUpstreams(upstream.url) as { models: { chat: object } };
  const blind = { ...config.models.chat, capabilities: { vision: false }, fallbacks: ['sees'] };
  const gateway = await startGateway(t, { ...config, models: { chat: blind, sees: config.models.chat } });
  const json = { model: 'chat', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, picture] }] };
  const sent = () => upstream.requests().filter(({ method }) => method === 'POST').length;
  const answer = await gateway.fetch('/v1/chat/completions', { json, headers: { 'x-culvert-no-fallback': 'true' } });
  const { error } = (await answer.json()) as { error: { param: string; message: string } };
  assert.deepEqual([answer.status, error.param, sent()], [400, 'messages', 0]);
  assert.match(error.message, /No target of the model 'chat' can do what this request asks for \(vision\)/);
  assert.equal(answer.headers.get('x-culvert-cost'), '0');
  assert.equal((await gateway.fetch('/v1/chat/completions', { json })).status, 200);
  assert.equal(sent(), 1);
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

test('… and the models that the same body could be sent to, of those that the key may use', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
  const gateway = await startGateway(t, {
    providers: {
      claude: { type: 'anthropic', ...at },
      other: { type: 'anthropic', ...at },
      chat: { type: 'openai', ...at },
      native: { type: 'openai', ...at, dialects: ['openai-responses'] },
    },
    models: {
      plain: { targets: ['claude/mock/ok'] },
      alike: { targets: ['other/mock/ok'] },
      speaks: { targets: ['chat/mock/ok'] },
      responds: { targets: ['native/mock/ok'] },
      blind: { targets: ['chat/mock/ok'], capabilities: { vision: false } },
    },
  });
  const messages = [{ role: 'user', content: 'Hi' }];
  const seen = [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] },
  ];
  const spoken = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } };
  for (const [path, json, words] of [
    [
      'chat/completions',
      { messages, ...spoken },
      /in audio here\. \(claude\/mock\/ok\) Use 'speaks' or 'blind' for that\.$/,
    ],
    ['chat/completions', { messages: seen, ...spoken }, / Use 'speaks' for that\.$/],
    ['responses', { prompt: { id: 'pmpt_1' } }, /keeps prompts.* Use 'responds' for that\.$/],
    ['messages', { messages, max_tokens: 0 }, null],
    ['responses', { input: 'Hi', temperature: 7 }, /'temperature'[^U]*$/],
  ] as const) {
    const model = path === 'messages' ? 'speaks' : 'plain';
    const answer = await gateway.fetch(`/v1/${path}`, { json: { model, ...json } });
    const { error } = (await answer.json()) as { error: { message: string } };
    assert.equal(answer.status, 400, error.message);
    assert.match(error.message, words ?? / Use 'plain' or 'alike' for that\.$/);
  }
  assert.equal(upstream.requests().filter(({ method }) => method === 'POST').length, 0);
});

test('a model whose provider has no chat says so', async (t) => {
  const gateway = await startGateway(t, {
    providers: { voyage: { type: 'voyage', base_url: 'http://127.0.0.1:9/v1', api_key: 'a-key' } },
    models: { words: { targets: ['voyage/m'] } },
  });
  const answer = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'words', messages: [{ role: 'user', content: 'Hi' }] },
  });
  const { error } = (await answer.json()) as { error: { message: string } };
  assert.equal(answer.status, 400);
  assert.equal(error.message, "The model 'words' has no provider that can chat. Use a chat model.");
});
