import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashKey } from '../../src/books/auth/key-directory.ts';
import { loginTokenMs } from '../../src/books/auth/sessions.ts';
import { openAdmin } from './open-admin.ts';

const from = { address: '192.0.2.7', agent: 'Mozilla/5.0' };

/** With a session of the admin key and one of a key of account `dev`. */
async function withSessions(t: { after(fn: () => unknown): void }) {
  const admin = await openAdmin(t, { keys: [{ key: 'sk-cv-declared-laptop', account: 'dev', name: 'laptop' }] });
  const owner = await admin.sessions.open({ login: 'admin_key', credential: hashKey('sk-cv-admin-of-tests') }, from);
  admin.clock.advance(1_000);
  const key = await admin.sessions.open({ login: 'key', credential: hashKey('sk-cv-declared-laptop') }, from);
  assert.ok('secret' in owner && 'secret' in key);
  return { admin, owner, key };
}

const anywhere = () => null;

test('sessions are listed with whose they are, without secrets, and ended one by one', async (t) => {
  const { admin, owner, key } = await withSessions(t);
  const { data } = await admin.ok('GET', '/sessions');
  assert.deepEqual(
    data.map((row: Record<string, unknown>) => [row.kind, row.name, row.account, row.login, row.address]),
    [
      ['key', 'dev/laptop', 'dev', 'key', '192.0.2.7'],
      ['operator', 'admin', null, 'admin_key', '192.0.2.7'],
    ],
  );
  assert.doesNotMatch(JSON.stringify(data), new RegExp(`${owner.secret}|${key.secret}|hash`));
  assert.equal((await admin.ok('DELETE', `/sessions/${key.session.id}`)).id, key.session.id);
  assert.equal(await admin.sessions.find(key.secret, anywhere), null);
  assert.notEqual(await admin.sessions.find(owner.secret, anywhere), null);
  assert.equal((await admin.refused('DELETE', `/sessions/${key.session.id}`))[0], 404);
  const { data: trail } = await admin.ok('GET', '/audit');
  assert.deepEqual([trail[0].action, trail[0].subject], ['session.end', key.session.id]);
});

test('a session is over after its idle time, however often it was used after its whole time, and is listed no more', async (t) => {
  const { admin, owner, key } = await withSessions(t);
  // An hour idle, a day in all.
  for (let minutes = 0; minutes < 100; minutes += 50) {
    admin.clock.advance(50 * 60_000);
    assert.notEqual(await admin.sessions.find(owner.secret, anywhere), null);
  }
  assert.equal(await admin.sessions.find(key.secret, anywhere), null, 'idle');
  assert.equal((await admin.ok('GET', '/sessions')).data.length, 1);
  for (let minutes = 100; minutes < 1_400; minutes += 50) {
    admin.clock.advance(50 * 60_000);
    await admin.sessions.find(owner.secret, anywhere);
  }
  admin.clock.advance(50 * 60_000);
  assert.equal(await admin.sessions.find(owner.secret, anywhere), null, 'a day');
});

test('a login link is of the admin key, works once and for ten minutes, and is in the trail without its token', async (t) => {
  const { admin } = await withSessions(t);
  const { path } = await admin.ok('POST', '/login-links');
  const token = path.slice('/dashboard#token='.length);
  assert.deepEqual(await admin.sessions.redeemToken(token), {
    login: 'token',
    credential: hashKey('sk-cv-admin-of-tests'),
  });
  assert.equal(await admin.sessions.redeemToken(token), null);
  const late = (await admin.ok('POST', '/login-links')).path.slice('/dashboard#token='.length);
  admin.clock.advance(loginTokenMs);
  assert.equal(await admin.sessions.redeemToken(late), null);
  const trail = JSON.stringify(await admin.ok('GET', '/audit'));
  assert.match(trail, /login-link\.create/);
  assert.ok(!trail.includes(token));
  const viewer = { name: 'v', role: 'viewer', accounts: null } as const;
  assert.equal((await admin.call('POST', '/login-links', undefined, viewer)).status, 403);
  const scoped = { name: 's', role: 'owner', accounts: ['dev'] } as const;
  assert.equal((await admin.call('POST', '/login-links', undefined, scoped)).status, 403, 'it would see all accounts');
});
