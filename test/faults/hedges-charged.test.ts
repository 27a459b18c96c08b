import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const price = { input: 1_000, output: 1_000 };
const messages = [{ role: 'user', content: 'Hello' }];

/** How long a provider says nothing that a caller sees: at all, or after it has counted the input. */
const silences = { openai: 'delay=20s', anthropic: 'stall=1events' } as const;

for (const [type, silence] of Object.entries(silences)) {
  test(`a request that was sent elsewhere too pays for the answer that it got alone (${type}: ${silence})`, async (t) => {
    const [slow, quick] = [await startUpstream(), await startUpstream()];
    t.after(() => Promise.all([slow.close(), quick.close()]));
    const gateway = await startGateway(t, {
      providers: {
        slow: { type, base_url: type === 'openai' ? `${slow.url}/v1` : slow.url, api_key: 'a' },
        quick: { type: 'openai', base_url: `${quick.url}/v1`, api_key: 'b' },
      },
      models: {
        chat: {
          targets: [
            { provider: 'slow', model: 'mock/ok', price, max_first_token: '100ms' },
            { provider: 'quick', model: 'mock/ok', price, priority: 2 },
          ],
        },
      },
      plans: { default: { rpm: 'off', windows: 'off', budget: { week: 1_000 }, tokens: { week: 1_000_000 } } },
    });
    await gateway.modelsKnown;
    for (const path of ['/v1/chat/completions', '/v1/messages']) slow.script(path, [`always ${silence}`]);
    const answer = await gateway.fetch('/v1/chat/completions', { json: { model: 'chat', stream: true, messages } });
    assert.equal(answer.status, 200, await answer.text());
    const record = await gateway.fetch(`/v1/requests/${answer.headers.get('x-culvert-request-id')}`);
    const { cost_usd, usage, route } = (await record.json()) as {
      cost_usd: number;
      usage: { input_tokens: number; output_tokens: number };
      route: { attempts: { class: string; costUsd: number; usage: Record<string, number> }[] };
    };
    const [lost, won] = route.attempts;
    assert.deepEqual([lost?.class, won?.class], ['cancelled', 'ok']);
    assert.ok(lost!.costUsd > 0, 'the other one may have cost its operator something');
    assert.equal(cost_usd, won!.costUsd);
    assert.deepEqual([usage.input_tokens, usage.output_tokens], [won!.usage.inputTokens, won!.usage.outputTokens]);
    const limits = await (await gateway.fetch('/v1/usage')).json();
    const { budget, tokens } = limits as Record<'budget' | 'tokens', { week: { used: number } }>;
    assert.deepEqual([budget.week.used, tokens.week.used], [cost_usd, usage.input_tokens + usage.output_tokens]);
  });
}
