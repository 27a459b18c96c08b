import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../kernel/clock.ts';
import { statusOf } from '../kernel/failure.ts';
import { hashKey, mintAdminKey, mintKey } from './api-key.ts';
import type { Declared } from './key-directory.ts';
import { createKeyRing, isFailure, type KeyRing } from './key-ring.ts';
import type { KeyRow } from './key-store.ts';
import type { KeyHeaders } from './presented-key.ts';

const devKey = 'sk-cv-devdevdev1';
const otherKey = 'sk-cv-other_other';
const adminKey = mintAdminKey();
const declared: Declared = {
  accounts: [
    { id: 'dev', plan: 'pro', status: 'active' },
    { id: 'late', plan: 'pro', status: 'suspended' },
  ],
  keys: [
    { key: devKey, account: 'dev', name: 'laptop', expiresMs: null, models: ['small'] },
    { key: otherKey, account: 'elsewhere', name: 'ci', expiresMs: null, models: null },
    { key: 'sk-cv-suspended', account: 'late', name: 'a', expiresMs: null, models: null },
    { key: 'sk-cv-expiring', account: 'dev', name: 'b', expiresMs: 1_750_000_010_000, models: null },
  ],
  adminKey,
  defaultPlan: 'free',
};

const clock = fakeClock();
const ring = createKeyRing(clock, declared);

function refusal(headers: KeyHeaders, of: KeyRing = ring): [number, string] {
  const result = of.authenticate(headers);
  assert.ok(isFailure(result), 'expected a refusal');
  return [statusOf(result), 'message' in result ? result.message : ''];
}

function storedKey(over: Partial<KeyRow>): KeyRow {
  return {
    id: 'k',
    account: 'dev',
    name: 'stored',
    prefix: 'sk-cv-k',
    hash: '',
    kind: 'user',
    expiresMs: null,
    models: null,
    createdMs: 0,
    revokedMs: null,
    ...over,
  };
}

for (const headers of [
  { authorization: `Bearer ${devKey}` },
  { authorization: `bearer  ${devKey} ` },
  { 'x-api-key': devKey },
  { 'api-key': devKey },
]) {
  test(`a key opens by ${JSON.stringify(headers)}`, () => {
    assert.deepEqual(ring.authenticate(headers), {
      keyId: 'sk-cv-declared:dev/laptop',
      keyName: 'laptop',
      tenant: 'dev/laptop',
      account: 'dev',
      plan: 'pro',
      allowedModels: ['small'],
    });
  });
}

test('an account that is declared nowhere has the default plan', () => {
  const caller = ring.authenticate({ 'x-api-key': otherKey });
  assert.ok(!isFailure(caller));
  assert.equal(caller.plan, 'free');
});

test('a vendor key beside ours is ignored, the same key twice is one key', () => {
  const caller = ring.authenticate({ authorization: 'Bearer sk-proj-vendor', 'x-api-key': devKey, 'api-key': devKey });
  assert.ok(!isFailure(caller));
});

test('two different keys are 401', () => {
  const [status, message] = refusal({ authorization: `Bearer ${devKey}`, 'x-api-key': otherKey });
  assert.equal(status, 401);
  assert.match(message, /[Tt]wo different/);
});

test('no key is 401 and says how to send one', () => {
  const [status, message] = refusal({});
  assert.equal(status, 401);
  assert.match(message, /Authorization: Bearer/);
});

test('S4 whatever is sent as a key, one constant 401', () => {
  const hostile = ["' OR 1=1 --", "sk-cv-' OR '1'='1", 'sk-cv-', 'sk-cv-__proto__', `sk-cv-${'x'.repeat(9_000)}`, '\0'];
  const bodies = new Set<string>();
  for (const value of hostile) {
    for (const headers of [{ authorization: `Bearer ${value}` }, { 'x-api-key': value }, { 'api-key': value }]) {
      bodies.add(JSON.stringify(refusal(headers)));
    }
  }
  bodies.add(JSON.stringify(refusal({ authorization: 'Basic dXNlcjpwYXNz' })));
  bodies.add(JSON.stringify(refusal({ authorization: devKey })));
  assert.deepEqual([...bodies], ['[401,"The API key is not valid."]']);
});

test('an expired key is 401 from the very ms on', () => {
  const time = fakeClock(1_750_000_009_999);
  const aging = createKeyRing(time, declared);
  assert.ok(!isFailure(aging.authenticate({ 'x-api-key': 'sk-cv-expiring' })));
  time.advance(1);
  const [status, message] = refusal({ 'x-api-key': 'sk-cv-expiring' }, aging);
  assert.equal(status, 401);
  assert.match(message, /expired/);
});

test('a suspended account is 403', () => {
  assert.equal(refusal({ 'x-api-key': 'sk-cv-suspended' })[0], 403);
});

test('the admin key on /v1 is 403 and names the way to a key', () => {
  const [status, message] = refusal({ authorization: `Bearer ${adminKey}` });
  assert.equal(status, 403);
  assert.match(message, /culvert keys create/);
});

test('an admin key of any shape is recognised', () => {
  const own = createKeyRing(clock, { ...declared, adminKey: 'correct horse battery' });
  assert.equal(own.authenticateAdmin({ authorization: 'Bearer correct horse battery' }), 'admin');
  assert.equal(refusal({ 'x-api-key': 'correct horse battery' }, own)[0], 403);
});

test('the admin API: admin key in, user key 403, else 401', () => {
  assert.equal(ring.authenticateAdmin({ 'x-api-key': adminKey }), 'admin');
  const user = ring.authenticateAdmin({ 'x-api-key': devKey });
  assert.ok(user !== 'admin' && user.kind === 'forbidden');
  const none = ring.authenticateAdmin({});
  assert.ok(none !== 'admin' && none.kind === 'unauthenticated');
});

test('S12 without a configured admin key nothing opens the admin API', () => {
  const closed = createKeyRing(clock, { ...declared, adminKey: null });
  for (const value of ['', 'admin', 'sk-cv-admin-', 'null', 'undefined']) {
    assert.notEqual(closed.authenticateAdmin({ authorization: `Bearer ${value}`, 'x-api-key': value }), 'admin');
  }
});

test('S22 a stored key opens until it is revoked, then reads like one that never was', () => {
  const mutable = createKeyRing(clock, declared);
  const key = mintKey();
  const row = storedKey({ id: key.id, hash: key.hash });
  const headers = { 'x-api-key': key.secret };
  mutable.restock({ accounts: [], keys: [row] });
  assert.ok(!isFailure(mutable.authenticate(headers)));
  mutable.restock({ accounts: [], keys: [{ ...row, revokedMs: 1 }] });
  assert.deepEqual(refusal(headers, mutable), refusal({ 'x-api-key': mintKey().secret }, mutable));
});

test('a reload of the file takes its keys away and leaves stored ones', () => {
  const mutable = createKeyRing(clock, declared);
  const key = mintKey();
  mutable.restock({ accounts: [], keys: [storedKey({ hash: key.hash })] });
  mutable.declare({ ...declared, keys: [] });
  assert.equal(refusal({ 'x-api-key': devKey }, mutable)[0], 401);
  assert.ok(!isFailure(mutable.authenticate({ 'x-api-key': key.secret })));
  assert.equal(mutable.userKeys(), 1);
});

test('minted keys have the documented form and differ', () => {
  const one = mintKey();
  const two = mintKey();
  assert.match(one.secret, /^sk-cv-[0-9A-Za-z]{12}-[0-9A-Za-z]{43}$/);
  assert.equal(one.prefix, `sk-cv-${one.id}`);
  assert.equal(one.hash, hashKey(one.secret));
  assert.match(one.hash, /^[0-9a-f]{64}$/);
  assert.notEqual(one.secret, two.secret);
  assert.match(mintAdminKey(), /^sk-cv-admin-[0-9A-Za-z]{43}$/);
});
