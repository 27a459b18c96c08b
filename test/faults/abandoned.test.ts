import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const settings = ['free', 'tokens', 'full'] as const;

test('A caller who leaves before the first content pays what the plan says', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const keyOf = (setting: string) => `sk-cv-leaves-early-${setting}`;
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    plans: Object.fromEntries(
      [...settings, 'default'].map((setting) => [
        setting,
        { rpm: 'off', windows: { '5h': 10 }, ...(setting === 'default' ? {} : { abandoned: setting }) },
      ]),
    ),
    accounts: Object.fromEntries(settings.map((setting) => [setting, { plan: setting }])),
    keys: [...settings, 'default'].map((setting) => ({ key: keyOf(setting), account: setting, name: 'test' })),
  });
  await gateway.modelsKnown;
  const paid: Record<string, unknown> = {};
  for (const setting of [...settings, 'default']) {
    upstream.clear();
    upstream.script('/v1/chat/completions', ['delay=20s']);
    const headers = { authorization: `Bearer ${keyOf(setting)}`, 'x-request-id': `left-${setting}` };
    const leaving = new AbortController();
    const asked = gateway
      .fetch('/v1/chat/completions', {
        json: { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] },
        headers,
        signal: leaving.signal,
      })
      .catch(() => null);
    await upstream.when((request) => request.method === 'POST');
    leaving.abort();
    await asked;
    const deadlineMs = performance.now() + 5_000;
    let record: Response;
    do record = await gateway.fetch(`/v1/requests/left-${setting}`, { headers });
    while (record.status !== 200 && performance.now() < deadlineMs);
    const { status, units, usage } = (await record.json()) as {
      status: number;
      units: number;
      usage: { input_tokens: number; source: string };
    };
    const { windows } = (await (await gateway.fetch('/v1/usage', { headers })).json()) as {
      windows: { '5h': { used: number } };
    };
    assert.equal(windows['5h'].used, units);
    paid[setting] = [status, units, usage.input_tokens > 0, usage.source];
  }
  assert.deepEqual(paid, {
    free: [499, 0, false, 'none'],
    tokens: [499, 0, true, 'estimated'],
    full: [499, 1, true, 'estimated'],
    default: [499, 0, true, 'estimated'],
  });
});
