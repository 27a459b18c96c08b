import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAdmin } from './open-admin.ts';

const config = {
  plans: { pro: { rpm: 10, windows: { '5h': 500 } } },
  tiers: { premium: { rpm: 5 } },
  accounts: { file: { plan: 'pro', name: 'From the file' } },
};
const secret = 'a webhook secret of thirty-two bytes';
const notify = { webhook: 'https://hooks.example.org/token-in-path', secret };

test('an account is made, changed and listed beside those of the file', async (t) => {
  const admin = await openAdmin(t, config);
  const made = await admin.ok('POST', '/accounts', { id: 'acme', name: 'Acme', plan: 'pro' });
  const { version, ...facts } = made;
  assert.match(version, /^[\w-]{12}$/);
  assert.deepEqual(facts, {
    id: 'acme',
    name: 'Acme',
    plan: 'pro',
    status: 'active',
    guards: [],
    extra_budget: null,
    budgets: [],
    data: null,
    from: 'admin api',
    created_at: '2025-06-15T15:06:40.000Z',
  });
  const generated = await admin.ok('POST', '/accounts', { name: 'No id' });
  assert.equal(generated.plan, 'default');
  const changed = await admin.ok('PATCH', '/accounts/acme', { name: 'ACME' });
  assert.equal(changed.name, 'ACME');
  assert.deepEqual(await admin.ok('GET', '/accounts/acme'), { ...changed, open_requests: 0 });
  const { data } = await admin.ok('GET', '/accounts');
  assert.deepEqual(
    data.map(({ id, from }: { id: string; from: string }) => [id, from]),
    [
      [generated.id, 'admin api'],
      ['acme', 'admin api'],
      ['file', 'configuration'],
    ].sort(),
  );
  const [last] = (await admin.ok('GET', '/audit?limit=1')).data;
  assert.deepEqual([last.action, last.subject, last.actor], ['account.update', 'acme', 'test']);
  assert.deepEqual([last.before.name, last.after.name], ['Acme', 'ACME']);
});

test('a name that would look like another one in a list is refused, and one in any script passes', async (t) => {
  const admin = await openAdmin(t, config);
  for (const name of ['Acme\nInc.', 'a\u202emoc.elpmaxe', '\u2067x', 'bell\u0007']) {
    const refused = await admin.call('POST', '/accounts', { id: 'acme', name });
    assert.deepEqual([refused.status, refused.json.error.param], [400, 'name'], JSON.stringify(name));
  }
  for (const name of ['Müller & Söhne', 'شركة', '日本 🎉', '=1+1']) {
    assert.equal((await admin.ok('POST', '/accounts', { name })).name, name);
  }
});

test('an extra budget is set, kept apart from other changes, and taken away', async (t) => {
  const until = '2025-06-20T00:00:00.000Z';
  const admin = await openAdmin(t, { ...config, accounts: { file: { extra_budget: { usd: 5, until } } } });
  assert.deepEqual((await admin.ok('GET', '/accounts/file')).extra_budget, { usd: 5, until });
  const made = await admin.ok('POST', '/accounts', { id: 'acme', plan: 'pro' });
  const set = await admin.ok('PATCH', '/accounts/acme', {
    extra_budget: { usd: 50, until: '2025-06-20' },
    version: made.version,
  });
  assert.deepEqual([set.extra_budget, set.plan], [{ usd: 50, until }, 'pro']);
  assert.notEqual(set.version, made.version);
  const stale = await admin.call('PATCH', '/accounts/acme', { name: 'x', version: made.version });
  assert.deepEqual([stale.status, stale.json.current.extra_budget], [409, { usd: 50, until }]);
  assert.deepEqual((await admin.ok('PATCH', '/accounts/acme', { name: 'x' })).extra_budget, { usd: 50, until });
  const [last] = (await admin.ok('GET', '/audit?limit=1')).data;
  assert.deepEqual([last.before.extraBudget.usd, last.after.name], [50, 'x']);
  assert.match((await admin.call('GET', '/config/export')).text, /extra_budget:\n +usd: 50\n +until: 2025-06-20/);
  const none = await admin.ok('PATCH', '/accounts/acme', {
    extra_budget: null,
    version: (await admin.ok('GET', '/accounts/acme')).version,
  });
  assert.equal(none.extra_budget, null);
  for (const [extra, param] of [
    [{ usd: 50 }, 'extra_budget.until'],
    [{ usd: 50, until: '2020-01-01' }, 'extra_budget.until'],
    [{ usd: 50, until: 'Friday' }, 'extra_budget.until'],
    [{ usd: 0, until: '5d' }, 'extra_budget.usd'],
    [{ usd: 'much', until: '5d' }, 'extra_budget.usd'],
    [{ until: '5d' }, 'extra_budget.usd'],
    [{ tokens: 1.5, until: '5d' }, 'extra_budget.tokens'],
  ] as const) {
    assert.deepEqual((await admin.refused('PATCH', '/accounts/acme', { extra_budget: extra })).slice(0, 2), [
      400,
      param,
    ]);
  }
});

test('an account of the file is changed there; the refusal names the file', async (t) => {
  const admin = await openAdmin(t, config);
  const [status, , message] = await admin.refused('PATCH', '/accounts/file', { plan: 'default' });
  assert.equal(status, 409);
  assert.match(message, /declared in culvert\.yaml/);
  assert.equal((await admin.refused('POST', '/accounts', { id: 'file', name: 'x', plan: 'pro' }))[0], 409);
});

test('a plan that does not exist is refused with the one that was probably meant', async (t) => {
  const admin = await openAdmin(t, config);
  const [status, param, message] = await admin.refused('POST', '/accounts', { id: 'acme', plan: 'prp' });
  assert.deepEqual([status, param], [400, 'plan']);
  assert.match(message, /did you mean 'pro'/);
  await admin.ok('POST', '/accounts', { id: 'acme' });
  assert.equal((await admin.refused('PATCH', '/accounts/acme', { plan: 'nope' }))[1], 'plan');
  assert.equal((await admin.refused('PATCH', '/accounts/acme', {}))[0], 400);
  assert.equal((await admin.refused('PATCH', '/accounts/acme', { status: 'deleted' }))[1], 'status');
  assert.equal((await admin.refused('POST', '/accounts', { id: 'a/b' }))[1], 'id');
});

test('the 404 of a name that is nearly one of the list names that one', async (t) => {
  const admin = await openAdmin(t, { ...config, providers: { openai: { type: 'openai', api_key: 'x' } } });
  for (const [path, message] of [
    ['/plans/prro', "There is no plan 'prro' (did you mean 'pro'?)."],
    ['/accounts/fiel', "There is no account 'fiel' (did you mean 'file'?)."],
    ['/providers/opena', "There is no provider 'opena' (did you mean 'openai'?)."],
    ['/providers/nothing', "There is no provider 'nothing'."],
  ] as const) {
    assert.equal((await admin.refused('GET', path))[2], message);
  }
});

test('a plan is made, used, replaced, and removed when nobody has it', async (t) => {
  const admin = await openAdmin(t, config);
  const made = await admin.ok('PUT', '/plans/team', { windows: { '5h': 10, week: 50 }, notify });
  assert.deepEqual([made.name, made.from, made.accounts, made.default], ['team', 'admin api', 0, false]);
  assert.deepEqual(made.definition.windows, { '5h': 10, week: 50 });
  await admin.ok('POST', '/accounts', { id: 'acme', plan: 'team' });
  const [status, , message] = await admin.refused('DELETE', '/plans/team');
  assert.equal(status, 409);
  assert.match(message, /acme/);
  await admin.ok('PUT', '/plans/team', { rpm: 3 });
  assert.deepEqual((await admin.ok('GET', '/plans/team')).definition, {
    rpm: 3,
    storage: 10 * 1024 ** 3,
    scope: 'account',
  });
  assert.deepEqual(
    (await admin.ok('GET', '/plans')).data.map(({ name, accounts }: { name: string; accounts: number }) => [
      name,
      accounts,
    ]),
    [
      ['default', 0],
      ['pro', 1],
      ['team', 1],
    ],
  );
  await admin.ok('PATCH', '/accounts/acme', { plan: 'pro' });
  await admin.ok('DELETE', '/plans/team');
  assert.equal((await admin.refused('GET', '/plans/team'))[0], 404);
});

test('who changes an account or a plan that another one changed meanwhile is told what it is now', async (t) => {
  const admin = await openAdmin(t, config);
  const account = await admin.ok('POST', '/accounts', { id: 'acme', plan: 'pro' });
  await admin.ok('PATCH', '/accounts/acme', { plan: 'default', version: account.version });
  const late = await admin.call('PATCH', '/accounts/acme', { name: 'ACME', version: account.version });
  assert.equal(late.status, 409);
  assert.equal(JSON.parse(late.text).current.plan, 'default');
  assert.equal((await admin.ok('GET', '/accounts/acme')).name, 'acme', 'nothing was written');

  const plan = await admin.ok('PUT', '/plans/team', { windows: { '5h': 10 }, rpm: 3 });
  assert.equal((await admin.ok('GET', '/plans/team')).version, plan.version);
  await admin.ok('PUT', `/plans/team?version=${plan.version}`, { rpm: 4 });
  const second = await admin.call('PUT', `/plans/team?version=${plan.version}`, { rpm: 5 });
  assert.equal(second.status, 409);
  assert.equal(JSON.parse(second.text).current.definition.rpm, 4);
  assert.equal((await admin.ok('GET', '/plans/team')).definition.rpm, 4);
  await admin.ok('DELETE', '/plans/team');
  const gone = await admin.refused('PUT', `/plans/team?version=${plan.version}`, { rpm: 5 });
  assert.equal(gone[0], 404, 'what was removed meanwhile is not made again');
});

test('of changes that begin at one time with the same version exactly one is done', async (t) => {
  const admin = await openAdmin(t, config);
  const { version } = await admin.ok('POST', '/accounts', { id: 'acme', plan: 'pro' });
  const names = ['one', 'two', 'three'];
  const renames = await Promise.all(names.map((name) => admin.call('PATCH', '/accounts/acme', { name, version })));
  assert.deepEqual(renames.map(({ status }) => status).toSorted(), [200, 409, 409]);
  const { name } = await admin.ok('GET', '/accounts/acme');
  assert.equal(name, names[renames.findIndex(({ status }) => status === 200)]);
  for (const { status, text } of renames) if (status === 409) assert.equal(JSON.parse(text).current.name, name);

  const plan = await admin.ok('PUT', '/plans/team', { rpm: 3 });
  const limits = await Promise.all(
    [4, 5].map((rpm) => admin.call('PUT', `/plans/team?version=${plan.version}`, { rpm })),
  );
  assert.deepEqual(limits.map(({ status }) => status).toSorted(), [200, 409]);

  const removed = await admin.call('DELETE', `/plans/team?version=${plan.version}`);
  assert.equal(removed.status, 409, removed.text);
  const { version: now } = JSON.parse(removed.text).current;
  await admin.ok('DELETE', `/plans/team?version=${now}`);
});

test('a plan is changed without knowing the secret of its notices', async (t) => {
  const admin = await openAdmin(t, config);
  const windows = { '5h': 10 };
  await admin.ok('PUT', '/plans/team', { windows, notify });
  const kept = await admin.ok('PUT', '/plans/team?keep=notify', { windows: { '5h': 20 } });
  assert.equal(kept.definition.notify.secret, '(secret)');
  const [stored] = (await admin.store.load()).plans;
  assert.equal((stored!.definition as { notify: { webhook: string } }).notify.webhook, notify.webhook);
  assert.equal((await admin.ok('PUT', '/plans/team', { rpm: 4 })).definition.notify, undefined);
});

test('who manages plans alone says nowhere where notices go, and changes limits beside them', async (t) => {
  const admin = await openAdmin(t, config);
  const billing = { name: 'finance', role: 'billing', accounts: null } as const;
  const put = (path: string, body: object) => admin.call('PUT', path, body, billing);
  const windows = { '5h': 10 };
  // The server would post to it, also inside its network.
  const refused = await put('/plans/team', { windows, notify: { ...notify, webhook: 'http://169.254.169.254/' } });
  assert.equal(refused.status, 403);
  assert.match(refused.text, /notify: the role billing may not say where notices go. These roles may: owner, admin\./);
  await admin.ok('PUT', '/plans/team', { windows, notify });
  const moved = await put('/plans/team', { windows, notify: { ...notify, webhook: 'http://10.0.0.1/' } });
  assert.equal(moved.status, 403);
  assert.equal((await put('/plans/team?keep=notify', { windows: { '5h': 20 } })).status, 200);
  assert.equal((await put('/plans/other', { rpm: 5 })).status, 200);
});

test('accounts and keys are found by a part of what they are called', async (t) => {
  const admin = await openAdmin(t, config);
  await admin.ok('POST', '/accounts', { id: 'acc_1', name: 'Northwind Traders' });
  await admin.ok('POST', '/keys', { account: 'acc_1', name: 'laptop' });
  const ids = async (path: string) => (await admin.ok('GET', path)).data.map(({ id }: { id: string }) => id);
  assert.deepEqual(await ids('/accounts?text=WIND'), ['acc_1']);
  assert.deepEqual(await ids('/accounts?text=%25'), []);
  assert.equal((await ids('/keys?text=lapt')).length, 1);
  assert.equal((await ids('/keys?text=lapt&account=file')).length, 0);
});

test('secrets of plans are in no answer and no audit row', async (t) => {
  const admin = await openAdmin(t, { ...config, plans: { ...config.plans, told: { windows: { '5h': 1 }, notify } } });
  await admin.ok('PUT', '/plans/team', { windows: { '5h': 10 }, notify });
  await admin.ok('PUT', '/plans/team', { windows: { '5h': 11 }, notify });
  await admin.ok('DELETE', '/plans/team');
  for (const path of ['/plans', '/plans/told', '/audit', '/config']) {
    const { text } = await admin.call('GET', path);
    assert.ok(!text.includes(secret) && !text.includes('token-in-path'), path);
  }
  assert.deepEqual((await admin.store.load()).plans, []);
});

for (const [name, body, param] of [
  ['team', { rmp: 3 }, 'rmp'],
  ['team', { rpm: -1 }, 'rpm'],
  ['team', { windows: { '5h': 10, week: 5 } }, 'windows.5h'],
  ['team', { tier_limits: { gold: { rpm: 1 } } }, 'tier_limits.gold'],
  ['team', { windows: { '5h': 1 }, notify: { ...notify, secret: 'short' } }, 'notify.secret'],
  ['team', [], null],
  ['a%20b', {}, 'name'],
  ['__proto__', {}, 'name'],
] as const) {
  test(`a plan that contradicts itself is a 400 naming ${param}: ${name} ${JSON.stringify(body)}`, async (t) => {
    const admin = await openAdmin(t, config);
    const [status, named] = await admin.refused('PUT', `/plans/${name}`, body);
    assert.deepEqual([status, named], [400, param]);
    assert.deepEqual((await admin.store.load()).plans, []);
  });
}

test('plans of the file are changed there, the default plan too', async (t) => {
  const admin = await openAdmin(t, config);
  for (const name of ['pro', 'default']) {
    assert.equal((await admin.refused('PUT', `/plans/${name}`, {}))[0], 409);
    assert.equal((await admin.refused('DELETE', `/plans/${name}`))[0], 409);
  }
});

test('the default plan that nobody wrote is built in, one of the file is not', async (t) => {
  const admin = await openAdmin(t);
  const from = async () => (await admin.ok('GET', '/plans/default')).from;
  assert.equal(await from(), 'built-in');
  assert.match(
    (await admin.refused('PUT', '/plans/default', { rpm: 5 }))[2],
    /is built in\. Create a plan with another name/,
  );
  await admin.ok('PUT', '/plans/team', { rpm: 5 });
  assert.equal(await from(), 'built-in', 'with the limits that it has beside others');
  admin.configure({ plans: { default: { rpm: 7 } } });
  assert.equal(await from(), 'configuration');
});

test('an account that the file declares after all is shown as the file has it', async (t) => {
  const admin = await openAdmin(t, config);
  await admin.ok('POST', '/accounts', { id: 'acme', name: 'Stored' });
  admin.configure({ ...config, accounts: { acme: { plan: 'pro', status: 'suspended' } } });
  const account = await admin.ok('GET', '/accounts/acme');
  assert.deepEqual([account.plan, account.status, account.from], ['pro', 'suspended', 'configuration']);
  assert.equal((await admin.ok('GET', '/accounts')).data.length, 1);
});

test('a top-up that was written is answered where the account cannot be read again, and others are refused', async (t) => {
  const admin = await openAdmin(t, config);
  await admin.ok('POST', '/accounts', { id: 'prepaid' });
  admin.store.topUps = () => Promise.reject(new Error('the database is gone'));
  const added = await admin.ok('POST', '/accounts/prepaid/credit', { usd: 5, id: 'inv-1', note: 'cash' });
  assert.deepEqual([added.granted_usd, added.used_usd, added.data.length], [5, null, 1]);
  assert.deepEqual([added.data[0].id, added.data[0].usd, added.data[0].note], ['inv-1', 5, 'cash']);
  const again = await admin.call('POST', '/accounts/prepaid/credit', { usd: 5, id: 'inv-1' });
  assert.equal(again.status >= 500, true, again.text);
});
