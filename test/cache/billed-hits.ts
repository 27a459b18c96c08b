import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { until } from '../until.ts';
import { ask } from './formats.ts';
import { startAsked } from './start-asked.ts';

/** That so many hits, in all formats, whole and streamed, cost what the first answer did and no more. */
export async function billedHits(t: TestContext, cases: number): Promise<void> {
  const upstream = await startAsked(t);
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: {
      chat: {
        targets: [{ provider: 'up', model: 'm', price: { input: 1_000, output: 1_000 } }],
        cache: { ttl: '1h' },
      },
    },
  });
  const admin = { headers: { authorization: `Bearer ${adminKey}` } };
  const formats = ['chat', 'messages', 'responses', 'gemini'] as const;
  await ask(gateway, 'chat');
  // Several processes learn of it in a moment; as many connections reach all of them.
  await until('each process knows the answer', async () => {
    const answers = Array.from({ length: 8 }, () => ask(gateway, 'chat', { headers: { 'x-culvert-cache': 'only' } }));
    return (await Promise.all(answers)).every(({ cache }) => cache === 'hit');
  });
  let left = cases;
  const work = async () => {
    for (; left > 0; left -= 1) {
      const answer = await ask(gateway, formats[left % 4] ?? 'chat', { stream: left % 3 === 0 });
      assert.equal(answer.cache, 'hit', answer.body);
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  assert.equal(upstream.asked, 1);
  await until('the books have all', async () => {
    const response = await gateway.fetch('/admin/v1/usage?group_by=model', admin);
    const { data } = (await response.json()) as { data: { requests: number; cost_usd: number; units: number }[] };
    const [row] = data;
    if ((row?.requests ?? 0) <= cases) return false;
    assert.ok(Math.abs(Number(row?.cost_usd) - 0.012) < 1e-9, JSON.stringify(row));
    assert.equal(row?.units, 1, JSON.stringify(row));
    return true;
  });
}
