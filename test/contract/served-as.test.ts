import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Providers say how they served a request: in another tier, faster, at a place. They charge for it. */

const upstream = await startUpstream();
after(() => upstream.close());
const base = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const price = { input: 1_000, output: 2_000, served_as: { flex: 0.5, priority: 2, fast: 6, us: 1.1 } };
const words = ['usual', 'flex', 'priority', 'fast', 'us', 'unknown'];
const providers = ['chat', 'responses', 'anthropic'];
const gateway = await startGateway(
  { after: after as never },
  {
    providers: {
      chat: { type: 'openai', dialects: ['openai-chat'], ...base },
      responses: { type: 'openai', dialects: ['openai-responses'], ...base },
      anthropic: { type: 'anthropic', ...base },
      listed: { type: 'openai', dialects: ['openai-chat'], prices: 'openai', ...base },
    },
    models: {
      ...Object.fromEntries(
        providers.flatMap((provider) =>
          words.map((word) => [
            `${provider}-${word}`,
            { targets: [{ provider, model: word === 'usual' ? 'mock/ok' : `mock/tier=${word}`, price }] },
          ]),
        ),
      ),
      ...Object.fromEntries(
        ['mock/ok', 'mock/tier=flex', 'mock/tier=priority'].map((model) => [
          `listed-${/=(.*)/.exec(model)?.[1] ?? 'usual'}`,
          { targets: [{ provider: 'listed', model, priced_as: 'gpt-5.1' }] },
        ]),
      ),
      'listed-own': {
        targets: [
          { provider: 'listed', model: 'mock/tier=flex', priced_as: 'gpt-5.1', price: { served_as: { flex: 0.4 } } },
        ],
      },
    },
  },
);

async function costOf(model: string, path: string, stream: boolean): Promise<number> {
  const turn = [{ role: 'user', content: 'Hello there' }];
  const json = { model, stream, ...(path === '/v1/responses' ? { input: turn } : { messages: turn, max_tokens: 50 }) };
  const answer = await gateway.fetch(path, { json });
  assert.equal(answer.status, 200, await answer.clone().text());
  await answer.text();
  const id = answer.headers.get('x-request-id');
  const record = await gateway.fetch(`/admin/v1/requests/${id}`, { headers: { authorization: `Bearer ${adminKey}` } });
  const { cost_usd: usd } = (await record.json()) as { cost_usd: number };
  if (!stream) assert.equal(Number(answer.headers.get('x-culvert-cost-usd')), usd);
  return usd;
}

for (const provider of providers) {
  const tiers = provider === 'anthropic' ? { priority: 2, fast: 6, us: 1.1 } : { flex: 0.5, priority: 2 };
  for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses']) {
    for (const stream of [false, true]) {
      test(`${provider} upstream, ${path}${stream ? ', streamed' : ''}: tokens cost what the service does`, async () => {
        const usual = await costOf(`${provider}-usual`, path, stream);
        assert.ok(usual > 0);
        for (const [word, factor] of Object.entries({ ...tiers, unknown: 1 })) {
          const usd = await costOf(`${provider}-${word}`, path, stream);
          assert.ok(Math.abs(usd - usual * factor) < 1e-6, `${word}: ${usd}, and usually ${usual}`);
        }
      });
    }
  }
}

test('the price list is completed by what OpenAI charges for its tiers', async () => {
  const path = '/v1/chat/completions';
  const [usual, flex, priority] = [
    await costOf('listed-usual', path, false),
    await costOf('listed-flex', path, false),
    await costOf('listed-priority', path, false),
  ];
  assert.deepEqual(
    [flex, priority],
    [usual / 2, usual * 2].map((usd) => Math.round(usd * 1e9) / 1e9),
  );
});

test('factors without prices change those of the price list alone', async () => {
  const path = '/v1/chat/completions';
  const usual = await costOf('listed-usual', path, false);
  assert.equal(await costOf('listed-own', path, false), Math.round(usual * 0.4 * 1e9) / 1e9);
  const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: { id: string; pricing: object }[] };
  const shown = data.find(({ id }) => id === 'listed-own')!.pricing;
  assert.deepEqual((shown as { served_as: object }).served_as, { flex: 0.4, priority: 2 });
});

for (const [provider, path] of [
  ['chat', '/v1/chat/completions'],
  ['chat', '/v1/responses'],
  ['responses', '/v1/responses'],
] as const) {
  test(`${provider} upstream, ${path}: a stream that its caller left costs what the asked tier does`, async () => {
    const there = provider === 'chat' ? '/v1/chat/completions' : '/v1/responses';
    upstream.script(there, ['chunks=100;interval=20ms']);
    const turn = [{ role: 'user', content: 'Hello there' }];
    const sent = { model: `${provider}-usual`, stream: true, service_tier: 'priority' };
    const json = { ...sent, ...(path === '/v1/responses' ? { input: turn } : { messages: turn }) };
    const leaving = new AbortController();
    const answer = await gateway.fetch(path, { json, signal: leaving.signal });
    let text = '';
    for await (const chunk of answer.body!) {
      text += Buffer.from(chunk).toString();
      if (text.split('delta').length > 4) break;
    }
    leaving.abort();
    const id = answer.headers.get('x-request-id');
    const headers = { authorization: `Bearer ${adminKey}` };
    let record = await gateway.fetch(`/admin/v1/requests/${id}`, { headers });
    while (record.status === 404) record = await gateway.fetch(`/admin/v1/requests/${id}`, { headers });
    const { cost_usd: usd, usage } = (await record.json()) as { cost_usd: number; usage: Record<string, number> };
    const usual = (usage.input_tokens! * price.input + usage.output_tokens! * price.output) / 1e6;
    assert.ok(usual > 0 && Math.abs(usd - usual * 2) < 1e-6, `${usd}, and usually ${usual}`);
  });
}

test('OpenAI’s and Anthropic’s clients read the tier that their request was charged for', async () => {
  const base = { apiKey: gateway.key, maxRetries: 0 };
  const openai = new OpenAI({ ...base, baseURL: `${gateway.url}/v1` });
  const anthropic = new Anthropic({ ...base, baseURL: gateway.url });
  const messages = [{ role: 'user' as const, content: 'Hello there' }];
  const asked = openai.chat.completions.create({ model: 'chat-flex', messages, service_tier: 'priority' });
  const { data: chat, response } = await asked.withResponse();
  assert.equal(chat.service_tier, 'flex');
  const usual = await costOf('chat-usual', '/v1/chat/completions', false);
  const factor = Number(response.headers.get('x-culvert-cost-usd')) / usual;
  assert.ok(Math.abs(factor - 0.5) < 0.01, `${factor}`);
  const answer = await openai.responses.create({ model: 'responses-priority', input: 'Hello there' });
  assert.equal(answer.service_tier, 'priority');
  const turn = { model: 'anthropic-us', max_tokens: 50, messages, inference_geo: 'us' };
  const stream = anthropic.messages.stream(turn);
  assert.equal((await stream.finalMessage()).usage.inference_geo, 'us');
});

test('a price that is set later is applied with the factor of the past request', async () => {
  const admin = async (method: string, path: string, json: object) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const answer = await gateway.fetch(`/admin/v1${path}`, { method, json, headers });
    assert.ok(answer.ok, await answer.clone().text());
    return (await answer.json()) as { new_usd: number };
  };
  const target = { provider: 'chat', model: 'mock/tier=flex' };
  await admin('POST', '/models', { id: 'later', targets: [target] });
  assert.equal(await costOf('later', '/v1/chat/completions', true), null);
  await admin('PATCH', '/models/later', { targets: [{ ...target, price }] });
  const { new_usd: usd } = await admin('POST', '/usage/recalculate', { model: 'later', apply: true });
  assert.ok(Math.abs(usd - (await costOf('chat-flex', '/v1/chat/completions', true))) < 1e-6);
});

test('/v1/models shows the factors', async () => {
  const answer = await gateway.fetch('/v1/models');
  const { data } = (await answer.json()) as { data: { id: string; pricing?: { served_as?: object } }[] };
  const shown = (id: string) => data.find((one) => one.id === id)?.pricing?.served_as;
  assert.deepEqual(shown('chat-usual'), price.served_as);
  assert.deepEqual(shown('listed-usual'), { flex: 0.5, priority: 2 });
});
