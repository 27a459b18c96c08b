import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryAccountStore } from '../../../test/fixtures/account-store.ts';
import type { AccountStore, KeyRow } from './account-store.ts';
import { revokeKey, rotateKey, secretsMax } from './change-key.ts';
import { issueFirstKey, issueKey, type KeyOrder } from './issue-key.ts';
import { type Declared, hashKey } from './key-directory.ts';

const hourMs = 3_600_000;
const declared: Declared = {
  accounts: [{ id: 'dev', plan: 'pro', status: 'active', guards: [] }],
  keys: [
    {
      hash: 'of-declared',
      account: 'dev',
      name: 'file',
      expiresMs: null,
      models: null,
      ips: null,
      limits: null,
      guards: [],
    },
  ],
  adminKey: null,
  defaultPlan: 'free',
  plans: ['free'],
};
const order: KeyOrder = {
  account: 'dev',
  name: 'laptop',
  expiresMs: null,
  models: null,
  ips: null,
  limits: null,
  guards: [],
  tags: [],
  shareVectorsWith: null,
  actor: 'test',
  nowMs: 1_000,
};

async function issue(store: AccountStore, over: Partial<KeyOrder> = {}, from = declared) {
  return issueKey(store, { ...order, ...over }, { stored: await store.load(), declared: from });
}

async function issued(store: AccountStore, over: Partial<KeyOrder> = {}) {
  const result = await issue(store, over);
  assert.ok(result.kind === 'issued', JSON.stringify(result));
  return result;
}

async function row(store: AccountStore, id: string): Promise<KeyRow> {
  const found = (await store.load()).keys.find((key) => key.id === id);
  assert.ok(found !== undefined);
  return found;
}

test('a key is written with its hash alone, and the audit trail holds neither', async () => {
  const store = memoryAccountStore();
  const { minted, row: made } = await issued(store, { models: ['small'], ips: ['10.0.0.0/8'], limits: { rpm: 3 } });
  assert.deepEqual(await row(store, minted.id), made);
  assert.deepEqual(made.secrets, [{ hash: hashKey(minted.secret), untilMs: null }]);
  await rotateKey(store, made, { actor: 'test', nowMs: 2_000, graceMs: hourMs });
  await revokeKey(store, await row(store, minted.id), { actor: 'test', nowMs: 3_000 });
  const kept = JSON.stringify([await store.load(), await store.audit({ limit: 10, before: null })]);
  assert.ok(!kept.includes(minted.secret));
  const trail = await store.audit({ limit: 10, before: null });
  assert.deepEqual(
    trail.map(({ action, subject }) => [action, subject]),
    [
      ['key.revoke', minted.id],
      ['key.rotate', minted.id],
      ['key.create', minted.id],
    ],
  );
  assert.ok(!JSON.stringify(trail).includes(minted.hash));
});

test('a second living key of one name is a conflict, in the file too; a revoked one gives its name free', async () => {
  const store = memoryAccountStore();
  const first = await issued(store);
  assert.equal((await issue(store)).kind, 'conflict');
  assert.equal((await issue(store, { name: 'file' })).kind, 'conflict');
  await revokeKey(store, first.row, { actor: 'test', nowMs: 2 });
  await issued(store);
});

test('of many who make the same key at one time one does; others of the account are no conflict', async () => {
  const store = memoryAccountStore();
  const stored = await store.load();
  const names = ['a', 'b', 'a', 'b', 'c', 'a'];
  const results = await Promise.all(names.map((name) => issueKey(store, { ...order, name }, { stored, declared })));
  assert.deepEqual(
    results.map(({ kind }) => kind),
    ['issued', 'issued', 'conflict', 'conflict', 'issued', 'conflict'],
  );
  assert.equal((await store.load()).accounts.length, 1);
});

test('account and name are checked; an account that nobody knows is refused', async () => {
  const store = memoryAccountStore();
  for (const bad of [{ account: 'a/b' }, { account: '' }, { account: 'nobody' }, { name: '' }, { name: 'a\r\nb' }]) {
    const result = await issue(store, bad);
    assert.equal(result.kind, 'invalid-request', JSON.stringify(bad));
    assert.deepEqual('param' in result && result.param, Object.keys(bad)[0]);
  }
  assert.deepEqual((await store.load()).accounts, []);
});

test('a key shares vector data with another of its account, never with one of another', async () => {
  const store = memoryAccountStore();
  const first = await issued(store);
  for (const named of [first.row.id, first.row.prefix, 'dev/laptop']) {
    const { row: made } = await issued(store, { name: `of ${named}`, shareVectorsWith: named });
    assert.equal(made.tenant, 'dev/laptop');
  }
  const { row: second } = await issued(store, { name: 'next', shareVectorsWith: 'sk-cv-declared:dev/file' });
  assert.equal(second.tenant, 'dev/file');
  const others = {
    ...declared,
    accounts: [...declared.accounts, { id: 'other', plan: 'pro', status: 'active' as const, guards: [] }],
  };
  const refused = await issue(store, { account: 'other', shareVectorsWith: first.row.id }, others);
  assert.ok(refused.kind === 'invalid-request' && refused.param === 'share_vectors_with');
  await revokeKey(store, first.row, { actor: 'test', nowMs: 2 });
  assert.equal((await issue(store, { name: 'late', shareVectorsWith: first.row.id })).kind, 'invalid-request');
});

test('rotation keeps id and tenant; old secrets end with the grace, never later than they would have', async () => {
  const store = memoryAccountStore();
  const { row: first, minted } = await issued(store);
  const second = await rotateKey(store, first, { actor: 'test', nowMs: 10_000, graceMs: hourMs });
  assert.ok(second.kind === 'rotated');
  assert.equal(second.minted.id, first.id);
  assert.match(second.minted.secret, new RegExp(`^sk-cv-${first.id}-[0-9A-Za-z]{43}$`));
  assert.notEqual(second.minted.secret, minted.secret);
  assert.equal(second.row.tenant, first.tenant);
  const third = await rotateKey(store, second.row, { actor: 'test', nowMs: 20_000, graceMs: 24 * hourMs });
  assert.ok(third.kind === 'rotated');
  assert.deepEqual(third.row.secrets, [
    { hash: third.minted.hash, untilMs: null },
    { hash: second.minted.hash, untilMs: 20_000 + 24 * hourMs },
    { hash: minted.hash, untilMs: 10_000 + hourMs },
  ]);
  assert.deepEqual((await row(store, first.id)).secrets, third.row.secrets);
  const now = await rotateKey(store, third.row, { actor: 'test', nowMs: 30_000, graceMs: 0 });
  assert.ok(now.kind === 'rotated');
  assert.deepEqual(now.row.secrets, [{ hash: now.minted.hash, untilMs: null }]);
});

test('secrets of one key are bounded: a rotation beyond is a conflict, one without grace still works', async () => {
  const store = memoryAccountStore();
  const { row: first } = await issued(store);
  const rotated = async (from: typeof first, nowMs: number, graceMs: number) => {
    const next = await rotateKey(store, from, { actor: 'test', nowMs, graceMs });
    assert.ok(next.kind === 'rotated');
    return next.row;
  };
  const filled = async (from: typeof first) => {
    let key = from;
    for (let count = 1; count < secretsMax; count += 1) key = await rotated(key, 2_000, hourMs);
    return key;
  };
  const full = await filled(first);
  assert.equal((await rotateKey(store, full, { actor: 'test', nowMs: 2_000, graceMs: hourMs })).kind, 'conflict');
  const again = await filled(await rotated(full, 2_000, 0));
  // Those that are over do not count.
  await rotated(again, 2_000 + hourMs, 1);
});

test('revoked and expired keys cannot be rotated; revoking twice changes nothing', async () => {
  const store = memoryAccountStore();
  const { row: expiring } = await issued(store, { expiresMs: 5_000 });
  assert.equal((await rotateKey(store, expiring, { actor: 'test', nowMs: 5_000, graceMs: 0 })).kind, 'conflict');
  const revoked = await revokeKey(store, expiring, { actor: 'test', nowMs: 6_000 });
  assert.equal((await rotateKey(store, revoked, { actor: 'test', nowMs: 7_000, graceMs: 0 })).kind, 'conflict');
  const stale = await rotateKey(store, { ...expiring, expiresMs: null }, { actor: 'test', nowMs: 7_000, graceMs: 0 });
  assert.equal(stale.kind, 'conflict', 'revoked by another meanwhile');
  await revokeKey(store, revoked, { actor: 'test', nowMs: 8_000 });
  assert.equal((await row(store, expiring.id)).revokedMs, 6_000);
  assert.equal((await store.audit({ limit: 10, before: null })).length, 2);
});

test('the first key is made once, with its account', async () => {
  const store = memoryAccountStore();
  const first = await issueFirstKey(store, 'free', 1);
  assert.equal(first?.row.tenant, 'default/first');
  assert.equal(await issueFirstKey(store, 'free', 2), null);
  assert.equal((await store.load()).accounts[0]?.plan, 'free');
});
