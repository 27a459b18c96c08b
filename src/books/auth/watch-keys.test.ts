import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { memoryAccountStore } from '../../../test/fixtures/account-store.ts';
import { isFailure } from '../../kernel/failure.ts';
import type { Stored } from './account-store.ts';
import { revokeKey } from './change-key.ts';
import { issueFirstKey } from './issue-key.ts';
import { createKeyRing } from './key-ring.ts';
import { keyPollIntervalMs, watchKeys } from './watch-keys.ts';

const nobody = { accounts: [], keys: [], adminKey: null, defaultPlan: 'free', plans: ['free'] };
const anywhere = () => null;

function watchedRing(onError: (error: unknown) => void = (error) => assert.fail(String(error))) {
  const store = memoryAccountStore();
  const ring = createKeyRing(fakeClock(), nobody);
  const watch = watchKeys(store, (stored) => ring.restock(stored), onError);
  return { store, ring, watch };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

test('S22 F53 a key written or revoked elsewhere counts after one look, which comes each second', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { store, ring, watch } = watchedRing();
  const issued = await issueFirstKey(store, 'free', 1);
  assert.ok(issued !== null);
  const look = async () => {
    t.mock.timers.tick(keyPollIntervalMs);
    await settled();
    return ring.authenticate({ 'x-api-key': issued.minted.secret }, anywhere);
  };
  const caller = await look();
  assert.ok(!isFailure(caller));
  assert.equal(caller.tenant, 'default/first');
  assert.equal(await watch.poll(), false);
  await revokeKey(store, issued.row, { actor: 'test', nowMs: 2 });
  assert.ok(isFailure(await look()));
  watch.stop();
});

test('while the store cannot be read, who could enter still can, and it is told once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const told: unknown[] = [];
  const { store, ring, watch } = watchedRing((error) => told.push(error));
  const issued = await issueFirstKey(store, 'free', 1);
  await watch.poll();
  store.fail = new Error('disk gone');
  for (let second = 0; second < 3; second += 1) {
    t.mock.timers.tick(keyPollIntervalMs);
    await settled();
  }
  assert.equal(told.length, 1);
  assert.match(watch.trouble() ?? '', /disk gone/);
  assert.ok(!isFailure(ring.authenticate({ 'x-api-key': issued?.minted.secret ?? '' }, anywhere)));
  store.fail = null;
  t.mock.timers.tick(keyPollIntervalMs);
  await settled();
  assert.equal(watch.trouble(), null);
  watch.stop();
});

test('a slow look never brings back what a later one knows to be revoked', async () => {
  const { store, ring, watch } = watchedRing();
  const issued = await issueFirstKey(store, 'free', 1);
  assert.ok(issued !== null);
  const load = store.load.bind(store);
  let release: (stored: Stored) => void = () => assert.fail('nobody waits');
  const before = await load();
  store.load = () => new Promise((resolve) => (release = resolve));
  const slow = watch.poll();
  await settled();
  await revokeKey(store, issued.row, { actor: 'test', nowMs: 2 });
  store.load = load;
  const fast = watch.poll();
  await settled();
  release(before);
  await Promise.all([slow, fast]);
  assert.ok(isFailure(ring.authenticate({ 'x-api-key': issued.minted.secret }, anywhere)));
  watch.stop();
});

test('callers with unknown keys share a look, four times a second at most, and none while the store is away', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { store, watch } = watchedRing(() => {});
  await watch.poll();
  let looks = 0;
  const version = store.version.bind(store);
  store.version = () => {
    looks += 1;
    return version();
  };
  const flood = () => Array.from({ length: 300 }, () => watch.pollForUnknown());
  const first = Promise.all(flood());
  t.mock.timers.tick(1);
  await first;
  assert.equal(looks, 1);
  const second = Promise.all(flood());
  t.mock.timers.tick(100);
  await settled();
  assert.equal(looks, 1, 'the next one comes a quarter of a second later');
  t.mock.timers.tick(150);
  await second;
  assert.equal(looks, 2);
  store.fail = new Error('disk gone');
  t.mock.timers.tick(keyPollIntervalMs);
  await settled();
  const before = looks;
  await Promise.all(flood());
  assert.equal(looks, before);
  watch.stop();
});

test('a store that does not answer is looked at once for unknown keys, and their callers do not wait for it', {
  timeout: 20_000,
}, async () => {
  const { store, watch } = watchedRing();
  await watch.poll();
  let looks = 0;
  store.version = () => {
    looks += 1;
    return new Promise(() => undefined);
  };
  for (const _ of ['first', 'second']) await Promise.all(Array.from({ length: 3 }, () => watch.pollForUnknown()));
  assert.equal(looks, 1);
  watch.stop();
});
