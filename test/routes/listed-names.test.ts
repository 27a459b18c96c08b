import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { startGateway } from '../start-gateway.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';

/** Names for which only rules have models, in the lists of models. */
const upstream = await startQuietUpstream();
after(upstream.close);
const freeKey = 'sk-cv-listed-free-0001';
const proKey = 'sk-cv-listed-pro-0001';
const price = { input: 1, output: 2 };
const big = { model: 'big', context_window: 200_000, max_output_tokens: 8_000, price: { input: 10, output: 20 } };
const target = (model: object) => ({ targets: [{ provider: 'up', ...model }] });
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: {
    smart: target(big),
    mid: target({ model: 'mid', context_window: 64_000, max_output_tokens: 4_000, price }),
    cheap: target({ model: 'small', context_window: 32_000, max_output_tokens: 2_000, price }),
    embed: { type: 'embedding', dimensions: 64, ...target({ model: 'embed' }) },
    'gpt-*': { targets: ['up/*'] },
  },
  routes: {
    'off-limits': { when: 'model == "banned"', refuse: { message: 'No.' } },
    'for-pro': { when: 'model == "pro-only" && plan == "pro"', model: 'smart' },
    'auto-tools': { when: 'model == "auto" && (tools || "image" in media)', model: 'smart' },
    auto: {
      when: 'model == "auto"',
      ladder: { by: 'tokens', steps: [{ at_most: 500, model: 'cheap' }, { model: 'mid' }] },
    },
    thrifty: { when: 'model in ["thrifty", "saving"]', model: 'cheap' },
    'never-seen': { when: 'model == "auto" || model == "banned"', model: 'smart' },
    vectors: { when: '"vector" == model', model: 'embed' },
    vendor: { when: 'model.startsWith("vendor-")', model: 'cheap' },
    pattern: { when: 'model == "gpt-9"', model: 'cheap' },
    night: { when: 'model == "night" && timeOfDay() >= "22:00" && "x-team" in headers', model: 'cheap' },
    'not-this': { when: '!(model == "other")', tag: 'seen' },
    'all-large': { when: 'tokens > 8000', model: 'smart' },
  },
  plans: {
    default: { windows: 'off', rpm: 'off' },
    free: { windows: 'off', rpm: 'off', models: ['cheap'] },
    pro: { windows: 'off', rpm: 'off' },
  },
  accounts: { poor: { plan: 'free' }, rich: { plan: 'pro' } },
  keys: [
    { key: 'sk-cv-test-key-0001', account: 'dev', name: 'test' },
    { key: freeKey, account: 'poor', name: 'f' },
    { key: proKey, account: 'rich', name: 'p' },
  ],
});
const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
const configured = new Set(['smart', 'mid', 'cheap', 'embed']);

interface Entry {
  id: string;
  owned_by: string;
  model_type: string;
  context_window: number | null;
  max_output_tokens: number | null;
  dimensions: number | null;
  pricing: { input: number } | null;
  status: string;
}

/** Names in the list of a key that are no model of the configuration and none that is always there. */
async function madeNames(apiKey: string): Promise<string[]> {
  const { data } = await clientOf(apiKey).models.list();
  const { body } = { body: data as unknown as Entry[] };
  return body
    .filter(({ id, owned_by }) => owned_by === 'culvert' && !configured.has(id) && isOfRules(id))
    .map(({ id }) => id);
}
const ofRules = ['banned', 'pro-only', 'auto', 'thrifty', 'saving', 'vector', 'gpt-9', 'night', 'other', 'vendor-x'];
const isOfRules = (id: string) => ofRules.includes(id);

const ask = (apiKey: string, model: string) =>
  clientOf(apiKey)
    .chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] })
    .then(
      () => 200,
      (error: { status?: number }) => error.status,
    );

test('names of rules are listed for the keys whose requests reach a model by them', async () => {
  const names = await madeNames(gateway.key);
  assert.deepEqual(names, ['auto', 'thrifty', 'saving', 'vector', 'night']);
  assert.deepEqual(await madeNames(proKey), ['pro-only', ...names]);
  // This plan has only the model of the ladder's first step, and not what the pattern makes of `gpt-9`.
  assert.deepEqual(await madeNames(freeKey), ['auto', 'thrifty', 'saving', 'gpt-9', 'night']);
  assert.equal(await ask(freeKey, 'gpt-9'), 200);
  assert.equal(await ask(freeKey, 'vector'), 403);
  for (const name of ['auto', 'thrifty', 'saving']) assert.equal(await ask(gateway.key, name), 200, name);
  for (const name of ['pro-only', 'other']) assert.equal(await ask(gateway.key, name), 404, name);
  assert.equal(await ask(gateway.key, 'banned'), 403);
  assert.equal(await ask(proKey, 'pro-only'), 200);
});

test('an entry says what the models behind the name can do, as far as the key may use them', async () => {
  const entry = async (apiKey: string, id: string) => (await clientOf(apiKey).models.retrieve(id)) as unknown as Entry;
  const auto = await entry(gateway.key, 'auto');
  assert.deepEqual(
    [auto.id, auto.owned_by, auto.model_type, auto.context_window, auto.max_output_tokens, auto.pricing, auto.status],
    ['auto', 'culvert', 'chat', 200_000, 8_000, null, 'healthy'],
  );
  const ofFree = await entry(freeKey, 'auto');
  assert.deepEqual([ofFree.context_window, ofFree.max_output_tokens, ofFree.pricing?.input], [32_000, 2_000, 1]);
  const vector = await entry(gateway.key, 'vector');
  assert.deepEqual([vector.model_type, vector.dimensions], ['embedding', 64]);
});

test('a name of a pattern is described though not listed; a name that only some requests may have is not', async () => {
  const statusOf = async (id: string) => (await gateway.fetch(`/v1/models/${id}`)).status;
  assert.equal(await statusOf('vendor-x'), 200);
  assert.equal(await ask(gateway.key, 'vendor-x'), 200);
  // A long request for it would go to `smart`, like one for any name.
  assert.equal(await statusOf('nonsense'), 404);
  assert.equal(await statusOf('banned'), 404);
  assert.equal(await statusOf('pro-only'), 404);
  // A model of the pattern, not of the rule.
  assert.equal(((await (await gateway.fetch('/v1/models/gpt-9')).json()) as Entry).owned_by, 'up');
});

test('the lists of other formats have them too', async () => {
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key });
  const ids: string[] = [];
  for await (const { id } of anthropic.models.list()) ids.push(id);
  assert.ok(ids.includes('auto') && !ids.includes('banned'), ids.join());
  const auto = await anthropic.models.retrieve('auto');
  const vector = await anthropic.models.retrieve('vector');
  assert.deepEqual([auto.max_input_tokens, auto.max_tokens], [200_000, 8_000]);
  for (const name of ['image_input', 'pdf_input', 'structured_outputs', 'thinking'] as const)
    assert.deepEqual(
      [auto.capabilities?.[name], vector.capabilities?.[name]],
      [{ supported: true }, { supported: false }],
      name,
    );
  const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });
  const named: (string | undefined)[] = [];
  for await (const { name } of await google.models.list()) named.push(name);
  assert.ok(named.includes('models/auto'), named.join());
  assert.equal((await google.models.get({ model: 'auto' })).inputTokenLimit, 200_000);
  const tags = (await (await gateway.fetch('/api/tags')).json()) as { models: { name: string }[] };
  assert.ok(tags.models.some(({ name }) => name.startsWith('auto')));
  const { models } = (await (await gateway.fetch('/v4/ai/config')).json()) as { models: { id: string }[] };
  assert.ok(models.some(({ id }) => id === 'auto'));
});
