import assert from 'node:assert/strict';
import { test } from 'node:test';
import { otherKey, overUpstreams, startGateway, testKey, workersKnow } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { alwaysThere, chatPath, type ErrorBody, hello, serve } from './served.ts';

const { gateway } = await serve({
  models: {
    'team/large': {
      targets: [{ provider: 'up1', model: 'mock/ok', price: { input: 1, output: 2 } }],
      capabilities: { vision: false },
      context_window: 9000,
      max_output_tokens: 500,
      tier: 'premium',
    },
    'v-*': { targets: ['up1/sim/*'] },
    emb: { type: 'embedding', dimensions: 1024, targets: ['up1/emb'] },
  },
  tiers: { premium: { rpm: 'off' } },
});

interface Entry {
  id: string;
  object: string;
  created: number;
  owned_by: string;
  model_type: string;
  tier: string | null;
  capabilities: Record<string, boolean>;
  context_window: number | null;
  max_output_tokens: number | null;
  dimensions: number | null;
  pricing: { input: number; output: number } | null;
  status: string;
}
const list = async () => ((await (await gateway.fetch('/v1/models')).json()) as { data: Entry[] }).data;

test('§4.8 "GET /v1/models": "list available models", in config order, patterns by their known matches', async () => {
  const response = await gateway.fetch('/v1/models');
  assert.equal(response.status, 200);
  const body = (await response.json()) as { object: string; data: Entry[] };
  assert.equal(body.object, 'list');
  assert.deepEqual(
    body.data.map(({ id }) => id),
    [
      'chat',
      'team/large',
      'v-chat',
      'v-reason',
      'v-embedding',
      'v-speech',
      'v-transcription',
      'v-image',
      'emb',
      ...alwaysThere,
    ],
  );
});

test('§4.8, design §6: an entry says what the model is, can and costs', async () => {
  const entry = (await list()).find(({ id }) => id === 'team/large')!;
  assert.ok(Number.isInteger(entry.created) && entry.created > 1_700_000_000);
  const { created: _created, ...rest } = entry;
  assert.deepEqual(rest, {
    id: 'team/large',
    object: 'model',
    owned_by: 'up1',
    model_type: 'chat',
    tier: 'premium',
    capabilities: { vision: false, tools: true, reasoning: true, streaming: true },
    context_window: 9000,
    max_output_tokens: 500,
    dimensions: null,
    pricing: { input: 1, output: 2, cached_input: null, prompt: '0.000001', completion: '0.000002' },
    context_length: 9000,
    architecture: { input_modalities: ['text'], output_modalities: ['text'] },
    top_provider: { context_length: 9000, max_completion_tokens: 500, is_moderated: false },
    status: 'healthy',
  });
  assert.equal((await list()).find(({ id }) => id === 'emb')?.dimensions, 1024);
});

test('§4.8 "(may be restricted by plan)": a key with `models` sees those alone, unknown 404, others 403, both listing', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const restricted = await startGateway(t, {
    ...overUpstreams(upstream.url),
    models: { 'small-a': { targets: ['up1/a'] }, 'small-b': { targets: ['up1/b'] }, big: { targets: ['up1/c'] } },
    keys: [
      { key: testKey, account: 'dev', name: 'test', models: ['small-*'] },
      { key: otherKey, account: 'other', name: 'test' },
    ],
  });
  const seen = (await (await restricted.fetch('/v1/models')).json()) as { data: Entry[] };
  assert.deepEqual(
    seen.data.map(({ id }) => id),
    ['small-a', 'small-b'],
  );
  for (const ask of [
    (model: string) => restricted.fetch(`/v1/models/${model}`),
    (model: string) => restricted.fetch(chatPath, { json: { ...hello, model } }),
  ]) {
    const forbidden = await ask('big');
    assert.equal(forbidden.status, 403);
    const { error } = (await forbidden.json()) as ErrorBody;
    assert.equal(error.type, 'permission_error');
    assert.match(error.message, /Allowed models: small-a, small-b\./);
    const unknown = await ask('small-aa');
    assert.equal(unknown.status, 404);
    assert.match(
      ((await unknown.json()) as ErrorBody).error.message,
      /Did you mean 'small-a'\? Allowed models: small-a, small-b\./,
    );
  }
  const refusedFallback = await restricted.fetch(chatPath, { json: { ...hello, model: 'small-a', models: ['big'] } });
  assert.equal(refusedFallback.status, 403, 'a caller chooses fallbacks among its own models only');
  assert.ok(!upstream.requests().some(({ method }) => method === 'POST'));
});

test('§4.8 "GET /v1/models/:id": "details of one model"', async () => {
  const response = await gateway.fetch('/v1/models/chat');
  assert.equal(response.status, 200);
  const entry = (await response.json()) as Entry;
  // Each worker says when it made its list.
  assert.deepEqual({ ...entry, created: 0 }, { ...(await list())[0], created: 0 });
});

for (const path of ['team/large', 'team%2Flarge', 'team%2flarge']) {
  test(`§4.8, design §6: "ids may contain \`/\`, encoded or not": /v1/models/${path}`, async () => {
    const response = await gateway.fetch(`/v1/models/${path}`);
    assert.equal(response.status, 200);
    assert.equal(((await response.json()) as Entry).id, 'team/large');
  });
}

test('§4.8, design §6: aliases are matched byte for byte; what a pattern fits exists, listed or not', async () => {
  assert.equal((await gateway.fetch('/v1/models/Chat')).status, 404);
  assert.equal((await gateway.fetch('/v1/models/chat%20')).status, 404);
  assert.equal((await gateway.fetch('/v1/models/v-anything')).status, 200);
  assert.equal((await gateway.fetch('/v1/models/v-')).status, 404);
});

for (const path of ['/v1/models/%', '/v1/models/%zz', '/v1/models/..', `/v1/models/${'x'.repeat(2_000)}`]) {
  test(`§4.8 no such model, however odd the id: ${path.slice(0, 40)} is 404`, async () => {
    const response = await gateway.fetch(path);
    assert.equal(response.status, 404);
    assert.equal(((await response.json()) as ErrorBody).error.type, 'not_found_error');
  });
}

test("design §6: with an `anthropic-version` header the list has Anthropic's shape, in pages", async () => {
  const headers = { 'anthropic-version': '2023-06-01' };
  const page = async (query: string) =>
    (await (await gateway.fetch(`/v1/models${query}`, { headers })).json()) as {
      data: { type: string; id: string; display_name: string; created_at: string }[];
      has_more: boolean;
      first_id: string;
      last_id: string;
    };
  const first = await page('?limit=2');
  assert.deepEqual([first.has_more, first.first_id, first.last_id], [true, 'chat', 'team/large']);
  assert.equal(first.data[0]?.type, 'model');
  assert.equal(first.data[0]?.display_name, 'chat');
  assert.match(first.data[0]?.created_at ?? '', /^\d{4}-\d\d-\d\dT/);
  const rest = await page(`?limit=8&after_id=${first.last_id}`);
  assert.deepEqual([rest.has_more, rest.first_id, rest.last_id], [true, 'v-chat', 'culvert-lexical-1024']);
  const before = await page('?limit=2&before_id=v-reason');
  assert.deepEqual(
    before.data.map(({ id }) => id),
    ['team/large', 'v-chat'],
  );
  const refused = await gateway.fetch('/v1/models?limit=0', { headers });
  assert.equal(refused.status, 400);
  assert.equal(((await refused.json()) as ErrorBody).error.param, 'limit');
});

test('design §6: `status` (healthy, degraded, down) comes from the breakers', async (t) => {
  const [one, two] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([one.close(), two.close()]));
  const pair = await startGateway(t, overUpstreams(one.url, two.url));
  const status = async () => ((await (await pair.fetch('/v1/models/chat')).json()) as Entry).status;
  assert.equal(await status(), 'healthy');
  one.script(chatPath, ['always status=429;retry-after=60']);
  await pair.fetch(chatPath, { json: hello });
  await workersKnow();
  assert.equal(await status(), 'degraded');
  two.script(chatPath, ['always status=429;retry-after=60']);
  await pair.fetch(chatPath, { json: hello });
  await workersKnow();
  assert.equal(await status(), 'down');
});
