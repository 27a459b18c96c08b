import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workersKnow } from '../start-gateway.ts';
import { servePlans } from './plan-gateway.ts';
import type { ErrorBody } from './served.ts';

const { ask, status, usage } = await servePlans(
  {
    free: { rpm: 20, windows: { '5h': 50, week: 300 }, tokens: { month: 5_000 }, concurrency: 4 },
    other: {},
    brisk: { rpm: 20 },
  },
  {
    tiers: { premium: { '5h': 10 } },
    models: {
      priced: {
        tier: 'premium',
        cost: 0.05,
        targets: [{ provider: 'up1', model: 'mock/ok', price: { input: 1, output: 2 } }],
      },
      failing: { targets: ['up1/mock/status=500'] },
    },
  },
);
const firstMs = performance.now();
await status('free');
await status('free', { model: 'priced', user: 'ann' });
await status('free', { model: 'failing', user: 'bob' });
await status('other');
await workersKnow();

test('"GET /v1/usage": account, plan and how full every limit is; units as decimals, allowed null = unlimited', async () => {
  const told = await usage('free');
  assert.deepEqual([told.account, told.plan], ['free', 'free']);
  const { '5h': fiveHours, week, month } = told.windows;
  assert.deepEqual([fiveHours.used, fiveHours.allowed, fiveHours.remaining], [1.05, 50, 48.95]);
  const leavesInMs = Date.parse(fiveHours.resets_at ?? '') - Date.now();
  // A bucket of the window, and what has passed since the first request.
  const boundMs = 60_000 + (performance.now() - firstMs);
  assert.ok(Math.abs(leavesInMs - 5 * 3_600_000) <= boundMs, `${leavesInMs}`);
  assert.deepEqual([week.used, week.allowed], [1.05, 300]);
  assert.deepEqual([month.used, month.allowed, month.remaining], [1.05, null, null]);
  assert.equal(told.rpm.allowed, 20);
  assert.deepEqual(told.concurrency, { used: 0, allowed: 4 });
  assert.deepEqual([told.tiers.premium?.windows['5h'].used, told.tiers.premium?.windows['5h'].allowed], [0.05, 10]);
  assert.equal(told.tiers.premium?.rpm.allowed, null);
  assert.ok(told.tokens.month.used > 0 && told.tokens.month.allowed === 5_000);
  assert.ok(told.budget.month.used > 0 && told.budget.month.allowed === null);
  assert.equal(told.key, null);
});

test('requests a minute are those of the last minute', async () => {
  // Asked here: the requests above may be older than a minute when their tests come.
  for (let i = 0; i < 3; i++) await status('brisk');
  await workersKnow();
  const { rpm } = await usage('brisk');
  assert.deepEqual([rpm.used, rpm.allowed], [3, 20]);
});

test('it is free: neither a unit nor a request a minute', async () => {
  const before = await usage('brisk');
  for (let i = 0; i < 30; i++) await usage('brisk');
  const after = await usage('brisk');
  assert.deepEqual([after.windows['5h'].used, after.rpm.used], [before.windows['5h'].used, before.rpm.used]);
  const response = await ask('brisk', '/v1/usage');
  await response.text();
  assert.equal(response.headers.get('ratelimit'), null);
});

test('"data" sums the last 30 days by day, or by model, endpoint or user', async () => {
  const today = new Date().toISOString().slice(0, 10);
  const [day, ...others] = (await usage('free')).data;
  assert.deepEqual(others, []);
  assert.deepEqual([day?.group, day?.requests, day?.units, day?.errors], [today, 3, 1.05, 1]);
  assert.ok(day!.input_tokens > 0 && day!.output_tokens > 0 && day!.cost_usd > 0);
  const byModel = (await usage('free', '?group_by=model')).data;
  assert.deepEqual(
    byModel.map(({ group, requests, units }) => [group, requests, units]),
    [
      ['chat', 1, 1],
      ['priced', 1, 0.05],
      ['failing', 1, 0],
    ],
  );
  assert.deepEqual(
    (await usage('free', '?group_by=endpoint')).data.map(({ group }) => group),
    ['chat'],
  );
  const users = (await usage('free', '?group_by=user')).data.map(({ group }) => group);
  assert.deepEqual(users.toSorted(), ['', 'ann', 'bob']);
});

test("S10: it tells of the caller's own account alone", async () => {
  const [day] = (await usage('other')).data;
  assert.equal(day?.requests, 1);
  assert.equal((await usage('other', '?account=free')).account, 'other');
});

test('"from" and "to" are dates, times or how long ago', async () => {
  const from = new Date(Date.now() - 3_600_000).toISOString();
  assert.equal((await usage('free', `?from=${from}`)).data[0]?.requests, 3);
  assert.equal((await usage('free', '?from=2h')).data[0]?.requests, 3);
  assert.deepEqual((await usage('free', '?from=2020-01-01&to=2020-02-01')).data, []);
});

for (const [query, param] of [
  ['group_by=account', 'group_by'],
  ['group_by=', 'group_by'],
  ['group_by=__proto__', 'group_by'],
  ['from=yesterday', 'from'],
  ['from=', 'from'],
  ['to=2026-02-30', 'to'],
  ['from=2026-02-02&to=2026-02-01', 'from'],
  ['from=2020-01-01&to=2026-01-01', 'from'],
  ['from=0s', 'from'],
] as const) {
  test(`?${query} is 400 naming ${param}`, async () => {
    const response = await ask('free', `/v1/usage?${query}`);
    const { error } = (await response.json()) as ErrorBody;
    assert.deepEqual([response.status, error.type, error.param], [400, 'invalid_request_error', param]);
  });
}

test('without a key it is 401, and another method 405', async () => {
  const { gateway } = await servePlans({ x: {} });
  assert.equal((await fetch(`${gateway.url}/v1/usage`)).status, 401);
  assert.equal((await ask('free', '/v1/usage', {})).status, 405);
});
