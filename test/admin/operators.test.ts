import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashKey } from '../../src/books/auth/key-directory.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import { openAdmin } from './open-admin.ts';

const from = { address: null, agent: '' };
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test('an operator is made with a key that is shown once, and opens the admin API in its role', async (t) => {
  const admin = await openAdmin(t, { accounts: { alpha: {}, bravo: {} } });
  const { key, ...made } = await admin.ok('POST', '/operators', { name: 'Anna', role: 'viewer', accounts: ['alpha'] });
  assert.match(key, /^sk-cv-op-\w{12}-\w{43}$/);
  assert.ok(key.startsWith(`${made.prefix}-`));
  assert.deepEqual((await admin.ok('GET', '/operators')).data, [made]);
  assert.deepEqual(admin.ring.authenticateAdmin(bearer(key)), { name: 'Anna', role: 'viewer', accounts: ['alpha'] });
  const onV1 = admin.ring.authenticate(bearer(key), () => null);
  assert.ok(isFailure(onV1) && onV1.kind === 'forbidden');
  const trail = JSON.stringify(await admin.ok('GET', '/audit'));
  assert.match(trail, /operator\.create.*"role":"viewer"/);
  assert.doesNotMatch(trail, new RegExp(`${key}|${hashKey(key)}`));
});

test('what is wrong with an operator is said at its field', async (t) => {
  const admin = await openAdmin(t);
  await admin.ok('POST', '/operators', { name: 'Anna', role: 'owner' });
  for (const [body, status, param] of [
    [{ name: 'Anna', role: 'viewer' }, 409, null],
    [{ name: 'admin', role: 'viewer' }, 400, 'name'],
    [{ name: '<b>', role: 'viewer' }, 400, 'name'],
    [{ name: 'Bob', role: 'king' }, 400, 'role'],
    [{ name: 'Bob', role: 'viewer', accounts: ['nobody'] }, 400, 'accounts'],
    [{ name: 'Bob', role: 'viewer', accounts: [] }, 400, 'accounts'],
  ] as const) {
    assert.deepEqual(
      (await admin.refused('POST', '/operators', body)).slice(0, 2),
      [status, param],
      JSON.stringify(body),
    );
  }
  assert.equal((await admin.refused('PATCH', '/operators/op_none', { role: 'viewer' }))[0], 404);
  assert.equal((await admin.refused('DELETE', '/operators/op_none'))[0], 404);
});

test('two people change the same operator: the second one sees what the first one wrote', async (t) => {
  const admin = await openAdmin(t);
  const { id, version } = await admin.ok('POST', '/operators', { name: 'Anna', role: 'admin' });
  await admin.ok('PATCH', `/operators/${id}`, { role: 'viewer', version });
  const second = await admin.call('PATCH', `/operators/${id}`, { name: 'Anne', role: 'admin', version });
  assert.equal(second.status, 409, second.text);
  const { current } = JSON.parse(second.text);
  assert.deepEqual([current.name, current.role], ['Anna', 'viewer']);
  assert.equal((await admin.ok('PATCH', `/operators/${id}`, { name: 'Anne', version: current.version })).name, 'Anne');
});

test('a changed role counts at once for key and sessions; a new key and a removal end both', async (t) => {
  const admin = await openAdmin(t);
  const { key, id } = await admin.ok('POST', '/operators', { name: 'Anna', role: 'admin' });
  const opened = await admin.sessions.open({ login: 'operator_key', credential: hashKey(key) }, from);
  assert.ok('secret' in opened);
  const role = async () => {
    const session = await admin.sessions.find(opened.secret, () => null);
    return session?.who.to === 'admin' ? session.who.operator.role : null;
  };
  assert.equal(await role(), 'admin');
  await admin.ok('PATCH', `/operators/${id}`, { role: 'viewer' });
  assert.equal(await role(), 'viewer');
  const { key: next } = await admin.ok('POST', `/operators/${id}/rotate`);
  assert.equal(await role(), null);
  assert.ok(isFailure(admin.ring.authenticateAdmin(bearer(key))));
  assert.ok('role' in admin.ring.authenticateAdmin(bearer(next)));
  await admin.ok('DELETE', `/operators/${id}`);
  assert.ok(isFailure(admin.ring.authenticateAdmin(bearer(next))));
  assert.deepEqual((await admin.ok('GET', '/operators')).data, []);
});

test('a new key and a new role at once: neither takes the other back', async (t) => {
  const admin = await openAdmin(t);
  const { key, id } = await admin.ok('POST', '/operators', { name: 'Anna', role: 'owner' });
  const [{ key: next }] = await Promise.all([
    admin.ok('POST', `/operators/${id}/rotate`),
    admin.ok('PATCH', `/operators/${id}`, { role: 'viewer' }),
  ]);
  assert.ok(isFailure(admin.ring.authenticateAdmin(bearer(key))), 'the earlier key');
  const operator = admin.ring.authenticateAdmin(bearer(next));
  assert.equal('role' in operator && operator.role, 'viewer');
});

test('S7 only an owner of all accounts makes operators, so that nobody makes one who may more', async (t) => {
  const admin = await openAdmin(t, { accounts: { alpha: {} } });
  const body = { name: 'Eve', role: 'owner' };
  for (const operator of [
    { name: 'a', role: 'admin', accounts: null },
    { name: 'v', role: 'viewer', accounts: null },
    { name: 'b', role: 'billing', accounts: null },
    { name: 's', role: 'owner', accounts: ['alpha'] },
  ] as const) {
    assert.equal((await admin.call('POST', '/operators', body, operator)).status, 403, operator.name);
    assert.equal((await admin.call('DELETE', '/operators/op_x', undefined, operator)).status, 403, operator.name);
  }
  assert.deepEqual((await admin.ok('GET', '/operators')).data, []);
});
