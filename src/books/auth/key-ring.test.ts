import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { isFailure, statusOf } from '../../kernel/failure.ts';
import { type KeyRow, nothingStored } from './account-store.ts';
import { mintAdminKey, mintKey } from './api-key.ts';
import { type Declared, type DeclaredKey, hashKey } from './key-directory.ts';
import { createKeyRing, type KeyHeaders, type KeyRing } from './key-ring.ts';
import { adminOperator } from './operator.ts';

const devKey = 'sk-cv-devdevdev1';
const otherKey = 'sk-cv-other_other';
const adminKey = mintAdminKey();
const declared: Declared = {
  accounts: [
    { id: 'dev', plan: 'pro', status: 'active', guards: [] },
    { id: 'late', plan: 'pro', status: 'suspended', guards: [] },
  ],
  keys: [
    declaredKey({ key: devKey, account: 'dev', name: 'laptop', models: ['small'] }),
    declaredKey({ key: otherKey, account: 'elsewhere', name: 'ci' }),
    declaredKey({ key: 'sk-cv-suspended', account: 'late', name: 'a' }),
    declaredKey({ key: 'sk-cv-expiring', account: 'dev', name: 'b', expiresMs: 1_750_000_010_000 }),
    declaredKey({ key: 'sk-cv-office-1', account: 'dev', name: 'office', ips: ['10.0.0.0/8', '2001:db8::/32'] }),
  ],
  adminKey,
  defaultPlan: 'free',
  plans: ['free'],
};

const clock = fakeClock();
const ring = createKeyRing(clock, declared);
const nowhere = () => null;

function declaredKey({ key, ...over }: Partial<DeclaredKey> & { key: string }): DeclaredKey {
  const facts = { account: 'dev', name: 'laptop', expiresMs: null, models: null, ips: null, limits: null, guards: [] };
  return { hash: hashKey(key), ...facts, ...over };
}

function enter(headers: KeyHeaders, of: KeyRing = ring) {
  return of.authenticate(headers, nowhere);
}

function refusal(headers: KeyHeaders, of: KeyRing = ring, address: () => string | null = nowhere): [number, string] {
  const result = of.authenticate(headers, address);
  assert.ok(isFailure(result), 'expected a refusal');
  return [statusOf(result), 'message' in result ? result.message : ''];
}

function storedKey(over: Partial<KeyRow>): KeyRow {
  return {
    id: 'k',
    account: 'dev',
    name: 'stored',
    tenant: 'dev/stored',
    prefix: 'sk-cv-k',
    secrets: [],
    kind: 'user',
    expiresMs: null,
    models: null,
    ips: null,
    limits: null,
    guards: [],
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
  // As Portkey's SDKs send it: that for Python puts these words in the place of OpenAI's key.
  { authorization: 'Bearer OPENAI_API_KEY', 'x-portkey-api-key': devKey },
  { 'x-portkey-api-key': devKey },
]) {
  test(`a key opens by ${JSON.stringify(headers)}`, () => {
    assert.deepEqual(enter(headers), {
      keyId: 'sk-cv-declared:dev/laptop',
      keyName: 'laptop',
      tenant: 'dev/laptop',
      account: 'dev',
      plan: 'pro',
      allowedModels: ['small'],
      limits: null,
      guards: [],
    });
  });
}

test('an account that is declared nowhere has the default plan', () => {
  const caller = enter({ 'x-api-key': otherKey });
  assert.ok(!isFailure(caller));
  assert.equal(caller.plan, 'free');
});

test('a vendor key beside ours is ignored, the same key twice is one key', () => {
  const caller = enter({ authorization: 'Bearer sk-proj-vendor', 'x-api-key': devKey, 'api-key': devKey });
  assert.ok(!isFailure(caller));
});

test('a key whose hash alone is known opens, whatever it begins with', () => {
  const foreign = createKeyRing(clock, {
    ...declared,
    keys: [...declared.keys, declaredKey({ key: 'sk-of-another-gateway', name: 'moved' })],
  });
  const caller = enter({ authorization: 'Bearer sk-of-another-gateway' }, foreign);
  assert.ok(!isFailure(caller));
  assert.equal(caller.tenant, 'dev/moved');
  assert.equal(refusal({ authorization: 'Bearer sk-of-another-gateway', 'x-api-key': devKey }, foreign)[0], 401);
});

test('two different keys are 401', () => {
  const [status, message] = refusal({ authorization: `Bearer ${devKey}`, 'x-api-key': otherKey });
  assert.equal(status, 401);
  assert.match(message, /[Tt]wo different/);
});

test('no key is 401 and says how to send one', () => {
  const [status, message] = refusal({});
  assert.equal(status, 401);
  assert.match(message, /Authorization, as .Bearer/);
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
  assert.deepEqual(
    [...bodies],
    [JSON.stringify([401, "The API key is not valid. Send a key of this server, as 'Authorization: Bearer KEY'."])],
  );
});

test('an expired key is 401 from the very ms on', () => {
  const time = fakeClock(1_750_000_009_999);
  const aging = createKeyRing(time, declared);
  assert.ok(!isFailure(enter({ 'x-api-key': 'sk-cv-expiring' }, aging)));
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
  assert.equal(own.authenticateAdmin({ authorization: 'Bearer correct horse battery' }), adminOperator);
  assert.equal(refusal({ 'x-api-key': 'correct horse battery' }, own)[0], 403);
});

test('the admin API: admin key in, user key 403, else 401', () => {
  assert.equal(ring.authenticateAdmin({ 'x-api-key': adminKey }), adminOperator);
  const user = ring.authenticateAdmin({ 'x-api-key': devKey });
  assert.ok(isFailure(user) && user.kind === 'forbidden');
  const none = ring.authenticateAdmin({});
  assert.ok(isFailure(none) && none.kind === 'unauthenticated');
});

test('S12 without a configured admin key nothing opens the admin API', () => {
  const closed = createKeyRing(clock, { ...declared, adminKey: null });
  for (const value of ['', 'admin', 'sk-cv-admin-', 'null', 'undefined']) {
    assert.ok(isFailure(closed.authenticateAdmin({ authorization: `Bearer ${value}`, 'x-api-key': value })));
  }
});

test('S22 a stored key opens until it is revoked, then reads like one that never was', () => {
  const mutable = createKeyRing(clock, declared);
  const key = mintKey();
  const row = storedKey({ id: key.id, secrets: [{ hash: key.hash, untilMs: null }] });
  const headers = { 'x-api-key': key.secret };
  mutable.restock({ ...nothingStored, keys: [row] });
  assert.ok(!isFailure(enter(headers, mutable)));
  mutable.restock({ ...nothingStored, keys: [{ ...row, revokedMs: 1 }] });
  assert.deepEqual(refusal(headers, mutable), refusal({ 'x-api-key': mintKey().secret }, mutable));
});

test('a key of a variable that is stored too is the stored one, and stays revoked', () => {
  const key = mintKey();
  const variable = declaredKey({ key: key.secret, account: 'elsewhere', from: 'environment' });
  const mutable = createKeyRing(clock, { ...declared, keys: [variable] });
  const headers = { 'x-api-key': key.secret };
  const plan = () => {
    const caller = enter(headers, mutable);
    return isFailure(caller) ? statusOf(caller) : caller.plan;
  };
  assert.equal(plan(), 'free');
  const row = storedKey({ id: key.id, secrets: [{ hash: key.hash, untilMs: null }] });
  mutable.restock({ ...nothingStored, keys: [row] });
  assert.equal(plan(), 'pro', 'that of the stored account');
  mutable.restock({ ...nothingStored, keys: [{ ...row, revokedMs: 1 }] });
  assert.equal(plan(), 401);
});

test('a reload of the file takes its keys away and leaves stored ones', () => {
  const mutable = createKeyRing(clock, declared);
  const key = mintKey();
  mutable.restock({ ...nothingStored, keys: [storedKey({ secrets: [{ hash: key.hash, untilMs: null }] })] });
  mutable.declare({ ...declared, keys: [] });
  assert.equal(refusal({ 'x-api-key': devKey }, mutable)[0], 401);
  assert.ok(!isFailure(enter({ 'x-api-key': key.secret }, mutable)));
  assert.equal(mutable.userKeys(), 1);
});

test('a key that is rotated opens with both secrets, as one caller, until the overlap is over', () => {
  const time = fakeClock();
  const rotating = createKeyRing(time, declared);
  const [old, fresh] = [mintKey(), mintKey()];
  const secrets = [
    { hash: fresh.hash, untilMs: null },
    { hash: old.hash, untilMs: time.wallMs() + 5_000 },
  ];
  rotating.restock({ ...nothingStored, keys: [storedKey({ tenant: 'dev/first', secrets })] });
  const caller = enter({ 'x-api-key': old.secret }, rotating);
  assert.ok(!isFailure(caller));
  assert.equal(caller.tenant, 'dev/first');
  assert.equal(enter({ 'x-api-key': fresh.secret }, rotating), caller);
  assert.equal(rotating.userKeys(), declared.keys.length + 1, 'one key, however many secrets');
  time.advance(5_000);
  assert.deepEqual(
    refusal({ 'x-api-key': old.secret }, rotating),
    refusal({ 'x-api-key': mintKey().secret }, rotating),
  );
  assert.equal(enter({ 'x-api-key': fresh.secret }, rotating), caller);
});

test('a key bound to addresses opens from them alone, however IPv4 is written', () => {
  const headers = { 'x-api-key': 'sk-cv-office-1' };
  for (const inside of ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8::7']) {
    assert.ok(!isFailure(ring.authenticate(headers, () => inside)), inside);
  }
  for (const outside of ['11.1.2.3', '::ffff:11.1.2.3', '::1', null]) {
    const [status, message] = refusal(headers, ring, () => outside);
    assert.equal(status, 403);
    assert.ok(message.includes(`address ${outside ?? '(unknown)'}`), message);
  }
});

test("a key's own limits come with the caller", () => {
  const own = createKeyRing(clock, declared);
  const key = mintKey();
  const row = storedKey({ secrets: [{ hash: key.hash, untilMs: null }], limits: { rpm: 5, windows: { '5h': 10 } } });
  own.restock({ ...nothingStored, keys: [row] });
  const caller = enter({ 'x-api-key': key.secret }, own);
  assert.ok(!isFailure(caller));
  assert.deepEqual(caller.limits, { rpm: 5, windows: { '5h': 10 } });
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

test('a connection keeps its caller until the key changes, ends or is revoked', () => {
  const own = createKeyRing(clock, declared);
  const key = mintKey();
  const row = storedKey({ secrets: [{ hash: key.hash, untilMs: null }] });
  own.restock({ ...nothingStored, keys: [row] });
  const connection = {};
  const nameOf = (headers: KeyHeaders) => {
    const caller = own.authenticate(headers, nowhere, connection);
    return isFailure(caller) ? statusOf(caller) : caller.keyName;
  };
  for (let again = 0; again < 2; again += 1) assert.equal(nameOf({ 'x-api-key': key.secret }), 'stored');
  assert.equal(nameOf({ 'x-api-key': `${key.secret.slice(0, -1)}é` }), 401);
  assert.equal(nameOf({ authorization: `Bearer ${devKey}` }), 'laptop');
  assert.equal(nameOf({ authorization: `Bearer ${devKey}`, 'x-api-key': key.secret }), 401);
  assert.equal(nameOf({}), 401);
  for (const [sent, name] of [
    [devKey, 'laptop'],
    [key.secret, 'stored'],
    ['sk-cv-nobody', 401],
  ] as const)
    assert.equal(nameOf({ authorization: 'Bearer OPENAI_API_KEY', 'x-portkey-api-key': sent }), name);
  assert.equal(nameOf({ authorization: `Bearer ${devKey}`, 'x-portkey-api-key': key.secret }), 401);
  assert.equal(nameOf({ authorization: `Bearer ${devKey}` }), 'laptop');
  assert.equal(nameOf({ authorization: `Bearer ${devKey}`, 'x-portkey-api-key': key.secret }), 401);
  assert.equal(nameOf({ 'x-api-key': key.secret }), 'stored');
  own.restock({ ...nothingStored, keys: [{ ...row, revokedMs: 1 }] });
  assert.equal(nameOf({ 'x-api-key': key.secret }), 401);

  const ending = { authorization: 'Bearer sk-cv-expiring' };
  assert.equal(nameOf(ending), 'b');
  const later = createKeyRing({ ...clock, wallMs: () => 1_750_000_020_000 }, declared);
  const other = {};
  assert.ok(isFailure(later.authenticate(ending, nowhere, other)));
});
