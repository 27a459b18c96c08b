import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { isFailure } from '../../kernel/failure.ts';
import { createLoginThrottle, failuresMax, failuresOfAllMax, type LoginThrottle } from './login-throttle.ts';

async function failed(throttle: LoginThrottle, address: string): Promise<void> {
  const attempt = await throttle.attempt(address);
  if (!isFailure(attempt)) attempt.failed();
}

test('S43 an address is closed after so many failures, until its minute is over, and no other with it', async () => {
  const clock = fakeClock();
  const throttle = createLoginThrottle(clock, null, 'logins');
  for (let i = 0; i < failuresMax; i++) {
    assert.equal(await throttle.refusal('192.0.2.7'), null);
    await failed(throttle, '192.0.2.7');
    clock.advance(1_000);
  }
  const refusal = await throttle.refusal('192.0.2.7');
  assert.ok(refusal?.kind === 'quota-exceeded');
  assert.equal(refusal.freeAtMs, clock.wallMs() + 50_000);
  assert.equal(await throttle.refusal('192.0.2.8'), null);
  clock.advance(50_000);
  assert.equal(await throttle.refusal('192.0.2.7'), null);
});

test('S43 the addresses of one IPv6 network are one, however they are written', async () => {
  const throttle = createLoginThrottle(fakeClock(), null, 'logins');
  for (let i = 0; i < failuresMax; i++) await failed(throttle, `2001:db8:0:7::${i.toString(16)}`);
  for (const address of ['2001:db8:0:7:ffff:1:2:3', '2001:0DB8::7:1:2:3:4', '2001:db8:0:7::']) {
    assert.notEqual(await throttle.refusal(address), null, address);
  }
  assert.equal(await throttle.refusal('2001:db8:0:8::1'), null);
  assert.equal(await throttle.refusal('::1'), null);
});

test('S43 many addresses together close the login for all', async () => {
  const clock = fakeClock();
  const throttle = createLoginThrottle(clock, null, 'logins');
  for (let i = 0; i < failuresOfAllMax; i++) await failed(throttle, `10.0.${i >> 8}.${i & 255}`);
  assert.notEqual(await throttle.refusal('192.0.2.1'), null);
  clock.advance(60_000);
  assert.equal(await throttle.refusal('192.0.2.1'), null);
});

test('S37 attempts that are being looked at count as failed, and those that pass are given back', async () => {
  const throttle = createLoginThrottle(fakeClock(), null, 'logins');
  const begun = await Promise.all(Array.from({ length: 100 }, () => throttle.attempt('192.0.2.7')));
  const attempts = begun.filter((one) => !isFailure(one));
  assert.equal(attempts.length, failuresMax);
  for (const attempt of attempts) if (!isFailure(attempt)) attempt.passed();
  assert.equal(await throttle.refusal('192.0.2.7'), null);
});
