import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { builtInData, type DataFacts, type DataRule, dataBar, dataFactsOf } from '../../src/config/data-rules.ts';
import { configSchema } from '../../src/config/schema.ts';
import { callAdmin } from '../call-admin.ts';
import { startGateway } from '../start-gateway.ts';

/** Rules for where requests of a plan, an account or a key may go, over HTTP. */
const asked: string[] = [];
const upstream = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { model } = JSON.parse(Buffer.concat(chunks).toString() || '{}') as { model?: string };
  asked.push(model ?? request.url ?? '');
  const message = { role: 'assistant', content: 'Hi' };
  const chat = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  };
  const data = [{ object: 'embedding', index: 0, embedding: [1, 0] }];
  const body = request.url?.endsWith('/embeddings') ? { object: 'list', model, data } : chat;
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...body, usage }));
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => upstream.close());
const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
/** Not a loopback address, whose requests would stay on this machine. */
const elsewhere = 'http://nowhere.invalid/v1';
const provider = (data?: object) => ({
  ...{ type: 'openai', base_url: data === undefined ? elsewhere : base_url, api_key: 'k', passthrough: true },
  ...(data && { data }),
});
const keyOf = (name: string) => `sk-cv-data-rule-${name}`;
const config = {
  providers: {
    eu: provider({ region: 'eu-west-1', trains: false, retention: '30d' }),
    us: provider({ region: 'us', trains: false, retention: 'none' }),
    unknown: provider(),
  },
  models: {
    smart: { targets: ['us/a', { provider: 'eu', model: 'b', priority: 2 }], fallbacks: ['plain'] },
    plain: { targets: ['unknown/c'] },
    'us-only': { targets: ['us/d'] },
    declared: { targets: [{ provider: 'unknown', model: 'e', data: { region: 'eu', retention: 'none' } }] },
    vectors: { type: 'embedding', space: 's', targets: ['us/v', 'eu/v2'] },
  },
  plans: {
    default: { windows: 'off', rpm: 'off' },
    strict: { windows: 'off', rpm: 'off', data: { zero_retention: true } },
  },
  accounts: { berlin: { data: { regions: ['eu'] } }, clean: { plan: 'strict' }, free: {} },
  keys: [
    { key: keyOf('berlin'), account: 'berlin', name: 'k' },
    { key: keyOf('clean'), account: 'clean', name: 'k' },
    { key: keyOf('free'), account: 'free', name: 'k' },
    { key: keyOf('tight'), account: 'free', name: 'tight', limits: { data: { no_training: true, regions: ['us'] } } },
  ],
  tools: { search: { providers: [{ type: 'searxng', base_url: elsewhere }] } },
};
const gateway = await startGateway({ after } as TestContext, config);

async function ask(name: string, model: string, path = '/v1/chat/completions', body?: object) {
  asked.length = 0;
  const json = body ?? { model, messages: [{ role: 'user', content: 'Hi' }] };
  const response = await gateway.fetch(path, { json, headers: { authorization: `Bearer ${keyOf(name)}` } });
  const text = await response.text();
  return { status: response.status, text, id: response.headers.get('x-culvert-request-id') ?? '' };
}

interface Explained {
  candidates: { target: string }[];
  barred: { target: string; verdict: string }[];
  error: { message: string; code: number } | null;
}
/** What is considered, in order, and what is barred, for the key of an account. */
async function explained(name: string, model: string) {
  const { body: keys } = await callAdmin<{ data: { id: string; account: string; name: string }[] }>(
    gateway,
    'GET',
    '/keys?limit=50',
  );
  const account = name === 'tight' ? 'free' : name;
  const key = keys.data.find((one) => one.account === account && one.name === (name === 'tight' ? 'tight' : 'k'))?.id;
  const body = { key, body: { model, messages: [{ role: 'user', content: 'Hi' }] } };
  const { body: said } = await callAdmin<Explained>(gateway, 'POST', '/explain', body);
  return { asks: said.candidates.map(({ target }) => target), barred: said.barred, error: said.error };
}

test('targets that a rule forbids are no candidates, and explain says why', async () => {
  assert.deepEqual((await explained('free', 'smart')).asks, ['us/a', 'eu/b', 'unknown/c']);
  const berlin = await explained('berlin', 'smart');
  assert.deepEqual(berlin.asks, ['eu/b']);
  assert.deepEqual(berlin.barred, [
    { target: 'us/a', verdict: 'not allowed: region (account berlin)' },
    { target: 'unknown/c', verdict: 'not allowed: region (account berlin)' },
  ]);
  const clean = await explained('clean', 'smart');
  assert.deepEqual(clean.asks, ['us/a']);
  assert.equal(clean.barred[0]?.verdict, 'not allowed: retention (plan strict)');
  const tight = await explained('tight', 'smart');
  assert.deepEqual(tight.asks, ['us/a']);
  assert.deepEqual(
    new Set(tight.barred.map(({ verdict }) => verdict)),
    new Set(['not allowed: region (key free/tight)']),
  );
  assert.deepEqual(
    (await explained('berlin', 'declared')).asks,
    ['unknown/e'],
    'the target says what its provider does not',
  );
});

test('requests, and texts to embed, reach only providers that the rule allows', async () => {
  for (let at = 0; at < 4; at += 1) {
    assert.equal((await ask('berlin', 'smart')).status, 200);
    assert.deepEqual(asked, ['b']);
    assert.equal((await ask('free', 'smart')).status, 200);
    assert.deepEqual(asked, ['a']);
    const embedded = await ask('berlin', '', '/v1/embeddings', { model: 'vectors', input: 'x' });
    assert.equal(embedded.status, 200, embedded.text);
    assert.deepEqual(asked, ['v2']);
  }
});

test('a request that no target may take is refused with the rule, in the form of each format, and sent nowhere', async () => {
  const refused = await ask('berlin', 'us-only');
  assert.equal(refused.status, 403);
  assert.match(
    refused.text,
    /The data rule of the account berlin lets no target of the model 'us-only' take this request/,
  );
  const messages = await ask('berlin', '', '/v1/messages', {
    ...{ model: 'us-only', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
  });
  assert.equal(messages.status, 403);
  assert.equal((JSON.parse(messages.text) as { type: string }).type, 'error');
  const embedded = await ask('clean', '', '/v1/embeddings', { model: 'plain', input: 'x' });
  assert.equal(embedded.status, 403, embedded.text);
  assert.deepEqual(asked, []);
});

test('models without an allowed target are not listed', async () => {
  const list = async (name: string) => {
    const response = await gateway.fetch('/v1/models', { headers: { authorization: `Bearer ${keyOf(name)}` } });
    const { data } = (await response.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id).filter((id) => Object.hasOwn(config.models, id));
  };
  assert.deepEqual(await list('berlin'), ['smart', 'declared', 'vectors']);
  assert.deepEqual(await list('free'), ['smart', 'plain', 'us-only', 'declared', 'vectors']);
});

test('passthrough and searches ask no provider that a rule forbids', async () => {
  const passed = await ask('berlin', '', '/passthrough/us/models', {});
  assert.equal(passed.status, 403);
  assert.match(passed.text, /provider 'us'/);
  const searched = await ask('berlin', '', '/v1/tools/search', { query: 'x' });
  assert.equal(searched.status, 403);
  assert.match(searched.text, /search engine 'searxng'/);
  assert.deepEqual(asked, []);
});

test('a rule of routes leads to no target that a data rule forbids', async () => {
  await gateway.reload({ ...config, routes: { out: { when: 'model == "smart"', model: 'us-only' } } });
  const refused = await ask('berlin', 'smart');
  assert.equal(refused.status, 403);
  assert.match(refused.text, /account berlin/);
  await gateway.reload(config);
});

test('check warns of models that a rule closes to its account', () => {
  const text = JSON.stringify({ ...config, keys: undefined });
  const checked = checkConfigText(text, 'culvert.yaml', {});
  assert.ok(checked.ok);
  const warnings = checked.warnings
    .filter(({ path }) => path.endsWith('data'))
    .map(({ path, message }) => `${path}: ${message}`);
  assert.deepEqual(warnings, [
    'plans.strict.data: no target of these models may get its requests: plain',
    'accounts.berlin.data: no target of these models may get its requests: plain, us-only',
  ]);
});

const nobody: DataFacts = { region: null, trains: null, retentionMs: null };
const rule = (written: Partial<DataRule>): DataRule => ({
  of: 'x',
  no_training: false,
  zero_retention: false,
  ...written,
});

test('what nobody knows of a provider is not allowed, and this machine always is', () => {
  assert.equal(dataBar([rule({ regions: ['eu'] })], nobody), 'region (x)');
  assert.equal(dataBar([rule({ no_training: true })], nobody), 'training (x)');
  assert.equal(dataBar([rule({ zero_retention: true })], nobody), 'retention (x)');
  const strict = rule({ regions: ['eu'], no_training: true, zero_retention: true });
  assert.equal(dataBar([strict], builtInData), null);
  assert.equal(dataBar([rule({ regions: ['eu'] })], { ...nobody, region: 'eu-north-1' }), null);
  assert.equal(dataBar([rule({ regions: ['eu'] })], { ...nobody, region: 'europe' }), 'region (x)');
  const { providers } = configSchema.parse({
    providers: {
      home: { type: 'anthropic', api_key: 'k' },
      proxy: { type: 'anthropic', api_key: 'k', base_url: 'https://proxy.example.org' },
      bedrock: { type: 'bedrock', region: 'eu-central-1' },
      here: { type: 'ollama' },
      proxied: { type: 'bedrock', region: 'eu-central-1', base_url: 'https://proxy.example.org' },
    },
  });
  const facts = Object.fromEntries(Object.entries(providers).map(([name, one]) => [name, dataFactsOf(one)]));
  assert.deepEqual(facts.home, { region: null, trains: false, retentionMs: 30 * 86_400_000 });
  assert.deepEqual(facts.proxy, nobody);
  assert.deepEqual(facts.bedrock, { region: 'eu-central-1', trains: false, retentionMs: 0 });
  assert.deepEqual(facts.here, builtInData);
  assert.deepEqual(facts.proxied, { region: 'eu-central-1', trains: null, retentionMs: null });
  const spread = (model: string) => providers.bedrock && dataFactsOf(providers.bedrock, { model }).region;
  assert.equal(spread('global.anthropic.claude-sonnet-4-5-20250929-v1:0'), 'global');
  assert.equal(spread('eu.amazon.nova-pro-v1:0'), 'eu');
  assert.equal(spread('amazon.nova-pro-v1:0'), 'eu-central-1');
});
