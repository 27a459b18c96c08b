import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { refusedFor } from './plan-gateway.ts';
import { chatPath, hello, serve } from './served.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a test looks at in an answer is what it asserts.
type Answer = any;

const budgets = [
  { by: 'user', usd: 0.001, window: 'month' },
  { user: 'vip', usd: 50, window: 'month' },
  { tag: 'team-a', usd: 0.001, calendar: 'day', time_zone: 'Europe/Berlin' },
  { model: 'dear*', usd: 0.001, window: '5h' },
];
const target = { provider: 'up1', model: 'mock/ok', price: { input: 1_000, output: 1_000 } };
const { gateway } = await serve({
  plans: { open: { rpm: 'off' } },
  accounts: {
    parts: { plan: 'open', budgets },
    each: { plan: 'open', budgets: [{ by: 'model', usd: 0.001, window: 'week' }] },
    plain: { plan: 'open' },
  },
  keys: ['parts', 'each', 'plain'].map((account) => ({ key: `sk-cv-${account}-0123456789`, account })),
  models: { priced: { targets: [target] }, 'dear-one': { targets: [target] }, 'dear-two': { targets: [target] } },
});

interface Labels {
  account?: string;
  tag?: string;
  user?: string;
}

function send(fields: Record<string, unknown>, { account = 'parts', tag, user }: Labels = {}) {
  const headers = {
    authorization: `Bearer sk-cv-${account}-0123456789`,
    ...(tag !== undefined && { 'x-culvert-tag': tag }),
    ...(user !== undefined && { 'x-culvert-user': user }),
  };
  return gateway.fetch(chatPath, { headers, json: { ...hello, model: 'priced', ...fields } });
}

async function status(...asked: Parameters<typeof send>): Promise<number> {
  const response = await send(...asked);
  await response.text();
  return response.status;
}

async function admin(method: string, path: string, json?: unknown) {
  const headers = { authorization: `Bearer ${adminKey}` };
  const response = await gateway.fetch(`/admin/v1${path}`, { method, headers, ...(json !== undefined && { json }) });
  return { status: response.status, body: (await response.json()) as Answer };
}

test('each end user of an account has a budget, one has its own, and those without a name share one', async () => {
  assert.equal(await status({ user: 'alice' }), 200);
  const refused = await send({ user: 'alice' });
  assert.match(refused.headers.get('ratelimit') ?? '', /"budget:user:month";r=0/);
  const error = await refusedFor('budget:user:month', refused);
  assert.match(
    error.message,
    /: 30-day budget of the user 'alice', 0\.\d+ of 0\.001 USD used\. The next request passes/,
  );
  assert.deepEqual([await status({ user: 'bob' }), await status({ user: 'bob' })], [200, 429]);
  assert.deepEqual([await status({}), await status({})], [200, 429]);
  assert.deepEqual([await status({ user: 'vip' }), await status({ user: 'vip' })], [200, 200]);
  assert.deepEqual([await status({}, { account: 'plain' }), await status({}, { account: 'plain' })], [200, 200]);
});

test('an end user in a header has the budget, and one of the body counts where the header is empty', async () => {
  // Open WebUI writes no user into its bodies, but fills in the headers of a connection.
  const user = 'ada@example.org';
  assert.equal(await status({ user: 'vip' }, { user }), 200);
  const error = await refusedFor('budget:user:month', send({}, { user: ` ${user} ` }));
  assert.match(error.message, /budget of the user 'ada@example\.org'/);
  assert.deepEqual([await status({ user }), await status({ user: 'vip' }, { user: ' ' })], [429, 200]);
  const { body } = await admin('GET', '/requests?user=ada@example.org');
  assert.equal(body.data[0].user, user);
});

test('a safety identifier names the end user where the body has no other name', async () => {
  // OpenAI's clients send it in the place of `user`.
  assert.equal(await status({ safety_identifier: 'hash-1' }), 200);
  const error = await refusedFor('budget:user:month', send({ safety_identifier: 'hash-1' }));
  assert.match(error.message, /budget of the user 'hash-1'/);
  assert.equal(await status({ safety_identifier: 'hash-1', user: 'vip' }), 200);
});

test('a tag and all models of a name share their budgets, whoever asks', async () => {
  const tag = 'team-a';
  assert.equal(await status({ user: 'vip' }, { tag }), 200);
  const error = await refusedFor('budget:tag:day@Europe/Berlin', send({ user: 'vip' }, { tag }));
  assert.match(error.message, /daily budget \(Europe\/Berlin\) of the tag 'team-a'/);
  assert.equal(await status({ user: 'vip' }, { tag: 'team-b' }), 200);
  assert.equal(await status({ user: 'vip', model: 'dear-one' }), 200);
  const model = await refusedFor('budget:model:5h', send({ user: 'vip', model: 'dear-two' }));
  assert.match(model.message, /5-hour budget of the model 'dear\*'/);
});

test('budgets of models count a request whose caller names several models for each of these', async () => {
  const models = ['dear-one'];
  const account = { account: 'each' };
  assert.equal(await status({ models }, account), 200);
  await refusedFor('budget:model:week', send({ model: 'dear-one' }, account));
  const error = await refusedFor('budget:model:week', send({ model: 'dear-two', models }, account));
  assert.match(error.message, /7-day budget of the model 'dear-one'/);
  assert.equal(await status({ model: 'dear-two' }, account), 200);
});

test('usage shows the budgets that name somebody, and those of a user who is asked for', async () => {
  const usage = async (query: string): Promise<Answer> =>
    (await gateway.fetch(`/v1/usage${query}`, { headers: { authorization: 'Bearer sk-cv-parts-0123456789' } })).json();
  assert.equal(await status({ user: 'carol' }), 200);
  const all = (await usage('')).budgets;
  assert.deepEqual(
    all.map(({ user, tag, model, allowed }: Answer) => [user, tag, model, allowed]),
    [
      ['vip', undefined, undefined, 50],
      [undefined, 'team-a', undefined, 0.001],
      [undefined, undefined, 'dear*', 0.001],
    ],
  );
  const [, carol] = (await usage('?user=carol')).budgets;
  assert.deepEqual([carol.user, carol.window, carol.remaining], ['carol', 'month', 0]);
  assert.ok(carol.used > 0.001);
  assert.equal(
    'budgets' in
      ((await (
        await gateway.fetch('/v1/usage', { headers: { authorization: 'Bearer sk-cv-plain-0123456789' } })
      ).json()) as Answer),
    false,
  );
});

test('an account of the admin API gets them in place, sees how full they are, and loses them', async () => {
  await admin('POST', '/accounts', { id: 'stored', plan: 'open' });
  const { body: key } = await admin('POST', '/keys', { account: 'stored', name: 'k' });
  const call = async (user: string) => {
    const headers = { authorization: `Bearer ${key.key}` };
    const response = await gateway.fetch(chatPath, { headers, json: { ...hello, model: 'priced', user } });
    await response.text();
    return response.status;
  };
  assert.deepEqual([await call('a'), await call('a')], [200, 200]);
  const set = await admin('PATCH', '/accounts/stored', { budgets: [{ by: 'user', usd: 0.001, calendar: 'month' }] });
  assert.deepEqual(set.body.budgets, [{ by: 'user', usd: 0.001, calendar: 'month' }]);
  assert.deepEqual([await call('a'), await call('a'), await call('b')], [200, 429, 200]);
  const { body } = await admin('GET', '/accounts/stored/budgets?user=a');
  assert.deepEqual([body.data.length, body.data[0].user, body.data[0].remaining], [1, 'a', 0]);
  await admin('PATCH', '/accounts/stored', { budgets: [] });
  assert.equal(await call('a'), 200);
});

test('a command sets them by their short form, and takes them away', async (t) => {
  await admin('POST', '/accounts', { id: 'short', plan: 'open' });
  const cwd = temporaryFolder(t);
  const env = { CULVERT_URL: gateway.url, CULVERT_ADMIN_KEY: adminKey };
  const command = (...texts: string[]) => runCommand(['accounts', 'budgets', 'short', ...texts], { cwd, env });
  const stored = async () => (await admin('GET', '/accounts/short')).body.budgets;
  const budgets = [
    { by: 'user', usd: 5, window: 'month' },
    { user: 'alice', usd: 20, window: 'week' },
    { tag: 'team-a', usd: 100, calendar: 'month', time_zone: 'Europe/Berlin' },
  ];
  const set = await command('user=5/month', 'user:alice=20/week', 'tag:team-a=100/calendar-month@Europe/Berlin');
  assert.deepEqual([(JSON.parse(set.stdout) as Answer).budgets, await stored()], [budgets, budgets]);
  const wrong = await command('user=5/year');
  assert.deepEqual([wrong.code, /'user=5\/year' is not a budget/.test(wrong.stderr)], [2, true], wrong.stderr);
  assert.deepEqual(await stored(), budgets);
  assert.deepEqual((JSON.parse((await command()).stdout) as Answer).budgets, budgets, 'a look changes nothing');
  assert.deepEqual(await stored(), budgets);
  assert.equal((await command('none')).code, 0);
  assert.deepEqual((await stored()) ?? [], []);
});

for (const [budget, param, words] of [
  [{ usd: 1, window: 'month' }, 'budgets[0]', /expected one of by, user, tag and model/],
  [{ by: 'user', tag: 'x', usd: 1, window: 'month' }, 'budgets[0].tag', /expected one of by, user, tag and model/],
  [{ by: 'team', usd: 1, window: 'month' }, 'budgets[0].by', /expected/],
  [{ user: '', usd: 1, window: 'month' }, 'budgets[0].user', /expected/],
  [{ by: 'user', usd: -1, window: 'month' }, 'budgets[0].usd', /expected/],
  [{ by: 'user', usd: 1 }, 'budgets[0]', /expected either window or calendar/],
  [{ by: 'user', usd: 1, window: 'month', calendar: 'day' }, 'budgets[0].calendar', /expected either/],
  [{ by: 'user', usd: 1, window: 'month', time_zone: 'UTC' }, 'budgets[0].time_zone', /of calendar alone/],
  [{ by: 'user', usd: 1, calendar: 'day', time_zone: 'Mars' }, 'budgets[0].time_zone', /time zone of the IANA list/],
] as const) {
  test(`a budget that cannot be is refused by its field: ${JSON.stringify(budget)}`, async () => {
    const { status: code, body } = await admin('PATCH', '/accounts/stored', { budgets: [budget] });
    assert.deepEqual([code, body.error.param], [400, param], JSON.stringify(body));
    assert.match(body.error.message, words);
  });
}
