import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionRow } from '../../src/books/auth/session-store.ts';
import { drivers } from './drivers.ts';

const nowMs = Date.now();

function row(id: string, over: Partial<SessionRow> = {}): SessionRow {
  return {
    id,
    hash: `hash of ${id}`,
    login: 'admin_key',
    credential: 'hash of the admin key',
    operator: null,
    address: '127.0.0.1',
    agent: 'Mozilla/5.0',
    createdMs: nowMs,
    seenMs: nowMs,
    endsMs: nowMs + 1_000,
    ...over,
  };
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: a session is found by every process until it is ended by one`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const sessions = await store.sessions();
    const other = await store.sessions();
    await sessions.open(row('ses_1'), 10);
    await sessions.open(row('ses_2', { login: 'key', credential: 'hash of a key', createdMs: nowMs + 1 }), 10);
    assert.deepEqual(await other.find('hash of ses_1'), row('ses_1'));
    assert.equal(await other.find('hash of nobody'), null);
    assert.deepEqual(
      (await other.list()).map(({ id }) => id),
      ['ses_2', 'ses_1'],
    );
    await other.seen('ses_1', nowMs + 500);
    await sessions.seen('ses_1', nowMs + 400);
    assert.equal((await sessions.find('hash of ses_1'))?.seenMs, nowMs + 500, 'never back');
    assert.equal(await other.end('ses_1'), true);
    assert.equal(await sessions.end('ses_1'), false);
    assert.equal(await sessions.find('hash of ses_1'), null);
    await sessions.close();
    await other.close();
  });

  test(`${driver.name}: those that are over go, and of one key the newest stay`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const sessions = await store.sessions();
    await sessions.open(row('ses_over', { endsMs: nowMs + 10 }), 2);
    await sessions.open(row('ses_another', { credential: 'hash of a key', createdMs: nowMs + 1 }), 2);
    for (const at of [11, 12, 13]) await sessions.open(row(`ses_${at}`, { createdMs: nowMs + at }), 2);
    assert.deepEqual(
      (await sessions.list()).map(({ id }) => id),
      ['ses_13', 'ses_12', 'ses_another'],
    );
    await sessions.close();
  });

  test(`${driver.name}: a login token is redeemed once, by whoever comes first, until it is over`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const [one, two] = [await store.sessions(), await store.sessions()];
    const token = { hash: 'hash of a token', credential: 'hash of the admin key', endsMs: nowMs + 1_000 };
    await one.issueToken(token);
    const redeemed = await Promise.all([one, two, one, two].map((by) => by.redeemToken(token.hash, nowMs)));
    assert.deepEqual(
      redeemed.filter((given) => given !== null),
      [token],
    );
    await one.issueToken({ ...token, hash: 'late' });
    assert.equal(await two.redeemToken('late', nowMs + 1_000), null);
    await one.close();
    await two.close();
  });

  test(`${driver.name}: an assertion is used once, by whoever comes first, until it is over`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const [one, two] = [await store.sessions(), await store.sessions()];
    const used = await Promise.all([one, two, one, two].map((by) => by.useAssertion('hash', nowMs + 1_000, nowMs)));
    assert.deepEqual(
      used.filter((isFirst) => isFirst),
      [true],
    );
    assert.equal(await one.useAssertion('other', nowMs + 1_000, nowMs), true);
    assert.equal(await two.useAssertion('hash', nowMs + 2_000, nowMs + 999), false);
    assert.equal(await two.useAssertion('hash', nowMs + 2_000, nowMs + 1_000), true, 'nobody accepts it any more');
    await one.close();
    await two.close();
  });
}
