import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { listening } from '../listening.ts';
import { adminKey } from '../start-gateway.ts';
import { until } from '../until.ts';
import { servePlans } from './plan-gateway.ts';

const notices: { type: string; data: Record<string, unknown> }[] = [];
const receiver = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += String(piece);
  notices.push(JSON.parse(body));
  response.end();
});
const webhook = `${await listening({ after: after as never }, receiver)}/hook`;
const notify = { at: [1], webhook, secret: 'a secret of thirty-two bytes or more' };
const priced = { model: 'priced' };
const { chat, status, usage, gateway } = await servePlans(
  {
    alone: { rpm: 'off', notify, soft: { budget: { month: 0.001 }, tokens: { week: 1_000_000 } } },
    beside: { rpm: 'off', budget: { month: 100 }, soft: { budget: { month: 0.001 } } },
    keyed: { rpm: 'off', scope: 'key' },
    shown: {
      rpm: 'off',
      budget: { month: 100 },
      calendar_budget: { time_zone: 'Europe/Berlin', day: 50 },
      soft: { budget: { month: 0.001 }, tokens: { week: 9 }, calendar_budget: { time_zone: 'UTC', day: 4 } },
    },
  },
  {
    telemetry: { alerts: { every: '1s', to: [{ name: 'pager', webhook, secret: notify.secret }] } },
    models: { priced: { targets: [{ provider: 'up1', model: 'mock/ok', price: { input: 1_000, output: 1_000 } }] } },
  },
);
const header = 'x-culvert-soft-limit';

async function asked(plan: string): Promise<Headers> {
  const response = await chat(plan, priced);
  assert.equal(response.status, 200, await response.text());
  return response.headers;
}

test('a request beyond an amount that warns passes, says so, and the webhook of the plan gets one notice', async () => {
  const first = await asked('alone');
  assert.equal(first.get(header), null);
  assert.equal(first.get('ratelimit-policy'), null, 'what refuses nothing is no limit');
  await until('a notice has come', () => notices.some(({ type }) => type === 'quota.soft_limit'));
  const second = await asked('alone');
  assert.match(second.get(header) ?? '', /^"budget:month";q=0\.001;used=0\.\d+$/);
  await asked('alone');
  const soft = notices.filter(({ type }) => type === 'quota.soft_limit');
  const [{ data } = assert.fail()] = soft;
  assert.deepEqual([data.limit, data.share, data.allowed], ['budget:month', 1, 0.001]);
  assert.equal(soft.length, 1);
});

test('an amount that warns stands beside a limit of the same window, which is told as before', async () => {
  const first = await asked('beside');
  assert.equal(first.get(header), null);
  const second = await asked('beside');
  assert.match(second.get(header) ?? '', /^"budget:month";q=0\.001;used=0\.\d+$/);
  assert.equal(second.get('ratelimit-policy'), '"budget:month";q=100;qu="usd";w=2592000');
  assert.match(second.get('ratelimit') ?? '', /^"budget:month";r=99;t=\d+$/);
});

// biome-ignore lint/suspicious/noExplicitAny: what a test looks at in an answer is what it asserts.
type Answer = any;

async function admin(method: string, path: string, json?: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const answer = await gateway.fetch(`/admin/v1${path}`, { method, headers, ...(json !== undefined && { json }) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.json();
}

test('every view of the limits of a plan has its amounts that warn, with limits of the same window or without', async () => {
  const read = (await usage('shown')) as Answer;
  const { month, week } = read.budget;
  assert.deepEqual([month.allowed, month.soft, 'soft' in week], [100, 0.001, false]);
  assert.deepEqual([read.tokens.week.allowed, read.tokens.week.soft, read.tokens.week.remaining], [null, 9, null]);
  const { calendar_budget: hard, soft_calendar_budget: soft } = read;
  assert.deepEqual([hard.time_zone, hard.day.allowed, 'soft' in hard.day], ['Europe/Berlin', 50, false]);
  assert.deepEqual([soft.time_zone, soft.day.allowed, soft.day.soft], ['UTC', null, 4]);
  const { data } = await admin('GET', '/accounts/shown/windows');
  const warns = data[0].windows.filter(({ soft }: Answer) => soft !== null);
  assert.deepEqual(
    warns.map(({ measure, window, calendar, limit, soft }: Answer) => [
      measure,
      calendar?.time_zone ?? window,
      limit,
      soft,
    ]),
    [
      ['tokens', 'week', null, 9],
      ['usd', 'month', 100, 0.001],
      ['usd', 'UTC', null, 4],
    ],
  );
});

test('a key past its amount that warns is a warning and an alert, without a webhook of its plan, until it is raised', async () => {
  const made = await admin('POST', '/keys', {
    account: 'keyed',
    name: 'watched',
    limits: { soft: { budget: { month: 0.001 } } },
  });
  const raised = () => notices.flatMap(({ type, data }) => (type === 'alerts' ? (data.raised as Answer[]) : []));
  const resolved = () => notices.flatMap(({ type, data }) => (type === 'alerts' ? (data.resolved as Answer[]) : []));
  const name = 'soft limit keyed/watched budget month';
  await (
    await gateway.fetch('/v1/chat/completions', {
      headers: { authorization: `Bearer ${made.key}` },
      json: { ...priced, messages: [{ role: 'user', content: 'Hello' }] },
    })
  ).text();
  await until('the alert has come', () => raised().some((one) => one.name === name), 10_000);
  const { severity, text } = raised().find((one) => one.name === name);
  assert.equal(severity, 'warning');
  assert.match(
    text,
    /^keyed\/watched has passed the soft limit of the budget of its 30-day window \(\$\d\.\d+ of \$0\.001\)\.$/,
  );
  const { wrong } = await admin('GET', '/overview');
  assert.ok(wrong.some((one: Answer) => one.page === 'keys' && one.id === made.id && one.text === text));
  const { own } = await admin('GET', `/keys/${made.id}/windows`);
  const [month] = own.filter(({ soft }: Answer) => soft !== null);
  assert.deepEqual([month.measure, month.window, month.limit, month.soft], ['usd', 'month', null, 0.001]);
  await admin('PATCH', `/keys/${made.id}`, { limits: { soft: { budget: { month: 1_000 } } } });
  await until('its end was told', () => resolved().some((one) => one.name === name), 20_000);
});

test('a key has them too, from the next request on', async () => {
  assert.equal(await status('keyed', priced), 200);
  const headers = { authorization: `Bearer ${adminKey}` };
  const ask = async (method: string, path: string, json?: unknown) =>
    gateway.fetch(`/admin/v1${path}`, { method, headers, ...(json !== undefined && { json }) });
  const made = (await (await ask('POST', '/keys', { account: 'keyed', name: 'own' })).json()) as Record<string, string>;
  const call = () =>
    gateway.fetch('/v1/chat/completions', {
      headers: { authorization: `Bearer ${made.key}` },
      json: { ...priced, messages: [{ role: 'user', content: 'Hello' }] },
    });
  await (await call()).text();
  const limits = { soft: { calendar_budget: { time_zone: 'Europe/Berlin', day: 0.001 }, tokens: { '5h': 1 } } };
  const changed = await ask('PATCH', `/keys/${made.id}`, { limits });
  assert.equal(changed.status, 200, await changed.text());
  const told = (await call()).headers.get(header) ?? '';
  assert.match(told, /^"key:tokens:5h";q=1;used=\d+, "key:budget:day@Europe\/Berlin";q=0\.001;used=0\.\d+$/);
  const wrong = await ask('PATCH', `/keys/${made.id}`, { limits: { soft: { budget: { day: 1 } } } });
  const { error } = (await wrong.json()) as { error: { param: string } };
  assert.deepEqual([wrong.status, error.param], [400, 'limits.soft.budget.day']);
  const none = await ask('PATCH', `/keys/${made.id}`, { limits: { soft: null } });
  assert.equal(none.status, 200);
  assert.equal((await call()).headers.get(header), null);
});
