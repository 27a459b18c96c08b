import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import OpenAI from 'openai';
import { wavOf } from '../scripted-transcriber.ts';
import { overUpstreams, startGateway, workersKnow } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { explained } from './read-answer.ts';

const upstream = await startUpstream();
after(() => upstream.close());
const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' };
const types = ['chat', 'embedding', 'speech', 'transcription', 'image', 'moderation', 'rerank'] as const;

/** One provider a type, so that none rests for another one's sake. */
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: Object.fromEntries(types.map((type) => [type, provider])),
    models: Object.fromEntries(
      types.map((type) => [
        type,
        {
          ...(type !== 'moderation' && { type }),
          targets: [{ provider: type, model: 'mock/status=429;retry-after=40;message=too%20fast' }],
        },
      ]),
    ),
  },
);

const messages = [{ role: 'user', content: 'Hello' }];
const audio = new FormData();
audio.set('model', 'transcription');
audio.set('file', new File([wavOf(1_000)], 'a.wav'));

const requests: Record<string, { path: string; json?: object; form?: FormData }> = {
  'chat completions': { path: '/v1/chat/completions', json: { model: 'chat', messages } },
  'a chat stream': { path: '/v1/chat/completions', json: { model: 'chat', messages, stream: true } },
  'several choices': { path: '/v1/chat/completions', json: { model: 'chat', messages, n: 2 } },
  messages: { path: '/v1/messages', json: { model: 'chat', messages, max_tokens: 9 } },
  responses: { path: '/v1/responses', json: { model: 'chat', input: 'Hello' } },
  gemini: { path: '/v1beta/models/chat:generateContent', json: { contents: [{ parts: [{ text: 'Hello' }] }] } },
  completions: { path: '/v1/completions', json: { model: 'chat', prompt: 'Once' } },
  embeddings: { path: '/v1/embeddings', json: { model: 'embedding', input: 'Hello' } },
  speech: { path: '/v1/audio/speech', json: { model: 'speech', voice: 'alloy', input: 'Hello' } },
  transcription: { path: '/v1/audio/transcriptions', form: audio },
  images: { path: '/v1/images/generations', json: { model: 'image', prompt: 'a culvert' } },
  moderations: { path: '/v1/moderations', json: { model: 'moderation', input: 'Hello' } },
  rerank: { path: '/v1/rerank', json: { model: 'rerank', query: 'a', documents: ['a', 'b'] } },
};

for (const [what, { path, json, form }] of Object.entries(requests)) {
  test(`F10 a provider's lasting 429 is a 429 in its words, marked as its own, and free: ${what}`, async () => {
    // The first was told so by the provider, the second is not sent at all.
    for (const turn of ['asked', 'known']) {
      const response = await gateway.fetch(path, json === undefined ? { method: 'POST', body: form! } : { json });
      const text = await response.text();
      assert.equal(response.status, 429, text);
      const { error } = JSON.parse(text) as { error: { message: string; type?: string; status?: string } };
      assert.match(error.message, /answered 429: too fast/, turn);
      assert.match(error.message, /the provider's limit, not your plan's/);
      assert.equal(error.type ?? error.status, path.startsWith('/v1beta') ? 'RESOURCE_EXHAUSTED' : 'rate_limit_error');
      assert.equal(response.headers.get('x-culvert-limited-by'), 'upstream');
      const waitS = Number(response.headers.get('retry-after'));
      assert.ok(waitS >= 20 && waitS <= 40, `Retry-After: ${waitS}`);
      const record = await explained(gateway, response);
      assert.deepEqual([record.status, record.units], [429, 0]);
    }
  });
}

test('F10 a wait longer than the caller does is a 429 with that wait', async (t) => {
  const short = await startGateway(t, {
    ...overUpstreams(upstream.url),
    models: { chat: { targets: ['up1/mock/status=429;retry-after=2'] } },
  });
  const headers = { 'x-culvert-timeout-ms': '1000' };
  const response = await short.fetch('/v1/chat/completions', { json: { model: 'chat', messages }, headers });
  assert.equal(response.status, 429, await response.text());
  assert.match(response.headers.get('retry-after') ?? '', /^[12]$/);
});

test('F10 a limit of the plan is not marked as the provider’s', async (t) => {
  const limited = await startGateway(t, { ...overUpstreams(upstream.url), plans: { default: { rpm: 1 } } });
  for (const status of [200, 429]) {
    const response = await limited.fetch('/v1/chat/completions', { json: { model: 'chat', messages } });
    assert.equal(response.status, status);
    assert.equal(response.headers.get('x-culvert-limited-by'), null);
    await response.text();
  }
});

test('F10 one target limited, the other one broken: 502, as long as another try may find it well', async (t) => {
  const broken = await startUpstream();
  t.after(() => broken.close());
  const mixed = await startGateway(t, {
    ...overUpstreams(upstream.url, broken.url),
    models: {
      chat: { targets: ['up1/mock/status=429;retry-after=40', { provider: 'up2', model: 'mock/ok', priority: 2 }] },
    },
  });
  broken.script('*', ['always status=500']);
  const response = await mixed.fetch('/v1/chat/completions', { json: { model: 'chat', messages } });
  assert.equal(response.status, 502, await response.text());
  assert.equal(response.headers.get('x-culvert-limited-by'), null);
});

test('F10 OpenAI’s SDK knows it as a rate limit: where it lasts it is told so once', async (t) => {
  const limited = await startGateway(t, overUpstreams(upstream.url));
  upstream.clear();
  upstream.script('/v1/chat/completions', ['always status=429;retry-after=200']);
  t.after(() => upstream.clear());
  const client = new OpenAI({ baseURL: `${limited.url}/v1`, apiKey: limited.key });
  const asking = client.chat.completions.create({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] });
  await assert.rejects(asking, OpenAI.RateLimitError);
  const chats = upstream.requests().filter(({ method }) => method === 'POST');
  assert.equal(chats.length, 1, 'whoever waits for minutes is told so at once');
});

test('F10 a model that its provider limits leaves the other models of the same key; a second one does not', async (t) => {
  const model = (name: string) => ({ targets: [{ provider: 'up', model: name }] });
  const limited = (name: string) => model(`mock/status=429;retry-after=40;message=${name}`);
  const { fetch } = await startGateway(t, {
    providers: { up: provider },
    models: { first: limited('a'), second: limited('b'), fine: model('mock/ok') },
  });
  const statusOf = async (model: string) => {
    const response = await fetch('/v1/chat/completions', { json: { model, messages } });
    await response.text();
    await workersKnow();
    return [response.status, response.headers.get('x-culvert-attempts')];
  };
  assert.deepEqual(await statusOf('first'), [429, '1']);
  assert.deepEqual(await statusOf('first'), [429, '0']);
  assert.deepEqual(await statusOf('fine'), [200, '1']);
  assert.deepEqual(await statusOf('second'), [429, '1']);
  assert.deepEqual(await statusOf('fine'), [429, '0']);
});
