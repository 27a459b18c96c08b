import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../kernel/clock.ts';
import { issueFirstKey, issueKey } from './issue-key.ts';
import { createKeyRing, isFailure } from './key-ring.ts';
import type { AccountRow, KeyRow, KeyStore } from './key-store.ts';
import { keyPollIntervalMs, watchKeys } from './watch-keys.ts';

/** As a driver behaves, without a disk: other processes write by the same object. */
function memoryStore(): KeyStore & { fail: Error | null } {
  let version = 1;
  const accounts: AccountRow[] = [];
  const keys: KeyRow[] = [];
  return {
    fail: null,
    async load() {
      return { accounts: [...accounts], keys: keys.map((key) => ({ ...key })) };
    },
    async version() {
      if (this.fail !== null) throw this.fail;
      return version;
    },
    async createAccount(account) {
      accounts.push(account);
      version += 1;
    },
    async createKey(key) {
      keys.push(key);
      version += 1;
    },
    async findAccount(id) {
      return accounts.find((account) => account.id === id) ?? null;
    },
    async revokeKey(id, atMs) {
      const key = keys.find((candidate) => candidate.id === id);
      if (key === undefined) return false;
      key.revokedMs = atMs;
      version += 1;
      return true;
    },
    async close() {},
  };
}

const order = { account: 'dev', name: 'laptop', plan: 'free', expiresMs: null, models: null, nowMs: 1 };
const nobody = { accounts: [], keys: [], adminKey: null, defaultPlan: 'free' };

async function issued(store: KeyStore, over: Partial<typeof order> = {}) {
  const result = await issueKey(store, { ...order, ...over });
  assert.ok(result.kind === 'issued', JSON.stringify(result));
  return result;
}

test('S22 a key written or revoked elsewhere counts after one look, which comes each second', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const store = memoryStore();
  const ring = createKeyRing(fakeClock(), nobody);
  const watch = watchKeys(ring, store, (error) => assert.fail(String(error)));
  const { key, tenant } = await issued(store);
  const look = async () => {
    t.mock.timers.tick(keyPollIntervalMs);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    return ring.authenticate({ 'x-api-key': key.secret });
  };
  const caller = await look();
  assert.ok(!isFailure(caller));
  assert.equal(caller.tenant, tenant);
  assert.equal(await watch.poll(), false);
  await store.revokeKey(key.id, 2);
  assert.ok(isFailure(await look()));
  watch.stop();
});

test('while the store cannot be read, who could enter still can, and it is told once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const store = memoryStore();
  const ring = createKeyRing(fakeClock(), nobody);
  const told: unknown[] = [];
  const watch = watchKeys(ring, store, (error) => told.push(error));
  const { key } = await issued(store);
  await watch.poll();
  store.fail = new Error('disk gone');
  for (let second = 0; second < 3; second += 1) {
    t.mock.timers.tick(keyPollIntervalMs);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
  assert.equal(told.length, 1);
  assert.match(watch.trouble() ?? '', /disk gone/);
  assert.ok(!isFailure(ring.authenticate({ 'x-api-key': key.secret })));
  watch.stop();
});

test('a second key of the same identity is a conflict; account and name are checked', async () => {
  const store = memoryStore();
  await issued(store);
  assert.equal((await issueKey(store, order)).kind, 'conflict');
  for (const bad of [{ account: 'a/b' }, { account: '' }, { account: '../x' }, { name: '' }, { name: 'a\r\nb' }]) {
    const result = await issueKey(store, { ...order, ...bad });
    assert.equal(result.kind, 'invalid-request', JSON.stringify(bad));
    assert.deepEqual('param' in result && result.param, Object.keys(bad)[0]);
  }
});

test('an account made on the way has the plan, an existing one keeps its own', async () => {
  const store = memoryStore();
  await issued(store, { plan: 'pro' });
  await issued(store, { name: 'second', plan: 'free' });
  assert.equal((await store.findAccount('dev'))?.plan, 'pro');
});

test('the first key is made once', async () => {
  const store = memoryStore();
  const first = await issueFirstKey(store, 'default', 1);
  assert.equal(first?.tenant, 'default/first');
  assert.equal(await issueFirstKey(store, 'default', 2), null);
  const { keys } = await store.load();
  assert.ok(!JSON.stringify(keys).includes(first!.key.secret), 'the store holds the hash only');
});
