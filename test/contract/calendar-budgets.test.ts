import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CalendarPeriod } from '../../src/books/metering/window.ts';
import { adminKey } from '../start-gateway.ts';
import { until } from '../until.ts';
import { refusedFor, servePlans } from './plan-gateway.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a test looks at in an answer is what it asserts.
type Answer = any;

const zone = 'America/New_York';
const { chat, status, usage, gateway } = await servePlans(
  {
    daily: { rpm: 'off', calendar_budget: { time_zone: zone, day: 0.001, month: 50 } },
    free: { rpm: 'off' },
    keyed: { rpm: 'off' },
  },
  { models: { priced: { targets: [{ provider: 'up1', model: 'mock/ok', price: { input: 1_000, output: 1_000 } }] } } },
);
const priced = { model: 'priced' };
const endOf = (name: 'day' | 'month') => new CalendarPeriod(name, zone).endMs(Date.now());

async function admin(method: string, path: string, json?: unknown) {
  const headers = { authorization: `Bearer ${adminKey}` };
  const response = await gateway.fetch(`/admin/v1${path}`, { method, headers, ...(json !== undefined && { json }) });
  return { status: response.status, body: (await response.json()) as Answer };
}

test('a budget by calendar of the file stops at its limit, says until when, and shows how full it is', async () => {
  assert.equal(await status('daily', priced), 200);
  const response = await chat('daily', priced);
  const { headers } = response;
  const error = await refusedFor(`budget:day@${zone}`, response);
  assert.match(
    error.message,
    /: daily budget \(America\/New_York\), 0\.\d+ of 0\.001 USD used\. The next request passes/,
  );
  assert.equal(Date.parse(error.resets_at ?? ''), endOf('day'));
  assert.match(headers.get('ratelimit-policy') ?? '', /"budget:day@America\/New_York";q=0;qu="usd";w=86400/);
  const { calendar_budget: shown } = (await usage('daily')) as Answer;
  assert.deepEqual([shown.time_zone, shown.week, shown.day.remaining, shown.day.allowed], [zone, undefined, 0, 0.001]);
  assert.equal(shown.month.used, shown.day.used);
  // Two clocks of whole milliseconds may differ by one.
  assert.ok(Math.abs(Date.parse(shown.month.resets_at) - endOf('month')) <= 1, shown.month.resets_at);
  const { body } = await admin('GET', '/accounts/daily/windows');
  const calendar = body.data[0].windows.filter((row: Answer) => row.calendar !== null);
  assert.deepEqual(
    calendar.map((row: Answer) => [row.calendar, row.measure, row.limit, row.used === row.frees]),
    [
      [{ period: 'day', time_zone: zone }, 'usd', 0.001, true],
      [{ period: 'month', time_zone: zone }, 'usd', 50, true],
    ],
  );
});

test('a plan of the admin API has them too, its preview says whom it stops, and it counts what was spent before', async () => {
  await admin('POST', '/accounts', { id: 'later' });
  const { body: key } = await admin('POST', '/keys', { account: 'later', name: 'k' });
  const call = async () => {
    const headers = { authorization: `Bearer ${key.key}` };
    const json = { model: 'priced', messages: [{ role: 'user', content: 'Hello' }] };
    const response = await gateway.fetch('/v1/chat/completions', { headers, json });
    return { status: response.status, text: await response.text() };
  };
  const plan = (day: number) => ({ rpm: 'off', calendar_budget: { time_zone: 'Asia/Tokyo', day } });
  await admin('PUT', '/plans/tokyo', plan(100));
  await admin('PATCH', '/accounts/later', { plan: 'tokyo' });
  assert.equal((await call()).status, 200);
  const { body: preview } = await admin('POST', '/plans/tokyo/preview', plan(0.001));
  assert.deepEqual([preview.data[0].account, preview.data[0].windows[0].calendar.period], ['later', 'day']);
  assert.equal((await call()).status, 200, 'a preview changes nothing');
  await admin('PUT', '/plans/tokyo', plan(0.001));
  assert.match((await call()).text, /daily budget \(Asia\/Tokyo\)/);
});

test("a key's own budget by calendar counts for this key alone, and is raised in place", async () => {
  const { body: made } = await admin('POST', '/keys', {
    account: 'free',
    name: 'own',
    limits: { calendar_budget: { week: 0.001 } },
  });
  const call = async () => {
    const headers = { authorization: `Bearer ${made.key}` };
    const json = { model: 'priced', messages: [{ role: 'user', content: 'Hello' }] };
    const response = await gateway.fetch('/v1/chat/completions', { headers, json });
    return { status: response.status, text: await response.text() };
  };
  assert.equal((await call()).status, 200);
  assert.match((await call()).text, /budget of the calendar week \(UTC\) of this key/);
  assert.equal(await status('free', priced), 200);
  const { body: raised } = await admin('PATCH', `/keys/${made.id}`, { limits: { calendar_budget: { week: 5 } } });
  assert.deepEqual(raised.limits, { calendar_budget: { time_zone: 'UTC', week: 5 } });
  assert.equal((await call()).status, 200);
});

test('an extra budget raises each budget of the plan until it ends, and the next request goes by it', async () => {
  await admin('PUT', '/plans/tight', {
    rpm: 'off',
    budget: { month: 0.001 },
    calendar_budget: { day: 0.001 },
  });
  await admin('POST', '/accounts', { id: 'extra', plan: 'tight' });
  const { body: key } = await admin('POST', '/keys', { account: 'extra', name: 'k' });
  const call = async () => {
    const headers = { authorization: `Bearer ${key.key}` };
    const json = { model: 'priced', messages: [{ role: 'user', content: 'Hello' }] };
    const response = await gateway.fetch('/v1/chat/completions', { headers, json });
    await response.text();
    return response.status;
  };
  assert.deepEqual([await call(), await call()], [200, 429]);
  const untilMs = Date.now() + 3_000;
  const extra_budget = { usd: 50, until: new Date(untilMs).toISOString() };
  await admin('PATCH', '/accounts/extra', { extra_budget });
  assert.equal(await call(), 200);
  const usage = await (await gateway.fetch('/v1/usage', { headers: { authorization: `Bearer ${key.key}` } })).json();
  const { budget, calendar_budget: calendar } = usage as Answer;
  const { body } = await admin('GET', '/accounts/extra/windows');
  const limits = body.data[0].windows.filter((row: Answer) => row.measure === 'usd' && row.limit !== null);
  if (Date.now() < untilMs) {
    assert.deepEqual([budget.month.allowed, calendar.day.allowed], [50.001, 50.001]);
    assert.deepEqual(
      limits.map((row: Answer) => row.limit),
      [50.001, 50.001],
    );
  }
  await until('the extra budget has ended', async () => (await call()) === 429);
  assert.ok(Date.now() >= untilMs);
});

/** Status of a chat with a priced model. */
async function chatStatus(headers: { authorization: string }): Promise<number> {
  const json = { model: 'priced', messages: [{ role: 'user', content: 'Hello' }] };
  const response = await gateway.fetch('/v1/chat/completions', { headers, json });
  await response.text();
  return response.status;
}

test('extra tokens and requests raise the windows of the plan, and leave its budgets', async () => {
  await admin('PUT', '/plans/counted', {
    rpm: 'off',
    windows: { week: 1 },
    tokens: { month: 100_000 },
    budget: { month: 1 },
  });
  await admin('POST', '/accounts', { id: 'counted', plan: 'counted' });
  const { body: key } = await admin('POST', '/keys', { account: 'counted', name: 'k' });
  const headers = { authorization: `Bearer ${key.key}` };
  const call = () => chatStatus(headers);
  assert.deepEqual([await call(), await call()], [200, 429]);
  const extra_budget = { tokens: 5_000, requests: 2, until: '5d' };
  const set = await admin('PATCH', '/accounts/counted', { extra_budget });
  assert.equal(set.status, 200, JSON.stringify(set.body));
  assert.deepEqual({ ...set.body.extra_budget, until: '5d' }, extra_budget);
  assert.deepEqual([await call(), await call(), await call()], [200, 200, 429]);
  const usage = (await (await gateway.fetch('/v1/usage', { headers })).json()) as Answer;
  assert.deepEqual(
    [usage.windows.week.allowed, usage.tokens.month.allowed, usage.budget.month.allowed],
    [3, 105_000, 1],
  );
});

test('an extra budget of a key raises its own budgets until it ends, and a wrong one is refused by its field', async () => {
  await admin('POST', '/accounts', { id: 'raised', plan: 'free' });
  const limits = { budget: { month: 0.001 } };
  const { body: key } = await admin('POST', '/keys', { account: 'raised', name: 'k', limits });
  const headers = { authorization: `Bearer ${key.key}` };
  const call = () => chatStatus(headers);
  assert.deepEqual([await call(), await call()], [200, 429]);
  const wrong = await admin('PATCH', `/keys/${key.id}`, { limits: { extra_budget: { usd: 5, until: 'Friday' } } });
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'limits.extra_budget.until']);
  const untilMs = Date.now() + 3_000;
  const extra_budget = { usd: 50, until: new Date(untilMs).toISOString() };
  const set = await admin('PATCH', `/keys/${key.id}`, { limits: { extra_budget } });
  assert.deepEqual(set.body.limits, { ...limits, extra_budget });
  assert.equal(await call(), 200);
  const usage = (await (await gateway.fetch('/v1/usage', { headers })).json()) as Answer;
  if (Date.now() < untilMs) assert.equal(usage.key.budget.month.allowed, 50.001);
  await until('the extra budget has ended', async () => (await call()) === 429);
  assert.ok(Date.now() >= untilMs);
});

for (const [budget, param, words] of [
  [{ time_zone: 'Europe/Berln', day: 1 }, 'calendar_budget.time_zone', /expected a time zone of the IANA list/],
  [{ time_zone: '', day: 1 }, 'calendar_budget.time_zone', /expected a time zone/],
  [{ day: 9, month: 5 }, 'calendar_budget.day', /is more than month allows/],
  [{ day: -1 }, 'calendar_budget.day', /./],
  [{ days: 1 }, 'calendar_budget.days', /did you mean 'day'/],
] as const) {
  test(`a plan with the calendar budget ${JSON.stringify(budget)} is a 400 that names the field`, async () => {
    const { status: refused, body } = await admin('PUT', '/plans/wrong', { calendar_budget: budget });
    assert.deepEqual([refused, body.error.param], [400, param]);
    assert.match(body.error.message, words);
  });
}
