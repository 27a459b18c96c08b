import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { createRenewed } from './expiring-credential.ts';

/** Tokens `token 1`, `token 2`… which are good for an hour, given when the test says so. */
function scripted() {
  const clock = fakeClock();
  const fetches: PromiseWithResolvers<{ value: string; expiresAtMs: number }>[] = [];
  const renewed = createRenewed(() => {
    const next = Promise.withResolvers<{ value: string; expiresAtMs: number }>();
    fetches.push(next);
    return next.promise;
  }, clock);
  const give = async (lastsMs = 3_600_000) => {
    fetches.at(-1)!.resolve({ value: `token ${fetches.length}`, expiresAtMs: clock.wallMs() + lastsMs });
    await new Promise(setImmediate);
  };
  return { clock, fetches, renewed, give };
}

test('all who ask at once share one fetch, and later ones need not wait', async () => {
  const { fetches, renewed, give } = scripted();
  const all = Promise.all([renewed.get(), renewed.get(), renewed.get()]);
  await give();
  assert.deepEqual(await all, ['token 1', 'token 1', 'token 1']);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(fetches.length, 1);
});

test('a token is fetched anew before it expires, and the old one serves until then', async () => {
  const { clock, fetches, renewed, give } = scripted();
  void renewed.get();
  await give();
  clock.advance(54 * 60_000);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(fetches.length, 1);
  clock.advance(2 * 60_000);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(renewed.get(), 'token 1');
  assert.equal(fetches.length, 2);
  await give();
  assert.equal(renewed.get(), 'token 2');
});

test('a failure ahead of time is tried again after a pause, and shows when the token has expired', async () => {
  const { clock, fetches, renewed, give } = scripted();
  void renewed.get();
  await give();
  clock.advance(56 * 60_000);
  assert.equal(renewed.get(), 'token 1');
  fetches.at(-1)!.reject(new Error('down'));
  await new Promise(setImmediate);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(fetches.length, 2);
  clock.advance(5_000);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(fetches.length, 3);
  fetches.at(-1)!.reject(new Error('down still'));
  await new Promise(setImmediate);
  clock.advance(4 * 60_000);
  const refused = assert.rejects(Promise.resolve(renewed.get()), /down again/);
  fetches.at(-1)!.reject(new Error('down again'));
  await refused;
  const next = renewed.get();
  await give();
  assert.equal(await next, 'token 5');
});

test('a token that lasts for less than five minutes is fetched at most once in five seconds', async () => {
  const { clock, fetches, renewed, give } = scripted();
  void renewed.get();
  await give(240_000);
  for (let at = 0; at < 10; at++) {
    assert.equal(renewed.get(), 'token 1');
    clock.advance(400);
  }
  assert.equal(fetches.length, 1);
  clock.advance(1_000);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(fetches.length, 2);
  await give(235_000);
  assert.equal(renewed.get(), 'token 2');
  assert.equal(fetches.length, 2);
});

test('a fetch that never settles is given up after 30 seconds, and the next call fetches again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { fetches, renewed, give } = scripted();
  const refused = assert.rejects(Promise.resolve(renewed.get()), /no credential came within 30 s/);
  t.mock.timers.tick(30_000);
  await refused;
  const next = renewed.get();
  assert.equal(fetches.length, 2);
  await give();
  assert.equal(await next, 'token 2');
});

test('a token that comes after it was given up serves later calls', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { renewed, give } = scripted();
  const refused = assert.rejects(Promise.resolve(renewed.get()));
  t.mock.timers.tick(30_000);
  await refused;
  await give();
  assert.equal(renewed.get(), 'token 1');
});
