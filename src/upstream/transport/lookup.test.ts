import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { test } from 'node:test';
import { fakeTime } from '../../../test/fake-time.ts';
import { createLookup } from './lookup.ts';
import type { Address, ResolvedName } from './resolve-name.ts';
import { ConnectFailure } from './transport-error.ts';

const a: Address = { address: '192.0.2.1', family: 4 };
const b: Address = { address: '192.0.2.2', family: 4 };
const six: Address = { address: '2001:db8::1', family: 6 };

function ask(lookup: LookupFunction, hostname: string): Promise<readonly Address[]> {
  return new Promise((done, fail) =>
    lookup(hostname, { all: true }, (error, addresses) =>
      error === null ? done(addresses as readonly Address[] & LookupAddress[]) : fail(error),
    ),
  );
}

/** A resolver whose next answer the test sets; `asked` counts the queries. */
function scripted() {
  const time = fakeTime();
  const script = {
    asked: 0,
    answer: (_: string): Promise<ResolvedName> => Promise.resolve({ addresses: [a], ttlMs: 30_000 }),
  };
  const lookup = createLookup({
    time,
    resolve: (hostname) => {
      script.asked += 1;
      return script.answer(hostname);
    },
  });
  return { time, script, lookup };
}

const refuse = (): Promise<never> => Promise.reject(Object.assign(new Error('no'), { code: 'ESERVFAIL' }));
const hang = (): Promise<never> => new Promise(() => undefined);

test('an answer serves for its TTL, and for 60 s at most', async () => {
  for (const [ttlMs, servesMs] of [
    [30_000, 30_000],
    [86_400_000, 60_000],
    [0, 1_000],
  ] as const) {
    const { time, script, lookup } = scripted();
    script.answer = async () => ({ addresses: [a], ttlMs });
    await ask(lookup, 'api.test');
    time.advance(servesMs - 1);
    await ask(lookup, 'api.test');
    assert.equal(script.asked, 1);
    script.answer = async () => ({ addresses: [b], ttlMs });
    time.advance(1);
    assert.deepEqual(await ask(lookup, 'api.test'), [b]);
  }
});

test('all addresses are given to who asks for all, else the first', async () => {
  const { script, lookup } = scripted();
  script.answer = async () => ({ addresses: [a, six], ttlMs: 1_000 });
  assert.deepEqual(await ask(lookup, 'api.test'), [a, six]);
  const one = await new Promise((done) =>
    lookup('api.test', { all: false }, (_, address, family) => done([address, family])),
  );
  assert.deepEqual(one, ['192.0.2.1', 4]);
});

test('lookups of one name at once share one query, those of others have their own', async () => {
  const { script, lookup } = scripted();
  await Promise.all([ask(lookup, 'x.test'), ask(lookup, 'x.test'), ask(lookup, 'x.test'), ask(lookup, 'y.test')]);
  assert.equal(script.asked, 2);
});

test('F26 a name that cannot be resolved fails as dns, with the resolver’s own word', async () => {
  const { script, lookup } = scripted();
  script.answer = refuse;
  await assert.rejects(ask(lookup, 'x.test'), new ConnectFailure('dns', 'ESERVFAIL'));
  script.answer = async () => ({ addresses: [], ttlMs: 1_000 });
  await assert.rejects(ask(lookup, 'x.test'), new ConnectFailure('dns', 'ENODATA'));
});

test('F26 a resolver that hangs is given up after 2 s, and holds up no other name', async () => {
  const { time, script, lookup } = scripted();
  script.answer = (hostname) =>
    hostname === 'hangs.test' ? hang() : Promise.resolve({ addresses: [b], ttlMs: 1_000 });
  const hung = ask(lookup, 'hangs.test');
  time.advance(1_999);
  assert.deepEqual(await ask(lookup, 'other.test'), [b]);
  time.advance(1);
  await assert.rejects(hung, new ConnectFailure('dns', 'ETIMEOUT'));
  assert.equal(time.alarms(), 0);
});

test('an answer that comes after it was given up is kept for the next', async () => {
  const { time, script, lookup } = scripted();
  const late = Promise.withResolvers<ResolvedName>();
  script.answer = () => late.promise;
  const hung = ask(lookup, 'slow.test');
  time.advance(2_000);
  await assert.rejects(hung);
  late.resolve({ addresses: [b], ttlMs: 10_000 });
  await late.promise;
  assert.deepEqual(await ask(lookup, 'slow.test'), [b]);
  assert.equal(script.asked, 1);
});

for (const [how, fault] of [
  ['fails', refuse],
  ['hangs', hang],
] as const) {
  test(`F26 when the resolver ${how}, the last good address serves for 5 min, then no more`, async () => {
    const { time, script, lookup } = scripted();
    await ask(lookup, 'api.test');
    script.answer = fault;
    time.advance(30_000);
    const first = ask(lookup, 'api.test');
    time.advance(2_000);
    assert.deepEqual(await first, [a]);
    // From now on nobody waits for a resolver that is known to be in trouble.
    for (let s = 32; s < 299; s += 3) {
      assert.deepEqual(await ask(lookup, 'api.test'), [a], `after ${s} s`);
      time.advance(3_000);
    }
    time.advance(10_000);
    const last = ask(lookup, 'api.test');
    time.advance(2_000);
    await assert.rejects(last, { kind: 'dns' });
  });
}

test('F26 after trouble the new address is found in the background within 5 s', async () => {
  const { time, script, lookup } = scripted();
  await ask(lookup, 'api.test');
  script.answer = refuse;
  time.advance(30_000);
  await ask(lookup, 'api.test');
  script.answer = async () => ({ addresses: [b], ttlMs: 30_000 });
  time.advance(5_000);
  assert.deepEqual(await ask(lookup, 'api.test'), [a]);
  await new Promise(setImmediate);
  assert.deepEqual(await ask(lookup, 'api.test'), [b]);
});

test('a resolver in trouble is not asked more than every 5 s for a name', async () => {
  const { time, script, lookup } = scripted();
  await ask(lookup, 'api.test');
  script.answer = refuse;
  time.advance(30_000);
  script.asked = 0;
  for (let s = 0; s < 60; s++) {
    await ask(lookup, 'api.test');
    await new Promise(setImmediate);
    time.advance(1_000);
  }
  assert.ok(script.asked <= 13, `${script.asked} queries`);
});

test('2,000 names do not fill the memory: the oldest is asked anew', async () => {
  const { script, lookup } = scripted();
  for (let i = 0; i < 2_000; i++) await ask(lookup, `n${i}.test`);
  script.asked = 0;
  await ask(lookup, 'n1999.test');
  assert.equal(script.asked, 0);
  await ask(lookup, 'n0.test');
  assert.equal(script.asked, 1);
});

test('F78 an address that refuses is asked for again, once a second, and its neighbours wait for nothing', async () => {
  const { time, script, lookup } = scripted();
  assert.equal(await lookup.failedAt('api.test', ['192.0.2.1']), false);
  assert.equal(script.asked, 0, 'it was never asked for');
  await ask(lookup, 'api.test');
  time.advance(1_000);
  assert.equal(await lookup.failedAt('api.test', ['192.0.2.1']), false);
  assert.equal(await lookup.failedAt('api.test', ['192.0.2.1']), false);
  assert.equal(script.asked, 2);
  script.answer = async () => ({ addresses: [b], ttlMs: 30_000 });
  time.advance(1_000);
  assert.deepEqual(
    await Promise.all(['192.0.2.1', '192.0.2.1'].map((address) => lookup.failedAt('api.test', [address]))),
    [true, true],
  );
  assert.equal(script.asked, 3);
  // A connection that was begun before has only now failed.
  assert.equal(await lookup.failedAt('api.test', ['192.0.2.1']), true);
  assert.deepEqual(await ask(lookup, 'api.test'), [b]);
  assert.equal(script.asked, 3);
});

test('F2 an address that connections wait for in vain comes last for five minutes, in later answers too', async () => {
  const { time, script, lookup } = scripted();
  script.answer = async () => ({ addresses: [a, b, six], ttlMs: 30_000 });
  lookup.late('api.test', a.address);
  assert.deepEqual(await ask(lookup, 'api.test'), [a, b, six], 'it was never asked for');
  lookup.late('api.test', a.address);
  assert.deepEqual(await ask(lookup, 'api.test'), [b, six, a]);
  time.advance(60_000);
  lookup.late('api.test', b.address);
  assert.deepEqual(await ask(lookup, 'api.test'), [six, a, b]);
  time.advance(240_000);
  assert.deepEqual(await ask(lookup, 'api.test'), [a, six, b]);
  time.advance(60_000);
  assert.deepEqual(await ask(lookup, 'api.test'), [a, b, six]);
});

test('F78 nobody waits long for name servers that hang, and the known address stays', async () => {
  const { time, script, lookup } = scripted();
  await ask(lookup, 'api.test');
  time.advance(1_000);
  script.answer = hang;
  const asked = lookup.failedAt('api.test', ['192.0.2.1']);
  time.advance(300);
  assert.equal(await asked, false);
  assert.deepEqual(await ask(lookup, 'api.test'), [a]);
});
