import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { answerKept, otherKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask, withoutIds } from './formats.ts';

const upstream = await startUpstream();
after(upstream.close);
const cached = (model: string, type: string) => ({ type, targets: [{ provider: 'up', model }], cache: { ttl: '1h' } });
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: {
    embed: cached('mock/ok', 'embedding'),
    'embed-short': { ...cached('mock/ok', 'embedding'), dimensions: 8 },
    rank: cached('mock/ok', 'rerank'),
    moderate: cached('mock/ok', 'moderation'),
    chat: cached('mock/ok', 'chat'),
    long: cached('mock/finish=length', 'chat'),
    broken: cached('mock/eof=120', 'chat'),
  },
});

async function post(path: string, json: object, key = gateway.key) {
  const sinceMs = Date.now();
  const response = await gateway.fetch(path, { json, headers: { authorization: `Bearer ${key}` } });
  const body = await response.text();
  const cache = response.headers.get('x-culvert-cache')?.split(';')[0] ?? null;
  if (cache === 'miss') await answerKept(gateway, sinceMs);
  return { status: response.status, body, cache, type: response.headers.get('content-type') };
}

const families: Record<string, { path: string; body: Record<string, unknown>; other: Record<string, unknown> }> = {
  embeddings: {
    path: '/v1/embeddings',
    body: { model: 'embed', input: ['one', 'two'] },
    other: { encoding_format: 'base64' },
  },
  rerank: {
    path: '/v1/rerank',
    body: { model: 'rank', query: 'q', documents: ['a', 'b'] },
    other: { return_documents: true },
  },
  moderations: { path: '/v1/moderations', body: { model: 'moderate', input: 'words' }, other: { input: 'others' } },
  completions: { path: '/v1/completions', body: { model: 'chat', prompt: 'words' }, other: { suffix: 'x' } },
  'streamed completions': {
    path: '/v1/completions',
    body: { model: 'chat', prompt: 'words', stream: true },
    other: { stream_options: { include_usage: true } },
  },
};

for (const [name, { path, body, other }] of Object.entries(families)) {
  test(`${name}: an equal request gets the kept answer, another one does not`, async () => {
    const miss = await post(path, body);
    assert.deepEqual([miss.status, miss.cache], [200, 'miss'], miss.body);
    const hit = await post(path, { ...body, user: 'another' });
    assert.deepEqual([hit.status, hit.cache], [200, 'hit'], hit.body);
    // Spaces replace a member that nobody requested.
    const bodyOf = (one: string) => withoutIds(one).replace(/ +}\n/g, '}\n');
    assert.equal(bodyOf(hit.body), bodyOf(miss.body));
    assert.equal(hit.type, miss.type);
    const [first, second] = [miss, hit].map((one) => one.body.match(/"id":\s*"([^"]*)"/)?.[1]);
    if (first !== undefined) assert.notEqual(first, second);
    assert.equal((await post(path, { ...body, ...other })).cache, 'miss');
    assert.equal((await post(path, { ...body, unheard_of: 1 })).cache !== 'hit', true);
    assert.equal((await post(path, body, otherKey)).cache, 'miss');
  });
}

for (const model of ['long', 'broken']) {
  for (const stream of [false, true]) {
    test(`a completion of ${model} is not kept, ${stream ? 'streamed' : 'whole'}`, async () => {
      for (let n = 0; n < 2; n += 1) {
        assert.notEqual((await post('/v1/completions', { model, prompt: 'p', stream })).cache, 'hit');
      }
    });
  }
}

test('a picture that is named by URL may change there: such a request goes around the cache', async () => {
  const content = (url: string) => [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }];
  const named = await ask(gateway, 'chat', { more: { messages: content('https://example.org/a.png') } });
  assert.equal(named.cache, 'bypass', named.body);
  const elsewhere = [
    { type: 'file', file: { filename: 'a.pdf', file_data: 'https://example.org/a.pdf' } },
    { type: 'input_audio', input_audio: { format: 'mp3', data: 'https://example.org/a.mp3' } },
  ];
  for (const part of elsewhere) {
    const answer = await ask(gateway, 'chat', { more: { messages: [{ role: 'user', content: [part] }] } });
    assert.equal(answer.cache, 'bypass', answer.body);
  }
  const documents = [{ image: 'https://example.org/a.png' }];
  assert.equal((await post('/v1/rerank', { model: 'rank', query: 'q', documents })).cache, 'bypass');
  const sent = { more: { messages: content('data:image/png;base64,iVBORw0KGgo=') } };
  assert.equal((await ask(gateway, 'chat', sent)).cache, 'miss');
  assert.equal((await ask(gateway, 'chat', sent)).cache, 'hit');
});

test('a provider searches the web anew for each request that asks for it', async () => {
  const searches = [{ plugins: [{ id: 'web' }] }, { search_parameters: { mode: 'auto' } }, { enable_search: true }];
  for (const more of searches) assert.equal((await ask(gateway, 'chat', { more })).cache, 'bypass');
  const others = [
    { plugins: [{ id: 'moderation' }] },
    { search_parameters: { mode: 'off' } },
    { enable_search: false },
  ];
  for (const more of others) assert.equal((await ask(gateway, 'chat', { more })).cache, 'miss');
});
