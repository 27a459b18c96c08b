import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask } from './formats.ts';

const upstream = await startUpstream();
after(upstream.close);
const priced = { provider: 'up', model: 'mock/ok', price: { input: 1_000, output: 1_000 } };
const config = (costs: object) => ({
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: { chat: { targets: [priced], cache: { ttl: '1h' }, cost: 2 } },
  plans: { default: { windows: { '5h': 3 } } },
  costs,
});
const gateway = await startGateway({ after } as TestContext, config({}));
const admin = { headers: { authorization: `Bearer ${adminKey}` } };

/** The row of a request, once it is written. */
async function rowOf(headers: Headers): Promise<Record<string, unknown> & { usage: Record<string, unknown> }> {
  const id = headers.get('x-culvert-request-id');
  let row: Record<string, unknown> | null = null;
  await until('the row is written', async () => {
    const response = await gateway.fetch(`/admin/v1/requests/${id}`, admin);
    if (response.status === 200) row = (await response.json()) as Record<string, unknown>;
    return row !== null && row.status !== 0;
  });
  return row as never;
}

test('the books say what a hit saved, and that it used and cost nothing', async () => {
  const miss = await ask(gateway, 'chat', { text: 'books' });
  const asked = await rowOf(miss.headers);
  const costUsd = Number(asked.cost_usd);
  assert.ok(costUsd > 0, JSON.stringify(asked));
  assert.equal(asked.saved_usd, null);
  const hit = await ask(gateway, 'messages', { text: 'books', stream: true });
  assert.equal(hit.cache, 'hit');
  const row = await rowOf(hit.headers);
  assert.equal(row.saved_usd, costUsd);
  assert.deepEqual([row.status, row.class, row.units, row.target], [200, 'ok', 0, null], JSON.stringify(row));
  assert.ok(!((row.cost_usd as number | null) ?? 0), JSON.stringify(row));
  assert.deepEqual([row.usage.input_tokens, row.usage.output_tokens], [0, 0]);
  assert.ok(JSON.stringify(row).includes('cacheAgeMs'), JSON.stringify(row));

  const metrics = await (await gateway.fetch('/metrics', admin)).text();
  assert.match(metrics, /^culvert_cache_lookups_total\{outcome="hit"\} 1$/m);
  assert.match(metrics, /^culvert_cache_lookups_total\{outcome="miss"\} 1$/m);
  const saved = Number(metrics.match(/^culvert_cache_saved_usd_total (\S+)$/m)?.[1]);
  assert.ok(Math.abs(saved - costUsd) < 1e-9, metrics);

  const kept = (await (await gateway.fetch('/admin/v1/cache', admin)).json()) as { models: Record<string, unknown>[] };
  const [model] = kept.models;
  const { hits, semantic_hits, misses, hit_rate, saved_usd } = model ?? {};
  assert.deepEqual({ hits, semantic_hits, misses, hit_rate }, { hits: 1, semantic_hits: 0, misses: 1, hit_rate: 0.5 });
  assert.equal(saved_usd, costUsd);
  assert.equal(model?.entries, 1);
  const before = await gateway.fetch('/admin/v1/cache?to=2020-01-01T00:00:00Z', admin);
  const [then] = ((await before.json()) as { models: Record<string, unknown>[] }).models;
  assert.deepEqual([then?.entries, then?.hits, then?.hit_rate], [1, 0, null]);
});

test('hits pass where no quota is left, unless costs.cached says what they cost', async () => {
  // Two of three units are gone, and a request costs two.
  assert.equal((await ask(gateway, 'chat', { text: 'another' })).status, 429);
  for (let n = 0; n < 5; n += 1) assert.equal((await ask(gateway, 'chat', { text: 'books' })).cache, 'hit');
  await gateway.reload(config({ cached: 0.5 }));
  const paid = await ask(gateway, 'chat', { text: 'books' });
  assert.deepEqual([paid.cache, paid.headers.get('x-culvert-cost')], ['hit', '1']);
  assert.equal((await ask(gateway, 'chat', { text: 'books' })).status, 429);
});
