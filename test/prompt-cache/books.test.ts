import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startMessages } from './messages-upstream.ts';

const upstream = await startUpstream();
after(upstream.close);
const messages = await startMessages({ after } as TestContext);
const price = { input: 1_000, output: 0, cached_input: 100, cache_write: 1_250 };
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' },
    claude: { type: 'anthropic', base_url: `${messages.url}/v1`, api_key: 'k' },
  },
  models: {
    read: { targets: [{ provider: 'up', model: 'mock/tokens=1000;cached=800', price }] },
    none: { targets: [{ provider: 'up', model: 'mock/tokens=1000', price }] },
    unpriced: { targets: [{ provider: 'up', model: 'mock/tokens=1000;cached=800' }] },
    written: { targets: [{ provider: 'claude', model: 'claude-sonnet-4-5', price }] },
  },
});

interface Row {
  saved_usd: number | null;
  usage: { input_tokens: number; cached_input_tokens: number; cache_write_tokens?: number };
}

async function rowOf(model: string): Promise<{ row: Row; answer: { usage: Record<string, unknown> } }> {
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    json: { model, messages: [{ role: 'user', content: `${'wall '.repeat(1_000)} ${model}` }] },
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const path = `/admin/v1/requests/${response.headers.get('x-culvert-request-id')}`;
  let row: (Row & { status: number }) | null = null;
  await until('the row is written', async () => {
    const found = await gateway.fetch(path, { headers: { authorization: `Bearer ${adminKey}` } });
    row = found.status === 200 ? ((await found.json()) as Row & { status: number }) : null;
    return row !== null && row.status !== 0;
  });
  return { row: row as never, answer: JSON.parse(text) };
}

test("the books say what the provider's cache saved by the prices of cached and other input", async () => {
  const { row } = await rowOf('read');
  const { cached_input_tokens: cached } = row.usage;
  assert.ok(cached > 0, JSON.stringify(row));
  assert.ok(Math.abs(Number(row.saved_usd) - (cached * 900) / 1e6) < 1e-9, JSON.stringify(row));
});

test('what was written to a cache costs more, and the books say so', async () => {
  const { row, answer } = await rowOf('written');
  assert.deepEqual([row.usage.cached_input_tokens, row.usage.cache_write_tokens], [200, 1_000]);
  assert.equal(row.saved_usd, (200 * 900 - 1_000 * 250) / 1e6);
  assert.equal((answer.usage.prompt_tokens_details as Record<string, number>).cached_tokens, 200);
});

test('without a cache or a price the books say nothing', async () => {
  assert.equal((await rowOf('none')).row.saved_usd, null);
  assert.equal((await rowOf('unpriced')).row.saved_usd, null);
});

test('days sum what providers read from their caches and wrote to them, and what that saved', async () => {
  const daysOf = async (query: string) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const response = await gateway.fetch(`/admin/v1/cache${query}`, { headers });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return (JSON.parse(text) as { prompt_cache: Record<string, unknown>[] }).prompt_cache;
  };
  const [before] = await daysOf('?model=written');
  const { row } = await rowOf('written');
  await rowOf('none');
  const [day, ...others] = await daysOf('?model=written');
  assert.deepEqual(others, [], 'one day');
  const more = (field: string) => Number(day?.[field]) - Number(before?.[field] ?? 0);
  const sums = [more('requests'), more('cached_input_tokens'), more('cache_write_tokens')];
  assert.deepEqual(sums, [1, 200, 1_000], JSON.stringify(day));
  assert.ok(Math.abs(more('saved_usd') - Number(row.saved_usd)) < 1e-9, JSON.stringify(day));
  assert.equal(day?.day, new Date().toISOString().slice(0, 10));
  assert.deepEqual(await daysOf('?model=none'), [], 'nothing was read or written');
  assert.ok(Number((await daysOf(''))[0]?.requests) >= Number(day?.requests), 'all models together');
  assert.deepEqual(await daysOf('?to=2020-01-01T00:00:00Z'), []);
});
