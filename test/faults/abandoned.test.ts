import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const settings = ['free', 'tokens', 'full', 'default'] as const;

interface Way {
  name: string;
  model: 'chat' | 'claude';
  stream: boolean;
  /** The provider's behaviour until the caller has left. */
  does: string;
  /** Who says how many tokens the input had; null: the caller leaves in the middle of the answer. */
  told: 'estimated' | 'upstream' | null;
}

const ways: readonly Way[] = [
  { name: 'a whole answer', model: 'chat', stream: false, does: 'delay=20s', told: 'estimated' },
  { name: 'a stream', model: 'chat', stream: true, does: 'delay=20s', told: 'estimated' },
  { name: 'a stream that has begun', model: 'chat', stream: true, does: 'stall=1events', told: 'estimated' },
  { name: 'a stream whose beginning counts', model: 'claude', stream: true, does: 'stall=1events', told: 'upstream' },
  { name: 'a stream', model: 'chat', stream: true, does: 'chunks=9;stall=4events', told: null },
];

const price = { input: 1_000, output: 1_000 };

/** An account for each setting of `abandoned`, with a key. */
async function world(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const keyOf = (setting: string) => `sk-cv-leaves-early-${setting}`;
  const gateway = await startGateway(t, {
    providers: {
      up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'a' },
      claude: { type: 'anthropic', base_url: upstream.url, api_key: 'b' },
    },
    models: {
      chat: { targets: [{ provider: 'up', model: 'mock/ok', price }] },
      claude: { targets: [{ provider: 'claude', model: 'mock/ok', price }] },
    },
    plans: Object.fromEntries(
      settings.map((setting) => [
        setting,
        {
          rpm: 'off',
          windows: { '5h': 10 },
          budget: { week: 1_000 },
          ...(setting === 'default' ? {} : { abandoned: setting }),
        },
      ]),
    ),
    accounts: Object.fromEntries(settings.map((setting) => [setting, { plan: setting }])),
    keys: settings.map((setting) => ({ key: keyOf(setting), account: setting, name: 'test' })),
  });
  await gateway.modelsKnown;
  return { upstream, gateway, keyOf };
}

for (const { name, model, stream, does, told } of ways) {
  const title =
    told === null
      ? `A caller who leaves after the first content of ${name} pays all of it, whatever the plan says`
      : `A caller who leaves before the first content of ${name} pays what the plan says`;
  test(title, async (t) => {
    const { upstream, gateway, keyOf } = await world(t);
    const paid: Record<string, unknown> = {};
    for (const setting of settings) {
      upstream.clear();
      // Each worker asks for the provider's models, too.
      for (const path of ['/v1/chat/completions', '/v1/messages']) upstream.script(path, [does]);
      const headers = { authorization: `Bearer ${keyOf(setting)}` };
      const leaving = new AbortController();
      const asked = gateway
        .fetch('/v1/chat/completions', {
          json: { model, stream, messages: [{ role: 'user', content: 'Hello' }] },
          headers: { ...headers, 'x-request-id': `left-${setting}` },
          signal: leaving.signal,
        })
        .then((answer) => answer.body!.getReader().read())
        .catch(() => null);
      await upstream.when((request) => request.method === 'POST');
      if (told === null) assert.ok((await asked)?.value);
      // Earlier bytes of the provider are read before its answer.
      else await (await gateway.fetch('/v1/usage', { headers })).text();
      leaving.abort();
      await asked;
      const deadlineMs = performance.now() + 5_000;
      let record: Response;
      do record = await gateway.fetch(`/v1/requests/left-${setting}`, { headers });
      while (record.status !== 200 && performance.now() < deadlineMs);
      const {
        status,
        units,
        cost_usd: usd,
        usage,
        route,
      } = (await record.json()) as {
        status: number;
        units: number;
        cost_usd: number | null;
        usage: { input_tokens: number; source: string };
        route: { attempts: { bytes: number; costUsd: number; usage: { inputTokens: number } }[] };
      };
      const [attempt] = route.attempts;
      assert.equal(attempt!.bytes > 0, does.includes('stall'), 'the provider had begun where it should');
      if (usage.source !== 'none') assert.equal(usage.input_tokens, attempt!.usage.inputTokens);
      const { windows, budget } = (await (await gateway.fetch('/v1/usage', { headers })).json()) as {
        windows: { '5h': { used: number } };
        budget: { week: { used: number } };
      };
      assert.equal(windows['5h'].used, units);
      assert.ok(attempt!.costUsd > 0);
      assert.equal(usd, usage.source === 'none' ? null : attempt!.costUsd);
      assert.equal(budget.week.used, usd ?? 0);
      paid[setting] = [status, units, usage.input_tokens > 0, usage.source];
    }
    const all = [200, 1, true, 'counted'];
    assert.deepEqual(
      paid,
      told === null
        ? { free: all, tokens: all, full: all, default: all }
        : {
            free: [499, 0, false, 'none'],
            tokens: [499, 0, true, told],
            full: [499, 1, true, told],
            default: [499, 0, true, told],
          },
    );
  });
}

test('A caller whose own deadline passes before the first content pays as one who leaves', async (t) => {
  const { upstream, gateway, keyOf } = await world(t);
  upstream.script('/v1/chat/completions', ['always delay=20s']);
  const paidBy = async (setting: string, stream: boolean) => {
    const headers = { authorization: `Bearer ${keyOf(setting)}` };
    const json = { model: 'chat', stream, messages: [{ role: 'user', content: 'Hello' }] };
    const limited = { ...headers, 'x-culvert-timeout-ms': '1000' };
    const late = await gateway.fetch('/v1/chat/completions', { json, headers: limited });
    assert.equal(late.status, 502, await late.text());
    const record = await gateway.fetch(`/v1/requests/${late.headers.get('x-culvert-request-id')}`, { headers });
    const {
      units,
      cost_usd: usd,
      usage,
    } = (await record.json()) as {
      units: number;
      cost_usd: number | null;
      usage: { source: string };
    };
    return [units, (usd ?? 0) > 0, usage.source];
  };
  const paid = settings.map(async (setting) => [
    setting,
    await Promise.all([paidBy(setting, false), paidBy(setting, true)]),
  ]);
  const both = (charge: readonly unknown[]) => [charge, charge];
  assert.deepEqual(Object.fromEntries(await Promise.all(paid)), {
    free: both([0, false, 'none']),
    tokens: both([0, true, 'estimated']),
    full: both([1, true, 'estimated']),
    default: both([0, true, 'estimated']),
  });
});

test('A caller whose deadline is that of the model pays nothing', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'a' } },
    models: { chat: { targets: [{ provider: 'up', model: 'mock/ok', price }], timeouts: { total: '1s' } } },
    plans: { default: { windows: 'off', rpm: 'off', abandoned: 'full' } },
  });
  upstream.script('/v1/chat/completions', ['delay=20s']);
  const json = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  const headers = { 'x-culvert-timeout-ms': '5000' };
  const late = await gateway.fetch('/v1/chat/completions', { json, headers });
  assert.equal(late.status, 502, await late.text());
  const record = await gateway.fetch(`/v1/requests/${late.headers.get('x-culvert-request-id')}`);
  const { units, cost_usd: usd } = (await record.json()) as { units: number; cost_usd: number | null };
  assert.deepEqual([units, usd ?? 0], [0, 0]);
});
