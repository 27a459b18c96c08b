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
const { chat, status, gateway } = await servePlans(
  {
    alone: { rpm: 'off', notify, soft: { budget: { month: 0.001 }, tokens: { week: 1_000_000 } } },
    beside: { rpm: 'off', budget: { month: 100 }, soft: { budget: { month: 0.001 } } },
    keyed: { rpm: 'off', scope: 'key' },
  },
  {
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
  await until('a notice has come', () => notices.length > 0);
  const second = await asked('alone');
  assert.match(second.get(header) ?? '', /^"budget:month";q=0\.001;used=0\.\d+$/);
  await asked('alone');
  const [{ type, data } = assert.fail()] = notices;
  assert.deepEqual([type, data.limit, data.share, data.allowed], ['quota.soft_limit', 'budget:month', 1, 0.001]);
  assert.equal(notices.length, 1);
});

test('an amount that warns stands beside a limit of the same window, which is told as before', async () => {
  const first = await asked('beside');
  assert.equal(first.get(header), null);
  const second = await asked('beside');
  assert.match(second.get(header) ?? '', /^"budget:month";q=0\.001;used=0\.\d+$/);
  assert.equal(second.get('ratelimit-policy'), '"budget:month";q=100;qu="usd";w=2592000');
  assert.match(second.get('ratelimit') ?? '', /^"budget:month";r=99;t=\d+$/);
});

test('a key has them too, from the next request on', async () => {
  assert.equal(await status('keyed', priced), 200);
  const headers = { authorization: `Bearer ${adminKey}` };
  const admin = async (method: string, path: string, json?: unknown) =>
    gateway.fetch(`/admin/v1${path}`, { method, headers, ...(json !== undefined && { json }) });
  const made = (await (await admin('POST', '/keys', { account: 'keyed', name: 'own' })).json()) as Record<
    string,
    string
  >;
  const call = () =>
    gateway.fetch('/v1/chat/completions', {
      headers: { authorization: `Bearer ${made.key}` },
      json: { ...priced, messages: [{ role: 'user', content: 'Hello' }] },
    });
  await (await call()).text();
  const limits = { soft: { calendar_budget: { time_zone: 'Europe/Berlin', day: 0.001 }, tokens: { '5h': 1 } } };
  const changed = await admin('PATCH', `/keys/${made.id}`, { limits });
  assert.equal(changed.status, 200, await changed.text());
  const told = (await call()).headers.get(header) ?? '';
  assert.match(told, /^"key:tokens:5h";q=1;used=\d+, "key:budget:day@Europe\/Berlin";q=0\.001;used=0\.\d+$/);
  const wrong = await admin('PATCH', `/keys/${made.id}`, { limits: { soft: { budget: { day: 1 } } } });
  const { error } = (await wrong.json()) as { error: { param: string } };
  assert.deepEqual([wrong.status, error.param], [400, 'limits.soft.budget.day']);
  const none = await admin('PATCH', `/keys/${made.id}`, { limits: { soft: null } });
  assert.equal(none.status, 200);
  assert.equal((await call()).headers.get(header), null);
});
