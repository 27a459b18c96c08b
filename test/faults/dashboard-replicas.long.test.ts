import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type LoggedIn, loggedIn, logIn } from '../browser-login.ts';
import { assertWithin } from '../machine-load.ts';
import { adminKey } from '../start-gateway.ts';
import { postgresMissing, type StartedPostgres, startPostgres } from '../start-postgres.ts';
import { redisMissing, type StartedRedis, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';
import { startReplicas } from './replicas.ts';

const skip = postgresMissing || redisMissing;

/** One of each for both tests. */
let started: Promise<[StartedPostgres, StartedRedis]> | null = null;
function servers(): Promise<[StartedPostgres, StartedRedis]> {
  started ??= Promise.all([startPostgres(null), startRedis(null)]);
  return started;
}

/** The watch looks every 750 ms; the rest is the look itself and this machine's load. */
const overMaxMs = 1_000 + 1_500;

test('S42 a session is one on every replica, and over on every one within a second of its key', { skip }, async (t) => {
  const [postgres, redis] = await servers();
  // Browsers see one address: what the cookie is called follows from it.
  const server = { public_url: 'https://culvert.example.org' };
  const { urls } = await startReplicas(t, 2, { postgres, redis, server });
  const [here, there] = [{ url: urls[0]! }, { url: urls[1]! }];
  const elsewhere = (browser: LoggedIn, path: string) =>
    fetch(there.url + path, { headers: { cookie: browser.cookie, 'x-culvert-csrf': browser.csrf } });
  const admin = await loggedIn(here, { admin_key: adminKey });
  assert.equal((await elsewhere(admin, '/admin/v1/accounts')).status, 200);

  const { path } = (await (await admin.fetch('/admin/v1/login-links', { method: 'POST' })).json()) as { path: string };
  const token = path.split('token=')[1]!;
  const raced = await Promise.all([here, there, here, there].map((at) => logIn(at, { token })));
  assert.deepEqual(raced.map(({ status }) => status).sort(), [200, 401, 401, 401], 'one browser, on any replica');

  const made = await admin.fetch('/admin/v1/keys', { json: { account: 'dev', name: 'browser' } });
  const { id, key } = (await made.json()) as { id: string; key: string };
  const caller = await loggedIn(here, { key });
  const isOver = async (browser: LoggedIn, wanted: string) => {
    const sinceMs = performance.now();
    for (;;) {
      const answer = await elsewhere(browser, wanted);
      const { kind } = (await answer.json()) as { kind?: string };
      if (answer.status !== 200 || kind === 'nobody') return;
      assertWithin(performance.now() - sinceMs, overMaxMs, `the end of ${wanted}`);
    }
  };
  await admin.fetch(`/admin/v1/keys/${id}/revoke`, { method: 'POST' });
  await isOver(caller, '/dashboard/session');

  const anna = await admin.fetch('/admin/v1/operators', { json: { name: 'Anna', role: 'viewer' } });
  const operator = (await anna.json()) as { id: string; key: string };
  const viewer = await loggedIn(here, { admin_key: operator.key });
  assert.equal((await viewer.fetch('/admin/v1/accounts')).status, 200);
  await admin.fetch(`/admin/v1/operators/${operator.id}`, { method: 'DELETE' });
  await isOver(viewer, '/admin/v1/accounts');

  await admin.fetch('/dashboard/session', { method: 'DELETE' });
  assert.equal((await elsewhere(admin, '/admin/v1/accounts')).status, 401, 'a logout counts everywhere at once');
});

test('without its database a session is 503, no 500, and goes on when it is back', { skip }, async (t) => {
  const [postgres, redis] = await servers();
  const { urls } = await startReplicas(t, 1, { postgres, redis });
  const at = { url: urls[0]! };
  const admin = await loggedIn(at, { admin_key: adminKey });
  await postgres.stop('SIGKILL');
  assert.equal((await admin.fetch('/admin/v1/config')).status, 503);
  assert.equal((await admin.fetch('/dashboard/session')).status, 503);
  assert.equal((await logIn(at, { admin_key: adminKey })).status, 503);
  await postgres.restart();
  await until('it goes on', async () => (await admin.fetch('/admin/v1/config')).status === 200);
});

test('S43 logins that fail count on all replicas together, and a lost Redis locks nobody out', { skip }, async (t) => {
  const [postgres, redis] = await servers();
  const { urls } = await startReplicas(t, 2, { postgres, redis });
  // Links that anybody can place: they close the callback alone, and no login of the dashboard.
  const callbacks: number[] = [];
  for (let at = 0; at < 11; at += 1) {
    await pause(50);
    callbacks.push((await fetch(`${urls[at % 2]}/mcp/oauth/callback?state=guess-${at}`)).status);
  }
  assert.deepEqual(callbacks, [...Array.from({ length: 10 }, () => 400), 429]);
  const statuses: number[] = [];
  for (let at = 0; at < 12; at += 1) {
    // Counted behind the answer: the next one must see it.
    await pause(50);
    statuses.push((await logIn({ url: urls[at % 2]! }, { admin_key: `sk-cv-admin-wrong-${at}` })).status);
  }
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429, 429]);
  assert.equal((await logIn({ url: urls[1]! }, { admin_key: adminKey })).status, 429);
  await redis.kill();
  assert.equal((await logIn({ url: urls[1]! }, { admin_key: adminKey })).status, 200, 'it has counted five itself');
  await redis.restart();
});
