import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertWithin } from '../machine-load.ts';
import { adminKey, workersKnow } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';
import { ask, balanced, booksOf } from './books-balance.ts';
import { readStream } from './read-answer.ts';
import { startReplicas, useUp } from './replicas.ts';

const skip = postgresMissing || redisMissing;
const postgres = skip === false ? await startPostgres(null) : null;
const redis = skip === false ? await startRedis(null) : null;
/** `CULVERT_ROUNDS=200` is the whole of F51. */
const rounds = Number(process.env.CULVERT_ROUNDS ?? 4);
/** A revoked key is refused everywhere by then; the rest is what the looks at it take. */
const knownEverywhereMs = 1_000 + 500;

/** Waits until another replica knows of a change, and holds the time against what is promised. */
async function knownWithin(what: string, isKnown: () => Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  await until(what, isKnown);
  assertWithin(performance.now() - startedMs, knownEverywhereMs, what);
  // One of its processes did.
  await workersKnow();
}

async function admin(url: string, method: string, path: string, body?: unknown): Promise<Record<string, string>> {
  const response = await fetch(`${url}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${text}`);
  await workersKnow();
  return JSON.parse(text);
}

/** The database of one test, and a Redis in which nothing of another is. */
const stores = () => {
  redis!.cli('flushall');
  return { postgres: postgres!, redis: redis! };
};

test(`F51 three replicas, 150 callers, the last 100 units, ${rounds} rounds: exactly 100 pass each time`, {
  skip,
}, async (t) => {
  const accounts = Array.from({ length: rounds }, (_, round) => `race-${round}`);
  const keyOf = (account: string) => `sk-cv-key-of-${account}`;
  const { urls, upstream } = await startReplicas(t, 3, {
    ...stores(),
    plans: { default: { windows: { '5h': 110, week: 110, month: 110 }, rpm: 'off' } },
    accounts: Object.fromEntries(accounts.map((account) => [account, { plan: 'default' }])),
    keys: accounts.map((account) => ({ key: keyOf(account), account, name: 'one' })),
  });
  for (const account of accounts) {
    const key = keyOf(account);
    for (let i = 0; i < 10; i++) assert.equal((await ask(urls[i % 3]!, {}, key)).status, 200);
    const { answered, refused, unavailable } = await useUp(urls, 150, { key });
    assert.deepEqual([answered.length, refused.length], [100, 150]);
    assert.equal(unavailable.length, 0);
    for (const { text } of refused) {
      const { error } = JSON.parse(text);
      assert.deepEqual([error.used, error.allowed], [110, 110]);
    }
    upstream.clear();
  }
});

test('F53 a key revoked on one replica is 401 on the other within a second; its running stream completes', {
  skip,
}, async (t) => {
  const { urls, upstream } = await startReplicas(t, 2, { ...stores(), plans: { default: { rpm: 'off' } } });
  const [one, two] = urls as [string, string];
  await admin(one, 'POST', '/accounts', { id: 'acme' });
  const made = (await admin(one, 'POST', '/keys', { account: 'acme', name: 'main' })) as { id: string; key: string };
  await knownWithin('the other knows it', async () => (await ask(two, {}, made.key)).status === 200);
  upstream.script('/v1/chat/completions', ['tokens=40;interval=50ms']);
  const stream = ask(two, { stream: true }, made.key);
  await upstream.when(
    ({ path, body }) => path.endsWith('/chat/completions') && JSON.stringify(body).includes('"stream":true'),
  );
  await admin(one, 'POST', `/keys/${made.id}/revoke`);
  assert.equal((await ask(one, {}, made.key)).status, 401, 'at once where it was revoked');
  await knownWithin('the other refuses it', async () => (await ask(two, {}, made.key)).status === 401);
  const { dones, error } = readStream((await stream).text);
  assert.deepEqual([dones, error], [1, null]);
});

test('§11 a plan changed on one replica counts on all of them, with what was used before', { skip }, async (t) => {
  const plans = { default: { windows: { '5h': 10 }, rpm: 'off' }, large: { windows: { '5h': 15 }, rpm: 'off' } };
  const { urls } = await startReplicas(t, 2, { ...stores(), plans });
  const [one, two] = urls as [string, string];
  await admin(one, 'POST', '/accounts', { id: 'acme', plan: 'default' });
  const { key } = (await admin(one, 'POST', '/keys', { account: 'acme', name: 'main' })) as { key: string };
  await knownWithin('the other knows it', async () => (await ask(two, {}, key)).status === 200);
  assert.equal((await useUp(urls, 4, { key })).answered.length, 9);
  await admin(one, 'PATCH', '/accounts/acme', { plan: 'large' });
  assert.equal((await ask(one, {}, key)).status, 200, 'at once where it was changed');
  await knownWithin('the other lets it in', async () => (await ask(two, {}, key)).status === 200);
  assert.equal((await useUp(urls, 4, { key })).answered.length, 3);
  await admin(one, 'PATCH', '/accounts/acme', { plan: 'default' });
  let used: number[] = [];
  await knownWithin('the other holds it to the smaller plan', async () => {
    const refused = await ask(two, {}, key);
    assert.equal(refused.status, 429);
    const { error } = JSON.parse(refused.text);
    used = [error.used, error.allowed];
    return error.allowed === 10;
  });
  assert.deepEqual(used, [15, 10]);
});

test('F42 on_state_loss: local: two replicas give half each, and no more in total when Redis is back', {
  skip,
}, async (t) => {
  const mortal = await startRedis(t);
  const { urls } = await startReplicas(t, 2, {
    postgres: postgres!,
    redis: mortal,
    storage: { on_state_loss: 'local' },
    plans: { default: { windows: { '5h': 40 }, rpm: 'off' } },
  });
  for (let i = 0; i < 10; i++) assert.equal((await ask(urls[i % 2]!)).status, 200);
  await mortal.kill();
  // Half of 40 is 20, of which half of the 10 are gone; one that begins later sees the other's usage meanwhile.
  const apart = await Promise.all(urls.map((url) => useUp([url], 4)));
  const each = apart.map(({ answered }) => answered.length);
  assert.ok(
    each.every((count) => count > 0 && count <= 15),
    String(each),
  );
  await mortal.restart();
  const used = 10 + each.reduce((sum, count) => sum + count);
  await until('Redis knows of it', async () => (await booksOf(urls[0]!).catch(() => null))?.windows['5h'] === used);
  assert.equal((await useUp(urls, 4)).answered.length, 40 - used, 'and what is left can be used');
  await balanced(urls[1]!);
});
