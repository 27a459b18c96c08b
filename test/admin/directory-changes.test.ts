import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeResource, provisioned } from '../../src/books/auth/scim/directory.ts';
import { type OpenAdmin, openAdmin } from './open-admin.ts';

/* Lists of accounts and keys take over what has changed. They must be as if they were made anew. */

const config = {
  plans: { pro: { rpm: 10 } },
  accounts: { file: { plan: 'pro' }, zed: { plan: 'pro' } },
  keys: [{ key: 'sk-cv-declared-1', account: 'file', name: 'laptop' }],
};

async function lists(admin: OpenAdmin) {
  const [accounts, keys, plans] = [
    await admin.ok('GET', '/accounts?limit=200'),
    await admin.ok('GET', '/keys?limit=200'),
    await admin.ok('GET', '/plans?limit=200'),
  ];
  const single = [];
  for (const { id } of accounts.data) single.push(await admin.ok('GET', `/accounts/${encodeURIComponent(id)}`));
  for (const { id } of keys.data) single.push(await admin.ok('GET', `/keys/${encodeURIComponent(id)}`));
  return { accounts: accounts.data, keys: keys.data, plans: plans.data, single };
}

test('accounts and keys that change one by one are listed as after a new start', async (t) => {
  const admin = await openAdmin(t, config);
  const made: string[] = [];
  const steps: (() => Promise<unknown>)[] = [
    () => admin.ok('POST', '/accounts', { id: 'middle', plan: 'pro' }),
    () => admin.ok('POST', '/accounts', { id: 'ann', plan: 'pro' }),
    async () => made.push((await admin.ok('POST', '/keys', { account: 'middle', name: 'm' })).id),
    async () => made.push((await admin.ok('POST', '/keys', { account: 'file', name: 'z' })).id),
    async () => made.push((await admin.ok('POST', '/keys', { account: 'ann', name: 'a' })).id),
    () => admin.ok('PATCH', `/keys/${made[1]}`, { name: 'another name' }),
    () => admin.ok('PATCH', '/accounts/middle', { status: 'suspended', name: 'Middle' }),
    () => admin.ok('POST', `/keys/${made[0]}/rotate`, {}),
    () => admin.ok('POST', `/keys/${made[2]}/revoke`),
    () => admin.ok('PUT', '/plans/own', { rpm: 3 }),
    () => admin.ok('PATCH', '/accounts/ann', { plan: 'own' }),
    async () => {
      for (let i = 0; i < 5; i++) await admin.ok('POST', '/keys', { account: 'ann', name: `k${i}` });
    },
  ];
  for (const step of steps) {
    await step();
    const listed = await lists(admin);
    admin.configure(config);
    assert.deepEqual(listed, await lists(admin));
    // The next step changes the lists of that look.
  }
});

test('users of a directory are read again only where something has changed, and are never old', async (t) => {
  const { store, clock, ok } = await openAdmin(t);
  const { scim } = store;
  let reads = 0;
  store.scim = () => {
    reads += 1;
    return scim.call(store);
  };
  const parts = { store, clock, refresh: async () => undefined };
  const add = (userName: string) =>
    changeResource(parts, [], { kind: 'user', id: null, edit: () => ({ userName, bound: null }) });
  const names = async () => (await provisioned(parts)).map(({ name }) => name);
  assert.deepEqual(await names(), []);
  await add('anna@acme.example');
  assert.deepEqual(await names(), ['anna@acme.example']);
  assert.deepEqual(await names(), ['anna@acme.example']);
  assert.equal(reads, 2);
  await ok('POST', '/accounts', { id: 'acme' });
  await names();
  assert.equal(reads, 3);
});
