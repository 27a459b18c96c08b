import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { startTokenIssuer } from '../../../../test/start-token-issuer.ts';
import { until } from '../../../../test/until.ts';
import type { TokenIssuerConfig } from '../../../config/schema/schema-callers.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { Declared } from '../key-directory.ts';
import { createKeyRing } from '../key-ring.ts';

const idp = await startTokenIssuer('culvert');
after(() => idp.close());
const minuteMs = 60_000;

const settings = (issuer: string): TokenIssuerConfig => ({
  issuer,
  audience: 'culvert',
  algorithms: ['ES256'],
  account: 'team',
  name: 'sub',
});
const declared = (...issuers: string[]): Declared => ({
  accounts: [{ id: 'team', plan: 'default', status: 'active', guards: [] }],
  keys: [],
  adminKey: null,
  defaultPlan: 'default',
  plans: ['default'],
  guests: { tokens: issuers.map(settings) },
});

const requestWith = (token: string) => ({
  headers: { authorization: `Bearer ${token}` },
  address: () => null,
  fromProxy: () => false,
});

/** A ring that knows the issuer, and what a token of this key gets: `in`, or the kind of the refusal. */
function ringOf() {
  const clock = fakeClock(Date.now());
  const ring = createKeyRing(clock, declared(idp.issuer));
  let subject = 0;
  const get = async (kid = 'key-0') => {
    const nowS = Math.floor(clock.wallMs() / 1_000);
    const token = await idp.sign({ sub: `s${subject++}`, exp: nowS + 60 }, { kid });
    const who = await ring.byGuest(requestWith(token));
    return isFailure(who) ? who.kind : 'in';
  };
  return { clock, ring, get };
}

test('keys that were read are used for a day while their issuer cannot be reached', async (t) => {
  t.after(() => Object.assign(idp.state, { up: true }));
  const { clock, get } = ringOf();
  assert.equal(await get(), 'in');
  idp.state.up = false;
  clock.advance(11 * minuteMs);
  assert.equal(await get(), 'in', 'keys are old, and the issuer is down');
  assert.equal(await get('made-up'), 'overloaded', 'it may be a new one, which cannot be read');
  clock.advance(12 * 60 * minuteMs);
  assert.equal(await get(), 'in');
  clock.advance(13 * 60 * minuteMs);
  assert.equal(await get(), 'overloaded');
  idp.state.up = true;
  clock.advance(minuteMs);
  assert.equal(await get(), 'in');
});

test('an issuer that is down is asked every half minute, whatever comes', async (t) => {
  t.after(() => Object.assign(idp.state, { up: true }));
  const { clock, get } = ringOf();
  assert.equal(await get(), 'in');
  idp.state.up = false;
  const before = idp.asked.length;
  for (let second = 0; second < 90; second++) {
    clock.advance(1_000);
    await get('made-up');
  }
  assert.ok(idp.asked.length - before <= 3, `${idp.asked.length - before} questions in 90 s`);
});

test('a key that the issuer took out opens nothing once its keys are read again, and a new one does', async (t) => {
  const [own] = idp.state.keys;
  t.after(() => Object.assign(idp.state, { keys: [own] }));
  const { clock, get } = ringOf();
  assert.equal(await get(), 'in');
  idp.state.keys = [{ ...own!, kid: 'key-1' }];
  assert.equal(await get('key-1'), 'unauthenticated', 'its keys were read a moment ago');
  clock.advance(minuteMs);
  assert.equal(await get('key-1'), 'in');
  assert.equal(await get('key-0'), 'unauthenticated');
});

test('old keys are renewed behind the caller who finds them old', async () => {
  const { clock, get } = ringOf();
  assert.equal(await get(), 'in');
  const before = idp.asked.length;
  clock.advance(11 * minuteMs);
  assert.equal(await get(), 'in');
  await until('the keys are read again', () => idp.asked.length - before >= 2);
});

test('work in the background ends with the issuer of its caller, and goes on beside changes of others', async () => {
  const { ring } = ringOf();
  const who = await ring.byGuest(requestWith(await idp.sign({ sub: 'worker' })));
  assert.ok(who !== null && !isFailure(who));
  assert.ok(!isFailure(ring.principalOf(who.keyId)));
  ring.declare(declared(idp.issuer, 'https://another.example'));
  assert.ok(!isFailure(ring.principalOf(who.keyId)));
  ring.declare(declared('https://another.example'));
  const now = ring.principalOf(who.keyId);
  assert.ok(isFailure(now) && now.kind === 'unauthenticated');
});
