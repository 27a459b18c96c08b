import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountRow, KeyRow } from '../../src/auth/key-store.ts';
import { drivers } from './drivers.ts';

const account: AccountRow = { id: 'dev', name: 'Dev', plan: 'pro', status: 'active', createdMs: 1_750_000_000_000 };
const key: KeyRow = {
  id: 'AbCdEf123456',
  account: 'dev',
  name: 'laptop',
  prefix: 'sk-cv-AbCdEf123456',
  hash: 'ab'.repeat(32),
  kind: 'user',
  expiresMs: 1_760_000_000_000,
  models: ['small', '*-embedding*'],
  createdMs: 1_750_000_000_001,
  revokedMs: null,
};

for (const driver of drivers) {
  test(`${driver.name}: accounts and keys come back as they were written, after a restart too`, async (t) => {
    const store = driver.create();
    t.after(() => store.remove());
    const first = store.keys();
    await first.createAccount(account);
    await first.createKey(key);
    await first.createKey({ ...key, id: 'x', name: 'ci', hash: 'cd'.repeat(32), expiresMs: null, models: null });
    await first.close();
    const again = store.keys();
    const { accounts, keys } = await again.load();
    assert.deepEqual(accounts, [account]);
    assert.deepEqual(
      keys.find((row) => row.id === key.id),
      key,
    );
    assert.equal(keys.find((row) => row.id === 'x')?.models, null);
    assert.deepEqual(await again.findAccount('dev'), account);
    assert.equal(await again.findAccount('nobody'), null);
    await again.close();
  });

  test(`${driver.name}: S22 another process sees by the version that something was written`, async (t) => {
    const store = driver.create();
    t.after(() => store.remove());
    const server = store.keys();
    const cli = store.keys();
    const versions = [await server.version()];
    for (const write of [
      () => cli.createAccount(account),
      () => cli.createKey(key),
      () => cli.revokeKey(key.id, 1_750_000_000_002),
    ]) {
      await write();
      versions.push(await server.version());
    }
    assert.deepEqual(
      versions.toSorted((a, b) => a - b),
      [...new Set(versions)],
    );
    const { keys } = await server.load();
    assert.equal(keys[0]?.revokedMs, 1_750_000_000_002);
    assert.equal(await cli.revokeKey(key.id, 3), false, 'revoked once');
    assert.equal(await cli.revokeKey('nobody', 3), false);
    await server.close();
    await cli.close();
  });

  test(`${driver.name}: what contradicts the store is refused and changes nothing`, async (t) => {
    const store = driver.create();
    t.after(() => store.remove());
    const keys = store.keys();
    await assert.rejects(keys.createKey(key), 'a key of no account');
    await keys.createAccount(account);
    await keys.createKey(key);
    const before = await keys.version();
    await assert.rejects(keys.createAccount(account), 'an account twice');
    await assert.rejects(keys.createKey({ ...key, id: 'other', hash: '00' }), 'one identity twice');
    await assert.rejects(keys.createKey({ ...key, id: 'other', name: 'other' }), 'one secret twice');
    assert.equal(await keys.version(), before);
    assert.equal((await keys.load()).keys.length, 1);
    // A revoked key gives its name free.
    await keys.revokeKey(key.id, 5);
    await keys.createKey({ ...key, id: 'next', hash: 'ef'.repeat(32) });
    await keys.close();
  });

  test(`${driver.name}: S4 hostile text is data`, async (t) => {
    const store = driver.create();
    t.after(() => store.remove());
    const keys = store.keys();
    const hostile = `'); DROP TABLE api_key; --"\u0000%_`.replace('\u0000', '');
    await keys.createAccount({ ...account, id: hostile, name: hostile });
    assert.equal((await keys.findAccount(hostile))?.name, hostile);
    assert.equal(await keys.findAccount(`' OR '1'='1`), null);
    assert.equal((await keys.load()).keys.length, 0);
    await keys.close();
  });
}
