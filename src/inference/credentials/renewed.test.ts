import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../kernel/clock.ts';
import { createRenewed } from './renewed.ts';

/** Tokens `token 1`, `token 2`… which are good for an hour, given when the test says so. */
function scripted() {
  const clock = fakeClock();
  const asked: PromiseWithResolvers<{ value: string; expiresAtMs: number }>[] = [];
  const renewed = createRenewed(() => {
    const next = Promise.withResolvers<{ value: string; expiresAtMs: number }>();
    asked.push(next);
    return next.promise;
  }, clock);
  const give = async () => {
    asked.at(-1)!.resolve({ value: `token ${asked.length}`, expiresAtMs: clock.wallMs() + 3_600_000 });
    await new Promise(setImmediate);
  };
  return { clock, asked, renewed, give };
}

test('all who ask at once share one fetch, and later ones need not wait', async () => {
  const { asked, renewed, give } = scripted();
  const all = Promise.all([renewed.get(), renewed.get(), renewed.get()]);
  await give();
  assert.deepEqual(await all, ['token 1', 'token 1', 'token 1']);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(asked.length, 1);
});

test('a token is fetched anew before it expires, and the old one serves until then', async () => {
  const { clock, asked, renewed, give } = scripted();
  void renewed.get();
  await give();
  clock.advance(54 * 60_000);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(asked.length, 1);
  clock.advance(2 * 60_000);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(renewed.get(), 'token 1');
  assert.equal(asked.length, 2);
  await give();
  assert.equal(renewed.get(), 'token 2');
});

test('a failure ahead of time is tried again after a pause, and shows when the token has expired', async () => {
  const { clock, asked, renewed, give } = scripted();
  void renewed.get();
  await give();
  clock.advance(56 * 60_000);
  assert.equal(renewed.get(), 'token 1');
  asked.at(-1)!.reject(new Error('down'));
  await new Promise(setImmediate);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(asked.length, 2);
  clock.advance(5_000);
  assert.equal(renewed.get(), 'token 1');
  assert.equal(asked.length, 3);
  asked.at(-1)!.reject(new Error('down still'));
  await new Promise(setImmediate);
  clock.advance(4 * 60_000);
  const refused = assert.rejects(Promise.resolve(renewed.get()), /down again/);
  asked.at(-1)!.reject(new Error('down again'));
  await refused;
  const next = renewed.get();
  await give();
  assert.equal(await next, 'token 5');
});
