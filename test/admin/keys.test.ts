import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure, statusOf } from '../../src/kernel/failure.ts';
import { type Answer, type OpenAdmin, openAdmin } from './open-admin.ts';

const config = {
  plans: { pro: { rpm: 10 } },
  accounts: { file: { plan: 'pro' } },
  keys: [{ key: 'sk-cv-declared-1', account: 'file', name: 'laptop', ips: ['10.0.0.0/8'] }],
};
const hourMs = 3_600_000;

function enters(admin: OpenAdmin, secret: string, address = '192.0.2.1'): number {
  const caller = admin.ring.authenticate({ 'x-api-key': secret }, () => address);
  return isFailure(caller) ? statusOf(caller) : 200;
}

test('the secret of a key is shown once, and opens at once', async (t) => {
  const admin = await openAdmin(t, config);
  await admin.ok('POST', '/accounts', { id: 'acme', plan: 'pro' });
  const made = await admin.ok('POST', '/keys', { account: 'acme', name: 'ci', models: ['small-*'] });
  assert.match(made.key, new RegExp(`^sk-cv-${made.id}-`));
  assert.equal(made.prefix, `sk-cv-${made.id}`);
  assert.deepEqual([made.account, made.name, made.plan, made.status], ['acme', 'ci', 'pro', 'active']);
  assert.equal(enters(admin, made.key), 200);
  const shown = [
    await admin.call('GET', '/keys'),
    await admin.call('GET', `/keys/${made.id}`),
    await admin.call('GET', '/audit'),
    await admin.call('POST', `/keys/${made.id}/revoke`),
    await admin.call('GET', '/config'),
  ];
  for (const { text } of shown) {
    assert.ok(!text.includes(made.key));
    assert.ok(!text.includes('sk-cv-declared-1'));
  }
});

test('a change says which of its settings do nothing: unknown models, and budgets over models without a price', async (t) => {
  const admin = await openAdmin(t, {
    ...config,
    providers: { home: { type: 'ollama' } },
    models: {
      smart: { targets: [{ provider: 'home', model: 'llama', price: { input: 0 } }] },
      local: { targets: ['home/llama2'] },
      'qwen-*': { targets: ['home/qwen-*'] },
    },
  });
  const uncounted = /^budget: no price is known of home\/llama2: usage and budgets leave out their USD\. Give /;
  const made = await admin.ok('POST', '/keys', {
    account: 'file',
    name: 'ci',
    models: ['smrt', 'lo*'],
    limits: { budget: { month: 5 } },
  });
  assert.equal(made.warnings[0], "models: no model is called 'smrt' (did you mean 'smart'?).");
  assert.match(made.warnings[1], uncounted);
  const changed = await admin.ok('PATCH', `/keys/${made.id}`, { models: ['smart'], limits: { rpm: 5 } });
  assert.equal(changed.warnings, undefined);
  const moved = await admin.ok('PATCH', `/keys/${made.id}`, { models: ['local'] });
  assert.match(moved.warnings[0], uncounted);
  const ofPattern = await admin.ok('PATCH', `/keys/${made.id}`, {
    models: ['qwen-3'],
    limits: { budget: { month: 5 } },
  });
  assert.match(ofPattern.warnings[0], /^budget: no price is known of home\/qwen-3: /);
  await admin.ok('POST', '/accounts', { id: 'acme' });
  const account = await admin.ok('PATCH', '/accounts/acme', { budgets: [{ by: 'user', usd: 5, calendar: 'day' }] });
  assert.match(account.warnings[0], uncounted);
  const plan = await admin.ok('PUT', '/plans/team', { calendar_budget: { month: 5 }, models: ['local'] });
  assert.match(plan.warnings[0], uncounted);
  assert.equal((await admin.ok('GET', '/plans/team')).warnings, undefined);
  // Neither counts the model without a price: one names another, and the plan of the other allows none but this one.
  const named = await admin.ok('PATCH', '/accounts/acme', { budgets: [{ model: 'smart', usd: 5, window: 'week' }] });
  assert.equal(named.warnings, undefined);
  await admin.ok('PUT', '/plans/priced', { models: ['smart'] });
  const user = { budgets: [{ by: 'user', usd: 5, window: 'week' }] };
  assert.equal((await admin.ok('PATCH', '/accounts/acme', { plan: 'priced', ...user })).warnings, undefined);
  const key = { account: 'acme', name: 'ci', limits: { budget: { month: 5 } } };
  assert.equal((await admin.ok('POST', '/keys', key)).warnings, undefined);
});

test('rotation keeps the id and lets old secrets work until the grace is over; by default for 24 hours', async (t) => {
  const admin = await openAdmin(t, config);
  const first = await admin.ok('POST', '/keys', { account: 'file', name: 'ci' });
  const second = await admin.ok('POST', `/keys/${first.id}/rotate`, { grace: '1h' });
  assert.equal(second.id, first.id);
  assert.equal(second.old_secrets_until, new Date(admin.clock.wallMs() + hourMs).toISOString());
  assert.deepEqual([enters(admin, first.key), enters(admin, second.key)], [200, 200]);
  admin.clock.advance(hourMs);
  assert.deepEqual([enters(admin, first.key), enters(admin, second.key)], [401, 200]);
  const third = await admin.ok('POST', `/keys/${first.id}/rotate`);
  assert.equal(third.old_secrets_until, new Date(admin.clock.wallMs() + 24 * hourMs).toISOString());
  const last = await admin.ok('POST', `/keys/${first.id}/rotate`, { grace: '0s' });
  assert.deepEqual([enters(admin, third.key), enters(admin, last.key)], [401, 200]);
  assert.equal(last.old_secrets_until, null);
  const [ended, graced] = (await admin.ok('GET', '/audit?action=key.rotate')).data;
  assert.deepEqual(
    [ended.after.old_secrets_until, graced.after.old_secrets_until],
    [new Date(admin.clock.wallMs()).toISOString(), third.old_secrets_until],
  );
  assert.equal(last.tenant, 'file/ci');
});

test('of two rotations at once one counts, so that no secret comes back that the other has ended', async (t) => {
  const admin = await openAdmin(t, config);
  const leaked = await admin.ok('POST', '/keys', { account: 'file', name: 'ci' });
  const [ending, keeping] = await Promise.all(
    ['0s', '24h'].map((grace) => admin.call('POST', `/keys/${leaked.id}/rotate`, { grace })),
  );
  assert.deepEqual([ending!.status, keeping!.status].sort(), [200, 409]);
  assert.equal(enters(admin, leaked.key), ending!.status === 200 ? 401 : 200);
});

test('a key that would expire in a time that no date can name is refused, not taken for a failing store', async (t) => {
  const admin = await openAdmin(t, config);
  for (const expires of ['36501d', '99999999d', '999999999d']) {
    const refused = await admin.call('POST', '/keys', { account: 'file', name: 'far', expires });
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /expires: expected a date such as 2027-01-01/);
  }
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'far', expires: '36500d' });
  assert.equal(made.expires, new Date(admin.clock.wallMs() + 36_500 * 24 * hourMs).toISOString());
});

test('a revoked key is refused at once in this process; revoking again changes nothing', async (t) => {
  const admin = await openAdmin(t, config);
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'ci' });
  const revoked = await admin.ok('POST', `/keys/${made.id}/revoke`);
  assert.equal(enters(admin, made.key), 401);
  assert.equal(revoked.status, 'revoked');
  admin.clock.advance(5_000);
  assert.equal((await admin.ok('DELETE', `/keys/${made.id}`)).revoked_at, revoked.revoked_at);
  assert.equal(
    (await admin.ok('GET', '/audit')).data.filter((row: { action: string }) => row.action === 'key.revoke').length,
    1,
  );
  assert.equal((await admin.refused('POST', `/keys/${made.id}/rotate`))[0], 409);
  // Its name is free again.
  await admin.ok('POST', '/keys', { account: 'file', name: 'ci' });
});

test('a suspended account is 403 at once, and its keys say so', async (t) => {
  const admin = await openAdmin(t, config);
  await admin.ok('POST', '/accounts', { id: 'acme' });
  const made = await admin.ok('POST', '/keys', { account: 'acme', name: 'ci' });
  await admin.ok('PATCH', '/accounts/acme', { status: 'suspended' });
  assert.equal(enters(admin, made.key), 403);
  assert.equal((await admin.ok('GET', `/keys/${made.id}`)).status, 'suspended');
  await admin.ok('PATCH', '/accounts/acme', { status: 'active' });
  assert.equal(enters(admin, made.key), 200);
});

test('a key is bound to addresses, whether made or declared', async (t) => {
  const admin = await openAdmin(t, config);
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'ci', ips: ['2001:db8::/32', '192.0.2.7'] });
  assert.deepEqual(made.ips, ['2001:db8::/32', '192.0.2.7']);
  assert.deepEqual([enters(admin, made.key, '192.0.2.7'), enters(admin, made.key, '192.0.2.8')], [200, 403]);
  assert.deepEqual([enters(admin, 'sk-cv-declared-1', '10.1.1.1'), enters(admin, 'sk-cv-declared-1')], [200, 403]);
});

test('a key ends when it was said to', async (t) => {
  const admin = await openAdmin(t, config);
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'ci', expires: '1h' });
  assert.equal(made.expires, new Date(admin.clock.wallMs() + hourMs).toISOString());
  admin.clock.advance(hourMs);
  assert.equal(enters(admin, made.key), 401);
  assert.equal((await admin.ok('GET', `/keys/${made.id}`)).status, 'expired');
  assert.deepEqual(
    (await admin.ok('GET', '/keys?status=expired')).data.map(({ id }: { id: string }) => id),
    [made.id],
  );
  // An ended key gets no new secret, yet a later end makes it work again.
  const [status, , message] = await admin.refused('POST', `/keys/${made.id}/rotate`);
  assert.deepEqual([status, /Give it a later end first/.test(message)], [409, true]);
  await admin.ok('PATCH', `/keys/${made.id}`, { expires: '1h' });
  await admin.ok('POST', `/keys/${made.id}/rotate`, { grace: '1h' });
  assert.equal(enters(admin, made.key), 200);
});

test('vector data is shared within an account only', async (t) => {
  const admin = await openAdmin(t, config);
  await admin.ok('POST', '/accounts', { id: 'other' });
  const first = await admin.ok('POST', '/keys', { account: 'file', name: 'one' });
  const second = await admin.ok('POST', '/keys', { account: 'file', name: 'two', share_vectors_with: first.id });
  assert.equal(second.tenant, 'file/one');
  const theft = { account: 'other', name: 'x', share_vectors_with: first.id };
  const made = await admin.refused('POST', '/keys', theft);
  const absent = await admin.refused('POST', '/keys', { ...theft, share_vectors_with: 'AbCdEf123456' });
  assert.deepEqual(made, absent, 'nothing tells whether the key exists');
  assert.deepEqual(made.slice(0, 2), [400, 'share_vectors_with']);
});

test("a key's own limits come back as they were given", async (t) => {
  const admin = await openAdmin(t, config);
  const limits = { rpm: 3, windows: { '5h': 10, week: 20 } };
  assert.deepEqual((await admin.ok('POST', '/keys', { account: 'file', name: 'ci', limits })).limits, limits);
});

for (const [body, param] of [
  [{ name: 'x' }, 'account'],
  [{ account: 'nobody', name: 'x' }, 'account'],
  [{ account: 'file' }, 'name'],
  [{ account: 'file', name: '\u0000' }, 'name'],
  [{ account: 'file', name: 'x', expires: 'tomorrow' }, 'expires'],
  [{ account: 'file', name: 'x', expires: '2020-01-01' }, 'expires'],
  [{ account: 'file', name: 'x', models: [] }, 'models'],
  [{ account: 'file', name: 'x', ips: ['10.0.0.0/64'] }, 'ips[0]'],
  [{ account: 'file', name: 'x', limits: { rpm: 0 } }, 'limits.rpm'],
  [{ account: 'file', name: 'x', limits: { windows: { '5h': 10, week: 1 } } }, 'limits.windows.5h'],
  [{ account: 'file', name: 'x', model: ['a'] }, 'model'],
  [{ account: 'file', name: 'x', kind: 'admin' }, 'kind'],
  [{ account: 'file', name: 'x', tenant: 'other/x' }, 'tenant'],
] as const) {
  test(`a key order with a wrong ${param} is a 400 that names it: ${JSON.stringify(body)}`, async (t) => {
    const admin = await openAdmin(t, config);
    const [status, named] = await admin.refused('POST', '/keys', body);
    assert.deepEqual([status, named], [400, param]);
    assert.equal((await admin.ok('GET', '/keys')).data.length, 1, 'nothing was made');
  });
}

test('an unknown field is met with the one that was probably meant', async (t) => {
  const admin = await openAdmin(t, config);
  const [, , message] = await admin.refused('POST', '/keys', { account: 'file', name: 'x', expire: '1h' });
  assert.match(message, /did you mean 'expires'/);
});

test('two keys of one name are a conflict; what the file declares is changed there', async (t) => {
  const admin = await openAdmin(t, config);
  assert.equal((await admin.refused('POST', '/keys', { account: 'file', name: 'laptop' }))[0], 409);
  const [declared] = (await admin.ok('GET', '/keys')).data;
  assert.deepEqual([declared.from, declared.prefix, declared.ips], ['configuration', null, ['10.0.0.0/8']]);
  const path = `/keys/${encodeURIComponent(declared.id)}`;
  assert.equal((await admin.ok('GET', path)).name, 'laptop');
  for (const [method, action, body] of [
    ['PATCH', '', { limits: { rpm: 1 } }],
    ['POST', '/rotate'],
  ] as const) {
    const [status, , message] = await admin.refused(method, path + action, body);
    assert.equal(status, 409);
    assert.match(message, /culvert\.yaml/);
  }
  assert.equal(enters(admin, 'sk-cv-declared-1', '10.0.0.1'), 200);
});

test('a leaked key of the file is blocked until the block is lifted or the file has another secret', async (t) => {
  const admin = await openAdmin(t, config);
  const path = '/keys/sk-cv-declared:file%2Flaptop';
  const enter = (secret = 'sk-cv-declared-1') => enters(admin, secret, '10.0.0.1');
  const statuses = async () =>
    (await admin.ok('GET', '/keys')).data.map(({ name, status }: Answer) => `${name} ${status}`);
  const warned = async () =>
    (await admin.ok('GET', '/doctor')).findings.filter(({ message }: Answer) => /is blocked/.test(message));
  assert.equal((await admin.ok('POST', `${path}/restore`)).status, 'active');
  for (const [method, action] of [
    ['POST', '/revoke'],
    ['DELETE', ''],
  ] as const) {
    const blocked = await admin.ok(method, path + action);
    assert.deepEqual([blocked.status, blocked.from], ['revoked', 'configuration']);
    assert.ok(blocked.revoked_at);
    assert.equal(enter(), 401);
    assert.deepEqual(await statuses(), ['laptop revoked']);
    assert.equal((await admin.ok(method, path + action)).status, 'revoked');
    const [finding, ...more] = await warned();
    assert.deepEqual(
      [finding.page, finding.id, finding.state, more],
      ['keys', 'sk-cv-declared:file/laptop', 'warning', []],
    );
    // A reload of the file changes nothing.
    assert.equal((await admin.ok('POST', '/config/reload')).ok ?? true, true);
    assert.equal(enter(), 401);
    assert.equal((await admin.ok('POST', `${path}/restore`)).status, 'active');
    assert.equal(enter(), 200);
    assert.deepEqual(await statuses(), ['laptop active']);
    assert.deepEqual(await warned(), []);
  }
  const actions = (await admin.ok('GET', '/audit')).data.map(({ action }: Answer) => action);
  assert.deepEqual(actions, [
    ...['key.restore', 'config.reload', 'key.revoke'],
    ...['key.restore', 'config.reload', 'key.revoke'],
  ]);
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'ci' });
  await admin.ok('POST', `/keys/${made.id}/revoke`);
  assert.equal((await admin.refused('POST', `/keys/${made.id}/restore`))[0], 409);
});

test('a secret of the file that a key of this API has, too, is blocked with it', async (t) => {
  for (const revokedBefore of [false, true]) {
    const admin = await openAdmin(t, config);
    const made = await admin.ok('POST', '/keys', { account: 'file', name: 'ci' });
    const moved = { key: made.key, account: 'file', name: 'moved' };
    if (revokedBefore) await admin.ok('POST', `/keys/${made.id}/revoke`);
    admin.configure({ ...config, keys: [...config.keys, moved] });
    const enter = () => enters(admin, made.key);
    assert.equal(enter(), 200);
    const path = '/keys/sk-cv-declared:file%2Fmoved';
    const blocked = await admin.ok('POST', `${path}/revoke`);
    assert.deepEqual([blocked.name, blocked.status, enter()], ['moved', 'revoked', 401]);
    assert.equal((await admin.call('GET', `/keys/${made.id}`)).status, 404);
    const [entry] = (await admin.ok('GET', '/audit')).data;
    assert.deepEqual(entry.after, { status: 'revoked', removed_key: made.id });
    assert.equal((await admin.ok('POST', `${path}/restore`)).status, 'active');
    assert.equal(enter(), 200);
    // Without the file, the secret is nobody's.
    admin.configure(config);
    assert.equal(enter(), 401);
  }
});

test('S10 what is no id is 404 on every path with one, and changes nothing', async (t) => {
  const admin = await openAdmin(t, config);
  for (const id of ['nobody', '%25', "'%20OR%201=1", '__proto__', 'constructor', '..%2Faccounts', '%00']) {
    for (const [method, path] of [
      ['GET', `/keys/${id}`],
      ['POST', `/keys/${id}/rotate`],
      ['POST', `/keys/${id}/revoke`],
      ['POST', `/keys/${id}/restore`],
      ['DELETE', `/keys/${id}`],
      ['GET', `/accounts/${id}`],
      ['GET', `/plans/${id}`],
      ['DELETE', `/plans/${id}`],
      ['GET', `/requests/${id}`],
      ['POST', `/providers/${id}/test`],
    ] as const) {
      assert.equal((await admin.refused(method, path))[0], 404, `${method} ${path}`);
    }
    assert.equal((await admin.refused('PATCH', `/accounts/${id}`, { name: 'x' }))[0], 404);
  }
  assert.deepEqual((await admin.ok('GET', '/audit')).data, []);
});

test('keys are paged in the order of account and name, without repeats when others come between', async (t) => {
  const admin = await openAdmin(t, config);
  for (let i = 0; i < 7; i++) await admin.ok('POST', '/keys', { account: 'file', name: `k${i}` });
  const names: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { data: { name: string }[]; next_cursor: string | null } = await admin.ok(
      'GET',
      `/keys?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    names.push(...page.data.map(({ name }) => name));
    if (cursor === null) await admin.ok('POST', '/keys', { account: 'file', name: 'a-late-one' });
    cursor = page.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(names, ['k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'laptop']);
});

test('a key is changed in place: its secret, id and vector data stay, and the ring goes by it at once', async (t) => {
  const admin = await openAdmin(t, { ...config, guards: { pii: { check: 'personal-data', action: 'mask' } } });
  const made = await admin.ok('POST', '/keys', {
    account: 'file',
    name: 'ci',
    limits: { rpm: 3, windows: { '5h': 10, week: 20 }, budget: { month: 5 } },
  });
  const changed = await admin.ok('PATCH', `/keys/${made.id}`, {
    name: 'production',
    expires: '90d',
    models: ['small-*'],
    ips: ['10.0.0.0/8'],
    guards: ['pii'],
    limits: { rpm: null, windows: { week: 40 }, budget: { month: 50 } },
    version: made.version,
  });
  assert.deepEqual(
    [changed.id, changed.name, changed.tenant, changed.models, changed.ips, changed.guards],
    [made.id, 'production', 'file/ci', ['small-*'], ['10.0.0.0/8'], ['pii']],
  );
  assert.deepEqual(changed.limits, { windows: { '5h': 10, week: 40 }, budget: { month: 50 } });
  assert.equal(changed.expires, new Date(admin.clock.wallMs() + 90 * 24 * hourMs).toISOString());
  assert.deepEqual([enters(admin, made.key, '10.0.0.1'), enters(admin, made.key)], [200, 403]);
  const freed = await admin.ok('PATCH', `/keys/${made.id}`, { expires: null, models: null, ips: null, limits: null });
  assert.deepEqual([freed.expires, freed.models, freed.ips, freed.limits], [null, null, null, null]);
  assert.equal(freed.name, 'production', 'what a change does not name stays');
  assert.equal(enters(admin, made.key), 200);
  const [last, first] = (await admin.ok('GET', '/audit?action=key.update')).data;
  assert.deepEqual(
    [first.before.name, first.after.name, first.after.limits.budget],
    ['ci', 'production', { month: 50 }],
  );
  assert.deepEqual([last.actor, last.subject, last.after.ips], ['test', made.id, null]);
});

test('an expired key works again with a new end, and a revoked one never', async (t) => {
  const admin = await openAdmin(t, config);
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'ci', expires: '1h' });
  admin.clock.advance(hourMs);
  assert.equal(enters(admin, made.key), 401);
  await admin.ok('PATCH', `/keys/${made.id}`, { expires: '1h' });
  assert.equal(enters(admin, made.key), 200);
  await admin.ok('POST', `/keys/${made.id}/revoke`);
  const [status, , message] = await admin.refused('PATCH', `/keys/${made.id}`, { expires: '1h' });
  assert.equal(status, 409);
  assert.match(message, /is revoked/);
  assert.equal(enters(admin, made.key), 401);
});

test('of two operators who change one key the second is told what the first one made of it', async (t) => {
  const admin = await openAdmin(t, config);
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'ci', limits: { rpm: 3 } });
  await admin.ok('PATCH', `/keys/${made.id}`, { limits: { budget: { month: 5 } }, version: made.version });
  const refused = await admin.call('PATCH', `/keys/${made.id}`, { name: 'x', version: made.version });
  assert.equal(refused.status, 409);
  assert.deepEqual([refused.json.current.name, refused.json.current.limits], ['ci', { rpm: 3, budget: { month: 5 } }]);
  await admin.ok('PATCH', `/keys/${made.id}`, { name: 'x', version: refused.json.current.version });
  // Without a version both come through: each changes what it names.
  await Promise.all([
    admin.ok('PATCH', `/keys/${made.id}`, { limits: { rpm: 9 } }),
    admin.ok('PATCH', `/keys/${made.id}`, { limits: { tpm: 1_000 } }),
    admin.ok('PATCH', `/keys/${made.id}`, { models: ['a'] }),
  ]);
  const now = await admin.ok('GET', `/keys/${made.id}`);
  assert.deepEqual([now.name, now.models, now.limits], ['x', ['a'], { rpm: 9, tpm: 1_000, budget: { month: 5 } }]);
});

test("a new key never reaches the vector data of a key that had its name, nor takes a living key's name", async (t) => {
  const admin = await openAdmin(t, config);
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'old' });
  await admin.ok('PATCH', `/keys/${made.id}`, { name: 'new' });
  const [status, , message] = await admin.refused('POST', '/keys', { account: 'file', name: 'old' });
  assert.equal(status, 409);
  assert.match(message, /'file\/old' is in use by the key 'new'.*share_vectors_with/);
  const shared = await admin.ok('POST', '/keys', { account: 'file', name: 'other', share_vectors_with: made.id });
  assert.equal(shared.tenant, 'file/old');
  for (const name of ['new', 'laptop']) {
    assert.equal((await admin.refused('PATCH', `/keys/${shared.id}`, { name }))[0], 409, name);
  }
  await admin.ok('PATCH', `/keys/${made.id}`, { name: 'new' });
  await admin.ok('PATCH', `/keys/${made.id}`, { name: 'old' });
});

for (const [body, param] of [
  [{}, null],
  [{ version: 'x'.repeat(65) }, 'version'],
  [{ name: '\u0000' }, 'name'],
  [{ expires: '2020-01-01' }, 'expires'],
  [{ models: [] }, 'models'],
  [{ ips: ['10.0.0.0/64'] }, 'ips[0]'],
  [{ guards: ['nobody'] }, 'guards[0]'],
  [{ limits: { rpm: 0 } }, 'limits.rpm'],
  [{ limits: { rpmm: 1 } }, 'limits.rpmm'],
  [{ limits: { budget: { month: -1 } } }, 'limits.budget.month'],
  // Of what it has already, too.
  [{ limits: { windows: { '5h': 30 } } }, 'limits.windows.5h'],
  [{ account: 'other' }, 'account'],
  [{ tenant: 'other/x' }, 'tenant'],
] as const) {
  test(`a change of a key with a wrong ${param} is a 400 that names it: ${JSON.stringify(body)}`, async (t) => {
    const admin = await openAdmin(t, config);
    const limits = { windows: { '5h': 10, week: 20 } };
    const { id, version } = await admin.ok('POST', '/keys', { account: 'file', name: 'ci', limits });
    const [status, named] = await admin.refused('PATCH', `/keys/${id}`, body);
    assert.deepEqual([status, named], [400, param]);
    assert.equal((await admin.ok('GET', `/keys/${id}`)).version, version, 'nothing changed');
  });
}

test('how full the limits of a key and of its plan are', async (t) => {
  const admin = await openAdmin(t, config);
  const { id } = await admin.ok('POST', '/keys', { account: 'file', name: 'ci', limits: { budget: { month: 5 } } });
  const { own, of_plan, plan, scope } = await admin.ok('GET', `/keys/${id}/windows`);
  const limited = (windows: { limit: number | null }[]) => windows.filter(({ limit }) => limit !== null);
  assert.deepEqual([plan, scope], ['pro', 'account']);
  assert.deepEqual(
    limited(own).map(({ window, measure, used, limit }: Answer) => [window, measure, used, limit]),
    [['month', 'usd', 0, 5]],
  );
  assert.deepEqual(
    limited(of_plan).map(({ window, measure, limit }: Answer) => [window, measure, limit]),
    [['minute', 'requests', 10]],
  );
  assert.equal((await admin.refused('GET', '/keys/nobody/windows'))[0], 404);
});

test('keys are found by their tags, wherever they were written, and a change replaces them', async (t) => {
  const admin = await openAdmin(t, {
    accounts: { file: {} },
    keys: [{ key: 'sk-cv-declared-1', account: 'file', name: 'laptop', tags: ['team a', 'production'] }],
  });
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'ci', tags: ['team a', 'team a', 'night:ly'] });
  assert.deepEqual(made.tags, ['team a', 'night:ly']);
  const named = async (query: string) =>
    (await admin.ok('GET', `/keys?${query}`)).data.map(({ name }: { name: string }) => name);
  assert.deepEqual(await named('tag=team%20a'), ['ci', 'laptop']);
  assert.deepEqual(await named('tag=team'), [], 'a whole tag');
  assert.deepEqual(await named('text=PRODuc'), ['laptop']);
  assert.deepEqual(await named('text=file/ci'), ['ci'], 'as lists and commands name it');
  const changed = await admin.ok('PATCH', `/keys/${made.id}`, { tags: ['team b'] });
  assert.deepEqual(changed.tags, ['team b']);
  assert.notEqual(changed.version, made.version);
  assert.deepEqual((await admin.ok('PATCH', `/keys/${made.id}`, { name: 'ci-2' })).tags, ['team b']);
  assert.deepEqual(await named('tag=team%20b'), ['ci-2']);
  const [audited] = (await admin.ok('GET', '/audit?action=key.update&limit=2')).data.slice(1);
  assert.deepEqual([audited.before.tags, audited.after.tags], [made.tags, ['team b']]);
  assert.deepEqual((await admin.ok('PATCH', `/keys/${made.id}`, { tags: [] })).tags, []);
  for (const tag of ['team b ', ' team b', '=1', 'a,b', 'a\n', '', 'x'.repeat(65)]) {
    const refused = await admin.refused('PATCH', `/keys/${made.id}`, { tags: [tag] });
    assert.deepEqual([refused[0], refused[1]], [400, 'tags[0]'], JSON.stringify(refused));
  }
});

test('the addresses that a key was last used from are counted, also behind a proxy, and the last 20 stay', async (t) => {
  const admin = await openAdmin(t, config);
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'ci' });
  const connection = {};
  const headers = { 'x-api-key': made.key };
  for (const address of ['192.0.2.1', '192.0.2.9']) {
    const caller = admin.ring.authenticate(headers, () => address, connection);
    assert.ok(!isFailure(caller), 'the address of a connection does not change');
  }
  const seen = async () =>
    (await admin.ok('GET', `/keys/${made.id}/addresses`)).data.map(
      ({ address, requests, last_used_at }: Record<string, string>) => [address, requests, last_used_at],
    );
  const first = new Date(admin.clock.wallMs()).toISOString();
  assert.deepEqual(await seen(), [['192.0.2.1', 2, first]]);
  admin.places.byRequest = true;
  admin.clock.advance(60_000);
  const proxied = {};
  for (let at = 0; at < 25; at += 1) {
    admin.ring.authenticate(headers, () => `2001:db8::${at}`, proxied);
    if (at < 22) continue;
    admin.clock.advance(1_000);
    await seen();
  }
  const rows = await seen();
  assert.deepEqual([rows.length, rows[0][0], rows[0][1]], [20, '2001:db8::24', 1]);
  assert.ok(!rows.some(([address]: string[]) => address === '192.0.2.1'), 'the one of long ago is forgotten');
  enters(admin, 'sk-cv-of-nobody', '198.51.100.1');
  assert.deepEqual((await admin.ok('GET', '/keys/sk-cv-declared:file%2Flaptop/addresses')).data, []);
  assert.equal((await admin.refused('GET', '/keys/nobody/addresses'))[0], 404);
});

test('a caller with many addresses leaves room to count those of others', async (t) => {
  const admin = await openAdmin(t, config);
  const made = await admin.ok('POST', '/keys', { account: 'file', name: 'many' });
  const other = await admin.ok('POST', '/keys', { account: 'file', name: 'other' });
  for (let at = 0; at < 10_500; at += 1) enters(admin, made.key, `2001:db8::${at.toString(16)}`);
  enters(admin, other.key);
  const placesOf = async (id: string) => (await admin.ok('GET', `/keys/${id}/addresses`)).data;
  const both = await Promise.all([placesOf(other.id), placesOf(other.id)]);
  assert.deepEqual(both[1], both[0], 'who asks during a write waits for it');
  assert.deepEqual(
    (await placesOf(other.id)).map(({ address, requests }: Answer) => [address, requests]),
    [['192.0.2.1', 1]],
  );
  assert.equal((await placesOf(made.id)).length, 20);
  enters(admin, made.key, '198.51.100.7');
  assert.ok(
    (await placesOf(made.id)).some(({ address }: Answer) => address === '198.51.100.7'),
    'idle ones make room',
  );
});

test('a key is named a week before it ends, unless it was made for a shorter time', async (t) => {
  const admin = await openAdmin(t, config);
  await admin.ok('POST', '/accounts', { id: 'acme', plan: 'pro' });
  await admin.ok('POST', '/keys', { account: 'acme', name: 'ci', expires: '90d' });
  await admin.ok('POST', '/keys', { account: 'acme', name: 'short', expires: '2d' });
  const expiring = async () =>
    (await admin.ok('GET', '/doctor')).findings.filter(({ message }: Answer) => /expire[sd]/.test(message));
  assert.deepEqual(await expiring(), []);
  admin.clock.advance(84 * 24 * hourMs);
  const [finding, ...others] = await expiring();
  assert.deepEqual(others, []);
  assert.equal(finding.message, "The key 'ci' of account 'acme' expires in 6 days.");
  assert.match(finding.fix, /culvert keys change acme\/ci --expires 90d/);
  const { wrong } = await admin.ok('GET', '/overview');
  assert.deepEqual([wrong[0].page, wrong[0].id], ['keys', finding.id]);
  // At its end it is not well, as an alert that ends then would say.
  admin.clock.advance(7 * 24 * hourMs);
  const [ended] = await expiring();
  assert.equal(ended.message, "The key 'ci' of account 'acme' has expired.");
  await admin.ok('PATCH', `/keys/${finding.id}`, { expires: '90d' });
  assert.deepEqual(await expiring(), []);
});

test('of many keys that expire, those are named that end first of those that the operator may see', async (t) => {
  const admin = await openAdmin(t, config);
  for (const id of ['acme', 'zeta']) await admin.ok('POST', '/accounts', { id, plan: 'pro' });
  const make = (account: string, name: string, expires: string) =>
    admin.ok('POST', '/keys', { account, name, expires });
  for (let i = 0; i < 50; i += 1) await make('acme', `k${i}`, '20d');
  await make('zeta', 'first', '19d');
  await make('zeta', 'last', '21d');
  admin.clock.advance(15 * 24 * hourMs);
  const expiring = async (accounts: string[] | null) => {
    const { json } = await admin.call('GET', '/doctor', undefined, { name: 'lena', role: 'admin', accounts });
    return json.findings.map(({ message }: Answer) => message).filter((message: string) => /expires/.test(message));
  };
  const all = await expiring(null);
  assert.deepEqual([all.length, all[0]], [50, "The key 'first' of account 'zeta' expires in 4 days."]);
  assert.deepEqual(
    (await expiring(['zeta'])).map((message: string) => message.slice(0, 15)),
    ["The key 'first'", "The key 'last' "],
  );
});

test('blocked keys of the file are named to those who may see their account, 50 of them', async (t) => {
  const keys = ['acme', 'zeta'].flatMap((account) =>
    Array.from({ length: account === 'acme' ? 51 : 1 }, (_, i) => ({
      key: `sk-cv-declared-${account}-${i}`,
      account,
      name: `k${i}`,
    })),
  );
  const admin = await openAdmin(t, {
    plans: { pro: {} },
    accounts: { acme: { plan: 'pro' }, zeta: { plan: 'pro' } },
    keys,
  });
  for (const { id } of (await admin.ok('GET', '/keys?limit=100')).data)
    await admin.ok('POST', `/keys/${encodeURIComponent(id)}/revoke`);
  const blocked = async (accounts: string[] | null) => {
    const { json } = await admin.call('GET', '/doctor', undefined, { name: 'lena', role: 'admin', accounts });
    return json.findings.flatMap(({ message }: Answer) => (/is blocked/.test(message) ? [message.slice(0, 29)] : []));
  };
  assert.equal((await blocked(null)).length, 50);
  assert.deepEqual(await blocked(['zeta']), ["The key 'k0' of account 'zeta"]);
});
