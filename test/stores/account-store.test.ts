import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AccountRow,
  type AccountStore,
  type AuditEntry,
  type Change,
  type CredentialRow,
  type EntryRow,
  type InvitationRow,
  type KeyRow,
  type KeySettings,
  nothingStored,
  type OperatorChange,
  type OperatorRow,
  type PlanRow,
  type ScimRow,
} from '../../src/books/auth/account-store.ts';
import { drivers } from './drivers.ts';

const account: AccountRow = {
  id: 'dev',
  name: 'Dev',
  plan: 'pro',
  status: 'active',
  guards: ['pii'],
  createdMs: 1_750_000_000_000,
};
const key: KeyRow = {
  id: 'AbCdEf123456',
  account: 'dev',
  name: 'laptop',
  tenant: 'dev/laptop',
  prefix: 'sk-cv-AbCdEf123456',
  secrets: [{ hash: 'ab'.repeat(32), untilMs: null }],
  kind: 'user',
  expiresMs: 1_760_000_000_000,
  models: ['small', '*-embedding*'],
  ips: ['10.0.0.0/8', '::1'],
  limits: { rpm: 5, windows: { '5h': 10 } },
  guards: ['pii', 'no-secrets'],
  createdMs: 1_750_000_000_001,
  revokedMs: null,
};
function settingsOf({ name, expiresMs, models, ips, limits, guards }: KeyRow): KeySettings {
  return { name, expiresMs, models, ips, limits, guards };
}
const bare = { expiresMs: null, models: null, ips: null, limits: null };
const plan: PlanRow = { name: 'pro', definition: { rpm: 9, windows: 'off' }, updatedMs: 1_750_000_000_002 };

function entry(over: Partial<AuditEntry> = {}): AuditEntry {
  return { atMs: 1, actor: 'cli', action: 'a', subject: 's', before: null, after: null, ...over };
}

function apply(store: AccountStore, ...changes: Change[]): Promise<'done' | 'exists' | 'absent'> {
  return store.apply(changes, entry());
}

const provider: EntryRow = {
  kind: 'provider',
  name: 'acme',
  definition: { type: 'openai', base_url: 'http://10.0.0.7:8000/v1', timeouts: { idle: '5s' } },
  sealed: 'AQ==',
  version: 1,
  createdMs: 1_750_000_000_003,
  updatedMs: 1_750_000_000_004,
  updatedBy: 'admin',
};
const model: EntryRow = {
  ...provider,
  kind: 'model',
  name: 'smart-*',
  definition: { targets: ['acme/*'] },
  sealed: null,
};
const credential: CredentialRow = {
  provider: 'acme',
  id: 'k1',
  sealed: 'AAEC',
  hint: '…ab12',
  weight: 2.5,
  rpm: null,
  createdMs: 1_750_000_000_005,
  createdBy: 'admin',
};

const createKept = (row: EntryRow): Change => ({ kind: 'create-kept', row });
const createCredential = (row: CredentialRow): Change => ({ kind: 'create-credential', credential: row });
const createAccount = (row: AccountRow): Change => ({ kind: 'create-account', account: row });
const createKey = (row: KeyRow): Change => ({ kind: 'create-key', key: row });

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: accounts, keys and plans come back as they were written, after a restart too`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const first = await store.accounts();
    assert.deepEqual(await first.load(), nothingStored);
    const other: KeyRow = { ...key, ...bare, id: 'x', name: 'ci', secrets: [{ hash: 'cd', untilMs: null }] };
    // In one step: a key may come with its account.
    const done = await apply(first, createAccount(account), createKey(key), createKey(other), {
      kind: 'put-plan',
      plan,
      was: null,
    });
    assert.equal(done, 'done');
    await first.close();
    const again = await store.accounts();
    const stored = await again.load();
    assert.deepEqual(stored.accounts, [account]);
    assert.deepEqual(
      stored.keys.toSorted((a, b) => a.id.localeCompare(b.id)),
      [key, other],
    );
    assert.deepEqual(stored.plans, [plan]);
    await again.close();
  });

  test(`${driver.name}: S22 another process sees by the version that something was written`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const server = await store.accounts();
    const cli = await store.accounts();
    const versions = [await server.version()];
    const steps: Change[] = [
      createAccount(account),
      { kind: 'update-account', id: 'dev', set: { status: 'suspended' }, was: null },
      createKey(key),
      { kind: 'replace-secrets', id: key.id, was: key.secrets[0]!.hash, secrets: [{ hash: 'ff', untilMs: null }] },
      { kind: 'put-plan', plan, was: null },
      { kind: 'delete-plan', name: 'pro' },
      { kind: 'revoke-key', id: key.id, atMs: 1_750_000_000_002 },
    ];
    for (const change of steps) {
      assert.equal(await apply(cli, change), 'done', change.kind);
      versions.push(await server.version());
    }
    assert.deepEqual(
      versions.toSorted((a, b) => a - b),
      [...new Set(versions)],
    );
    const { accounts, keys, plans } = await server.load();
    assert.equal(keys[0]?.revokedMs, 1_750_000_000_002);
    assert.deepEqual(accounts, [{ ...account, status: 'suspended' }]);
    assert.deepEqual(plans, []);
    await server.close();
    await cli.close();
  });

  test(`${driver.name}: what contradicts the store changes nothing, of a step with several changes too`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    assert.equal(await apply(accounts, createKey(key)), 'absent', 'a key of no account');
    assert.equal(await apply(accounts, createAccount(account), createKey(key)), 'done');
    const before = await accounts.load();
    const version = await accounts.version();
    const other: KeyRow = { ...key, id: 'other', name: 'other', secrets: [{ hash: '00', untilMs: null }] };
    const next = [{ hash: '11', untilMs: null }];
    const refused: [string, 'exists' | 'absent', Change][] = [
      ['an account twice', 'exists', createAccount(account)],
      ['one identity twice', 'exists', createKey({ ...other, name: key.name })],
      ['one secret twice', 'exists', createKey({ ...other, secrets: key.secrets })],
      ['nobody', 'absent', { kind: 'update-account', id: 'nobody', set: { plan: 'x' }, was: null }],
      ['no such key', 'absent', { kind: 'revoke-key', id: 'nobody', atMs: 3 }],
      ['no such key', 'absent', { kind: 'replace-secrets', id: 'nobody', was: key.secrets[0]!.hash, secrets: next }],
      ['no such plan', 'absent', { kind: 'delete-plan', name: 'nobody' }],
    ];
    for (const [why, answer, change] of refused) {
      assert.equal(await apply(accounts, { kind: 'put-plan', plan, was: null }, change), answer, why);
    }
    assert.equal(await accounts.version(), version);
    assert.deepEqual(await accounts.load(), before);
    assert.equal((await accounts.audit({ limit: 10, before: null })).length, 1);
    await accounts.close();
  });

  test(`${driver.name}: a revoked key stays revoked and gives its name free, but not its secret`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    await apply(accounts, createAccount(account), createKey(key));
    const revoke: Change = { kind: 'revoke-key', id: key.id, atMs: 5 };
    const remove: Change = { kind: 'delete-key', id: key.id };
    assert.equal(await apply(accounts, remove), 'absent', 'only a revoked key is deleted');
    assert.equal(await apply(accounts, revoke), 'done');
    assert.equal(await apply(accounts, revoke), 'absent', 'revoked once');
    const secrets = [{ hash: '22', untilMs: null }];
    const was = key.secrets[0]!.hash;
    assert.equal(await apply(accounts, { kind: 'replace-secrets', id: key.id, was, secrets }), 'absent');
    assert.equal(await apply(accounts, createKey({ ...key, id: 'next' })), 'exists');
    assert.equal(await apply(accounts, createKey({ ...key, id: 'next', secrets })), 'done');
    const ids = async () => (await accounts.load()).keys.map(({ id }) => id).toSorted();
    assert.deepEqual(await ids(), [key.id, 'next'].toSorted());
    assert.equal(await apply(accounts, remove), 'done');
    assert.deepEqual(await ids(), ['next']);
    await accounts.close();
  });

  test(`${driver.name}: extra budget, budgets and data rule of an account are kept, compared and taken away`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    const extraBudget = { usd: 50.5, untilMs: 1_760_000_000_000 };
    await apply(accounts, createAccount(account));
    const { id, name, plan: of, status, guards } = account;
    const was = { name, plan: of, status, guards, extraBudget: null };
    const update = (set: object, before: { extraBudget: typeof extraBudget | null }) =>
      apply(accounts, { kind: 'update-account', id, set, was: { ...was, ...before } });
    assert.equal(await update({ extraBudget }, was), 'done');
    assert.equal(await update({ name: 'x' }, was), 'absent', 'it has one by now');
    assert.deepEqual((await accounts.load()).accounts, [{ ...account, extraBudget }]);
    const budgets = [{ by: 'user' as const, usd: 5, window: 'month' as const }];
    assert.equal(await update({ budgets }, { extraBudget }), 'done');
    assert.deepEqual((await accounts.load()).accounts, [{ ...account, extraBudget, budgets }]);
    const data = { regions: ['eu'], no_training: true, zero_retention: false };
    assert.equal(await update({ data }, { extraBudget }), 'done');
    assert.deepEqual((await accounts.load()).accounts, [{ ...account, extraBudget, budgets, data }]);
    assert.equal(await update({ extraBudget: null, budgets: null, data: null }, { extraBudget }), 'done');
    assert.deepEqual((await accounts.load()).accounts, [account]);
    await accounts.close();
  });

  test(`${driver.name}: credit is added once for its id, by many at the same time, and listed newest first`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    await apply(accounts, createAccount(account));
    const topUp = (id: string, usdNano: number, atMs: number) =>
      apply(accounts, { kind: 'add-credit', topUp: { account: account.id, id, usdNano, note: 'n', actor: 'a', atMs } });
    const ids = Array.from({ length: 8 }, (_, at) => `t${at % 4}`);
    const done = await Promise.all(ids.map((id, at) => topUp(id, 4_000_000_000_000_001, at)));
    assert.deepEqual(done.toSorted(), [...Array(4).fill('done'), ...Array(4).fill('exists')]);
    assert.equal(await topUp('less', -8_000_000_000_000_000, 9), 'done');
    const [row] = (await accounts.load()).accounts;
    assert.equal(row?.creditNano, 8_000_000_000_000_004);
    const [newest, ...others] = await accounts.topUps(account.id, 3);
    assert.deepEqual([newest?.id, newest?.usdNano, others.length], ['less', -8_000_000_000_000_000, 2]);
    assert.equal(
      await apply(accounts, {
        kind: 'add-credit',
        topUp: { account: 'nobody', id: 'x', usdNano: 1, note: '', actor: 'a', atMs: 1 },
      }),
      'absent',
    );
    await accounts.close();
  });

  test(`${driver.name}: a key changes only from what it was, and takes no living key's name`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    const other: KeyRow = { ...key, id: 'other', name: 'other', secrets: [{ hash: '33', untilMs: null }] };
    await apply(accounts, createAccount(account), createKey(key), createKey(other));
    const was = settingsOf(key);
    const set = { name: 'renamed', expiresMs: 9, models: null, ips: ['10.0.0.0/8'], limits: { budget: { month: 3 } } };
    const update = (change: Partial<KeySettings>, before = was) =>
      apply(accounts, { kind: 'update-key', id: key.id, set: change, was: before });
    assert.equal(await update({ name: 'other' }), 'exists');
    assert.equal(await update({ name: 'x' }, { ...was, limits: { rpm: 1 } }), 'absent', 'it was another');
    assert.equal(await update({ name: 'x' }, { ...was, expiresMs: 1 }), 'absent', 'it was another');
    assert.equal(await update(set), 'done');
    assert.equal(await update(set), 'absent', 'it is another by now');
    const now = { ...key, ...set };
    assert.deepEqual(
      (await accounts.load()).keys.find(({ id }) => id === key.id),
      now,
    );
    assert.equal(await update({ limits: null, guards: ['pii'] }, settingsOf(now)), 'done');
    const last = { ...now, limits: null, guards: ['pii'] };
    assert.deepEqual(
      (await accounts.load()).keys.find(({ id }) => id === key.id),
      last,
    );
    await apply(accounts, { kind: 'revoke-key', id: key.id, atMs: 5 });
    assert.equal(await update({ guards: [] }, settingsOf(last)), 'absent', 'it is revoked');
    await accounts.close();
  });

  test(`${driver.name}: a rotation leaves the new secret and the old one until the overlap ends`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    await apply(accounts, createAccount(account), createKey(key));
    const old = key.secrets[0]!.hash;
    const overlap = [
      { hash: 'ee'.repeat(32), untilMs: null },
      { hash: old, untilMs: 1_750_000_100_000 },
    ];
    const replace = (was: string, secrets: KeyRow['secrets']) =>
      apply(accounts, { kind: 'replace-secrets', id: key.id, was, secrets });
    assert.equal(await replace(old, overlap), 'done');
    assert.deepEqual((await accounts.load()).keys[0], { ...key, secrets: overlap });
    const next = [{ hash: 'dd'.repeat(32), untilMs: null }];
    assert.equal(await replace(old, next), 'absent', 'somebody else has rotated it since');
    assert.equal(await replace(overlap[0]!.hash, next), 'done');
    assert.deepEqual((await accounts.load()).keys[0]?.secrets, next);
    await accounts.close();
  });

  test(`${driver.name}: a plan written again replaces the one of its name`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    const later: PlanRow = { name: 'pro', definition: { tokens: { month: 1e12 } }, updatedMs: 1_750_000_000_009 };
    assert.equal(await apply(accounts, { kind: 'put-plan', plan, was: null }), 'done');
    assert.equal(await apply(accounts, { kind: 'put-plan', plan: later, was: null }), 'done');
    assert.deepEqual((await accounts.load()).plans, [later]);
    await accounts.close();
  });

  test(`${driver.name}: of two changes of what both have seen, by two processes at one time, one is done`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const processes = await Promise.all([store.accounts(), store.accounts()]);
    await apply(processes[0]!, createAccount(account), { kind: 'put-plan', plan, was: null });
    const { name, plan: planName, status, guards } = account;
    const was = { name, plan: planName, status, guards };
    const renames = processes.map((one, at) =>
      apply(one, { kind: 'update-account', id: account.id, set: { name: `by ${at}` }, was }),
    );
    assert.deepEqual((await Promise.all(renames)).toSorted(), ['absent', 'done']);
    const limits = processes.map((one, at) =>
      apply(one, { kind: 'put-plan', plan: { ...plan, definition: { rpm: at + 1 } }, was: plan.definition }),
    );
    assert.deepEqual((await Promise.all(limits)).toSorted(), ['absent', 'done']);
    const gone: Change = { kind: 'put-plan', plan: { ...plan, name: 'gone' }, was: plan.definition };
    assert.equal(await apply(processes[0]!, gone), 'absent');
    await Promise.all(processes.map((one) => one.close()));
  });

  test(`${driver.name}: what was set up at run time comes back as it was kept`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    const second: CredentialRow = { ...credential, id: 'k0', rpm: 60, createdMs: credential.createdMs + 1 };
    const done = await apply(
      accounts,
      createKept(provider),
      createKept(model),
      createCredential(second),
      createCredential(credential),
    );
    assert.equal(done, 'done');
    const stored = await accounts.load();
    assert.deepEqual(stored.entries, [model, provider]);
    assert.deepEqual(stored.credentials, [credential, second]);
    await accounts.close();
  });

  test(`${driver.name}: a kept row changes only from the version that its changer knew`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    await apply(accounts, createKept(provider), createKept({ ...model, name: 'acme' }), createCredential(credential));
    assert.equal(await apply(accounts, createKept(provider)), 'exists');
    assert.equal(await apply(accounts, createCredential(credential)), 'exists');
    const next: EntryRow = { ...provider, definition: { type: 'ollama' }, version: 2, updatedBy: 'bob' };
    const replace: Change = { kind: 'replace-kept', row: next, was: 1 };
    assert.equal(await apply(accounts, replace), 'done');
    assert.equal(await apply(accounts, replace), 'absent', 'the second of two that knew version 1');
    const removal = (was: number): Change => ({ kind: 'delete-kept', of: 'provider', name: 'acme', was });
    assert.equal(await apply(accounts, removal(1)), 'absent');
    const { sealed: was } = (await accounts.load()).credentials[0]!;
    const reseal = (id: string): Change => ({ kind: 'reseal-credential', provider: 'acme', id, was, sealed: 'BBBB' });
    assert.equal(await apply(accounts, reseal('k1')), 'done');
    assert.equal(await apply(accounts, reseal('k1')), 'absent', 'somebody has replaced it since');
    assert.equal(await apply(accounts, reseal('k9')), 'absent');
    assert.equal((await accounts.load()).credentials[0]?.sealed, 'BBBB');
    assert.deepEqual(
      (await accounts.load()).entries.find(({ kind }) => kind === 'provider'),
      next,
    );
    assert.equal(await apply(accounts, { kind: 'delete-credential', provider: 'acme', id: 'k9' }), 'absent');
    assert.equal(await apply(accounts, removal(2)), 'done');
    const left = await accounts.load();
    assert.deepEqual(left.entries, [{ ...model, name: 'acme' }], 'the model of that name stays');
    assert.deepEqual(left.credentials, [], 'credentials go with their provider');
    await accounts.close();
  });

  test(`${driver.name}: the audit trail is read newest first, page by page`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    for (let at = 1; at <= 5; at += 1) {
      const written = entry({
        atMs: at,
        action: 'plan.put',
        subject: 'pro',
        before: at === 1 ? null : { at: at - 1 },
        after: { at },
      });
      await accounts.apply([{ kind: 'put-plan', plan, was: null }], written);
    }
    const first = await accounts.audit({ limit: 3, before: null });
    assert.deepEqual(
      first.map(({ id: _, ...rest }) => rest),
      [5, 4, 3].map((at) => ({
        atMs: at,
        actor: 'cli',
        action: 'plan.put',
        subject: 'pro',
        before: { at: at - 1 },
        after: { at },
      })),
    );
    const second = await accounts.audit({ limit: 3, before: first[2]!.id });
    assert.deepEqual(
      second.map((row) => row.atMs),
      [2, 1],
    );
    assert.equal(second[1]?.before, null);
    assert.deepEqual(await accounts.audit({ limit: 3, before: second[1]!.id }), []);
    await accounts.close();
  });

  test(`${driver.name}: of two that create the same key at one moment one is refused`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const writers = await Promise.all(Array.from({ length: 4 }, () => store.accounts()));
    await apply(writers[0]!, createAccount(account));
    const answers = await Promise.all(
      writers.map((writer, at) =>
        apply(writer, createKey({ ...key, id: `k${at}`, secrets: [{ hash: `${at}`, untilMs: null }] })),
      ),
    );
    assert.deepEqual(answers.toSorted(), ['done', 'exists', 'exists', 'exists']);
    assert.equal((await writers[0]!.load()).keys.length, 1);
    for (const writer of writers) await writer.close();
  });

  test(`${driver.name}: S4 hostile text is data`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    const hostile = `'); DROP TABLE api_key; --"$1%_?\\`;
    await apply(accounts, createAccount({ ...account, id: hostile, name: hostile }));
    await accounts.apply(
      [{ kind: 'put-plan', plan: { ...plan, name: hostile }, was: null }],
      entry({ subject: hostile, after: hostile }),
    );
    const stored = await accounts.load();
    assert.equal(stored.accounts[0]?.name, hostile);
    assert.equal(stored.plans[0]?.name, hostile);
    assert.equal((await accounts.audit({ limit: 1, before: null }))[0]?.after, hostile);
    assert.equal(
      await apply(accounts, { kind: 'update-account', id: `' OR '1'='1`, set: { plan: 'x' }, was: null }),
      'absent',
    );
    await accounts.close();
  });

  test(`${driver.name}: operators are kept, changed and removed with their sessions`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    const sessions = await store.sessions();
    const anna: OperatorRow = {
      id: 'op_1',
      name: 'Anna',
      role: 'viewer',
      accounts: ['dev'],
      prefix: null,
      hash: null,
      issuer: 'https://id.example.org',
      subject: 'anna',
      origin: 'invitation',
      createdMs: 1_750_000_000_000,
    };
    const bob: OperatorRow = {
      ...anna,
      id: 'op_2',
      name: 'Bob',
      accounts: null,
      hash: 'cd'.repeat(32),
      issuer: null,
      subject: null,
    };
    assert.equal(await apply(accounts, { kind: 'create-operator', operator: bob }), 'done');
    assert.equal(await apply(accounts, { kind: 'create-operator', operator: anna }), 'done');
    assert.deepEqual((await accounts.load()).operators, [anna, bob]);
    for (const taken of [
      { ...anna, id: 'op_3', subject: 'another' },
      { ...anna, id: 'op_3', name: 'Anna 2' },
      { ...bob, id: 'op_3', name: 'Bob 2' },
    ]) {
      assert.equal(await apply(accounts, { kind: 'create-operator', operator: taken }), 'exists');
    }
    const update = (set: OperatorChange) => apply(accounts, { kind: 'update-operator', id: anna.id, set });
    assert.equal(await update({ role: 'owner', accounts: ['dev'] }), 'done');
    assert.equal(await update({ prefix: 'sk-cv-op-new', hash: 'new' }), 'done');
    const changed = { ...anna, role: 'owner', accounts: ['dev'], prefix: 'sk-cv-op-new', hash: 'new' };
    assert.deepEqual((await accounts.load()).operators[0], changed, 'each change leaves the other');
    assert.equal(await update({ accounts: null }), 'done');
    assert.deepEqual((await accounts.load()).operators[0], { ...changed, accounts: null });
    assert.equal(await update({ name: 'Bob' }), 'exists');
    const times = { createdMs: Date.now(), seenMs: Date.now(), endsMs: Date.now() + 60_000 };
    await sessions.open(
      { id: 'ses_1', hash: 'h', login: 'oidc', credential: null, operator: 'op_1', address: '', agent: '', ...times },
      5,
    );
    assert.equal(await apply(accounts, { kind: 'delete-operator', id: 'op_1' }), 'done');
    assert.equal(await apply(accounts, { kind: 'delete-operator', id: 'op_1' }), 'absent');
    assert.deepEqual(await sessions.list(), []);
    await sessions.close();
    await accounts.close();
  });

  test(`${driver.name}: an invitation is used once, in time, and is kept until then`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    const invitation = (id: string, over: Partial<InvitationRow> = {}): InvitationRow => ({
      id,
      hash: id,
      role: 'member',
      accounts: ['dev'],
      name: null,
      email: 'anna@example.org',
      createdMs: 10,
      createdBy: 'admin',
      endsMs: 20,
      ...over,
    });
    const first = invitation('inv_1');
    const second = invitation('inv_2', { accounts: null, name: 'Anna', email: null, createdMs: 11 });
    for (const one of [first, second]) {
      assert.equal(await apply(accounts, { kind: 'create-invitation', invitation: one }), 'done');
    }
    const sameLink = invitation('inv_3', { hash: first.hash });
    assert.equal(await apply(accounts, { kind: 'create-invitation', invitation: sameLink }), 'exists');
    await accounts.close();
    const again = await store.accounts();
    const other = await store.accounts();
    assert.deepEqual((await again.load()).invitations, [first, second], 'after a restart');
    const use = (by: AccountStore, atMs: number) => apply(by, { kind: 'use-invitation', id: 'inv_1', atMs });
    assert.equal(await use(again, 20), 'absent', 'it is over');
    const both = await Promise.all([use(again, 19), use(other, 19)]);
    assert.deepEqual(both.sort(), ['absent', 'done'], 'two processes');
    assert.equal(await apply(again, { kind: 'delete-invitation', id: 'inv_1' }), 'absent');
    const late = invitation('inv_4', { createdMs: 20, endsMs: 30 });
    assert.equal(await apply(again, { kind: 'create-invitation', invitation: late }), 'done');
    assert.deepEqual((await again.load()).invitations, [late], 'those that have expired go');
    await Promise.all([again.close(), other.close()]);
  });

  test(`${driver.name}: what a directory provisioned is kept, and written only where nothing else was`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const accounts = await store.accounts();
    const user: ScimRow = {
      id: 'usr_1',
      kind: 'user',
      name: 'anna',
      data: { active: true },
      createdMs: 1,
      updatedMs: 2,
    };
    const group: ScimRow = { ...user, id: 'grp_1', kind: 'group', createdMs: 2 };
    assert.equal(
      await apply(accounts, { kind: 'create-scim', row: user }, { kind: 'create-scim', row: group }),
      'done',
    );
    assert.equal(await apply(accounts, { kind: 'create-scim', row: { ...user, id: 'usr_2' } }), 'exists');
    const version = await accounts.version();
    const off: ScimRow = { ...user, data: { active: false } };
    const change: Change[] = [
      { kind: 'only-at', version },
      { kind: 'replace-scim', row: off },
    ];
    assert.equal(await apply(accounts, ...change), 'done');
    assert.equal(await apply(accounts, ...change), 'absent', 'something was written since');
    assert.deepEqual(await accounts.scim(), [off, group]);
    assert.equal(await apply(accounts, { kind: 'delete-scim', id: 'usr_1' }), 'done');
    assert.equal(await apply(accounts, { kind: 'delete-scim', id: 'usr_1' }), 'absent');
    await accounts.close();
    const again = await store.accounts();
    assert.deepEqual(await again.scim(), [group]);
    await again.close();
  });
}
