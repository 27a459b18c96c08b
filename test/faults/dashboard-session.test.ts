import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PassThrough } from 'node:stream';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { systemClock } from '../../src/kernel/clock.ts';
import { loggedIn, logIn } from '../browser-login.ts';
import { adminKey, otherKey, overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const upstream = await startUpstream();
after(() => upstream.close());
const logged = new PassThrough();
let log = '';
logged.on('data', (chunk) => {
  log += chunk;
});
const gateway = await startGateway({ after: after as never }, overUpstreams(upstream.url), {
  log: pino({ level: 'trace' }, logged),
});

const messageOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string } }).error.message;
const chat = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };

test('the admin key opens a session, which opens the admin API until it is ended', async () => {
  const browser = await loggedIn(gateway, { admin_key: adminKey });
  const { id, csrf, expires_at, ...rest } = browser.session;
  assert.deepEqual(rest, {
    kind: 'operator',
    name: 'admin',
    role: 'owner',
    accounts: null,
    login: 'admin_key',
    version: '0.0.0-test',
  });
  assert.ok(Date.parse(String(expires_at)) > Date.now());
  assert.deepEqual(await (await browser.fetch('/dashboard/session')).json(), browser.session);
  assert.equal((await browser.fetch('/admin/v1/accounts')).status, 200);
  const listed = (await (await browser.fetch('/admin/v1/sessions')).json()) as { data: { id: string }[] };
  assert.ok(
    listed.data.some((session) => session.id === id),
    'a page can mark it in the list of sessions',
  );
  assert.equal((await browser.fetch('/dashboard/session', { method: 'DELETE' })).status, 200);
  assert.equal((await browser.fetch('/admin/v1/accounts')).status, 401);
  const { kind } = (await (await browser.fetch('/dashboard/session')).json()) as { kind: string };
  assert.equal(kind, 'nobody');
});

test('an API key opens the session of that key, which opens nothing of the admin API', async () => {
  const browser = await loggedIn(gateway, { key: testKey });
  const { kind, account, key } = browser.session as { kind: string; account: string; key: { name: string } };
  assert.deepEqual([kind, account, key.name], ['key', 'dev', 'test']);
  const refused = await browser.fetch('/admin/v1/accounts');
  assert.equal(refused.status, 403);
  assert.match(await messageOf(refused), /session belongs to an API key/);
});

test('what opens nothing is 401 in one sentence, and 400 where it is no login at all', async () => {
  for (const body of [{ admin_key: 'x' }, { key: 'x' }, { token: 'x' }]) {
    const response = await logIn(gateway, body);
    assert.equal(response.status, 401, JSON.stringify(body));
    assert.equal(response.headers.get('set-cookie'), null);
  }
  for (const body of [{ key: adminKey }, { admin_key: testKey }])
    assert.equal((await logIn(gateway, body)).status, 403, 'the right key in the wrong place');
  for (const body of [
    {},
    [],
    'x',
    null,
    { key: 1 },
    { key: '' },
    { key: testKey, admin_key: adminKey },
    { user: 'x' },
  ]) {
    assert.equal((await logIn(gateway, body)).status, 400, JSON.stringify(body));
  }
  assert.equal((await logIn(gateway, { key: 'x'.repeat(5_000) })).status, 413);
});

test('who is not logged in is told so, and how to log in', async () => {
  const response = await fetch(`${gateway.url}/dashboard/session`);
  assert.equal(response.status, 200, 'a browser would log another as an error');
  assert.deepEqual(await response.json(), { kind: 'nobody', login: { oidc: null, saml: null } });
});

test('S41 a session changes nothing without the token that its own page has, and a foreign page sends nothing', async () => {
  const browser = await loggedIn(gateway, { admin_key: adminKey });
  const account = { json: { id: 'forged', name: 'Forged' } };
  for (const csrf of ['', 'x', (await loggedIn(gateway, { admin_key: adminKey })).csrf]) {
    const response = await browser.fetch('/admin/v1/accounts', { ...account, headers: { 'x-culvert-csrf': csrf } });
    assert.equal(response.status, 403, `'${csrf}'`);
    assert.match(await messageOf(response), /x-culvert-csrf/);
  }
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ] as Record<string, string>[]) {
    assert.equal((await browser.fetch('/admin/v1/accounts', { ...account, headers })).status, 403);
    assert.equal((await browser.fetch('/admin/v1/accounts', { headers })).status, 403, 'nor is anything read');
    assert.equal((await logIn(gateway, { admin_key: adminKey }, headers)).status, 403, 'nor logged in');
    assert.equal((await browser.fetch('/dashboard/session', { method: 'DELETE', headers })).status, 403);
  }
  assert.equal((await browser.fetch('/admin/v1/accounts/forged')).status, 404);
  const own = { 'sec-fetch-site': 'same-origin', origin: gateway.url };
  assert.equal((await browser.fetch('/admin/v1/accounts', { ...account, headers: own })).status, 201);
});

test('S42 the cookie is for this site and no script, new at each login, and the one of before is over', async () => {
  const first = await loggedIn(gateway, { admin_key: adminKey });
  const response = await logIn(gateway, { admin_key: adminKey }, { cookie: first.cookie });
  const [cookie] = response.headers.getSetCookie();
  assert.match(cookie!, /^culvert_session_\d+=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/);
  assert.ok(!cookie!.startsWith(first.cookie));
  assert.equal((await first.fetch('/admin/v1/accounts')).status, 401);
  const planted = `${first.cookie.split('=')[0]}=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`;
  assert.doesNotMatch(
    (await logIn(gateway, { admin_key: adminKey }, { cookie: planted })).headers.get('set-cookie')!,
    /AAAAA/,
  );
  const second = await loggedIn(gateway, { admin_key: adminKey });
  for (const cookie of [`${planted}; ${second.cookie}`, `${second.cookie}; ${planted}`]) {
    const tossed = await fetch(`${gateway.url}/admin/v1/accounts`, { headers: { cookie } });
    assert.equal(tossed.status, 401, 'of two nobody knows whose each is');
  }
});

test('over https the cookie is sent over https alone', async (t) => {
  const behind = await startGateway(t, { server: { public_url: 'https://culvert.example.org' } });
  const response = await logIn(behind, { admin_key: adminKey }, { origin: 'https://culvert.example.org' });
  assert.match(response.headers.get('set-cookie')!, /^culvert_session=.*; Secure$/);
});

test('a browser that is logged in at two servers on one host stays so at both', async (t) => {
  const other = await startGateway(t);
  const [here, there] = [
    await loggedIn(gateway, { admin_key: adminKey }),
    await loggedIn(other, { admin_key: adminKey }),
  ];
  const cookie = `${here.cookie}; ${there.cookie}`;
  for (const { url } of [gateway, other]) {
    assert.equal((await fetch(`${url}/admin/v1/accounts`, { headers: { cookie } })).status, 200);
  }
  const again = await logIn(other, { admin_key: adminKey }, { cookie });
  assert.equal(again.status, 200);
  assert.equal((await here.fetch('/admin/v1/accounts')).status, 200, 'a login at one ends no session of the other');
});

test('a call that has a key is that key, whatever cookie comes along', async () => {
  const browser = await loggedIn(gateway, { admin_key: adminKey });
  const headers = { authorization: `Bearer ${otherKey}` };
  assert.equal((await browser.fetch('/admin/v1/accounts', { headers })).status, 403);
  assert.equal((await browser.fetch('/v1/models', { headers })).status, 200);
  assert.equal((await browser.fetch('/v1/models', { headers: { authorization: 'Bearer sk-cv-none' } })).status, 401);
});

test('/v1 takes the session of a key, with the token of its page', async () => {
  const browser = await loggedIn(gateway, { key: testKey });
  assert.equal((await browser.fetch('/v1/models')).status, 200);
  const response = await browser.fetch('/v1/chat/completions', { json: chat });
  assert.equal(response.status, 200);
  const id = response.headers.get('x-culvert-request-id')!;
  assert.equal((await gateway.fetch(`/v1/requests/${id}`)).status, 200, 'the key finds it as its own');
  assert.equal((await browser.fetch('/v1/models', { headers: { 'x-culvert-csrf': '' } })).status, 403);
});

test('an operator calls /v1 for the key that it names, which pays', async () => {
  const browser = await loggedIn(gateway, { admin_key: adminKey });
  const unnamed = await browser.fetch('/v1/chat/completions', { json: chat });
  assert.equal(unnamed.status, 401);
  assert.match(await messageOf(unnamed), /x-culvert-key/);
  const headers = { 'x-culvert-key': 'sk-cv-declared:dev/test' };
  const response = await browser.fetch('/v1/chat/completions', { json: chat, headers });
  assert.equal(response.status, 200);
  const id = response.headers.get('x-culvert-request-id')!;
  assert.equal((await gateway.fetch(`/v1/requests/${id}`)).status, 200, 'the key finds it as its own');
  assert.equal((await browser.fetch('/v1/models', { headers: { 'x-culvert-key': 'nobody' } })).status, 403);
});

test('an operator speaks for a key from elsewhere than its secret may be used', async (t) => {
  const bound = { key: 'sk-cv-test-bound', account: 'dev', name: 'bound', ips: ['192.0.2.1'] };
  const own = await startGateway(t, { ...overUpstreams(upstream.url), keys: [bound] });
  const authorization = `Bearer ${bound.key}`;
  assert.equal((await own.fetch('/v1/models', { headers: { authorization } })).status, 403);
  assert.equal((await logIn(own, { key: bound.key })).status, 403);
  const browser = await loggedIn(own, { admin_key: adminKey });
  const headers = { 'x-culvert-key': 'sk-cv-declared:dev/bound' };
  assert.equal((await browser.fetch('/v1/models', { headers })).status, 200);
});

test('S45 an operator calls /v1 for keys of its accounts alone, in the role of an admin or owner', async (t) => {
  const own = await startGateway(t, overUpstreams(upstream.url));
  const admin = await loggedIn(own, { admin_key: adminKey });
  const speaksFor = async (order: { name: string; role: string; accounts?: string[] }, key: string) => {
    const made = (await (await admin.fetch('/admin/v1/operators', { json: order })).json()) as { key: string };
    const browser = await loggedIn(own, { admin_key: made.key });
    const headers = { 'x-culvert-key': `sk-cv-declared:${key}` };
    // Looking at vectors is a call, which the key's account pays: a session without calls reads nothing.
    const looked = await browser.fetch('/v1/vectors/collections', { headers });
    const called = await browser.fetch('/v1/chat/completions', { json: chat, headers });
    assert.equal(looked.status, called.status);
    return called.status;
  };
  assert.equal(await speaksFor({ name: 'a', role: 'admin', accounts: ['dev'] }, 'dev/test'), 200);
  assert.equal(await speaksFor({ name: 'b', role: 'admin', accounts: ['dev'] }, 'other/test'), 403);
  assert.equal(await speaksFor({ name: 'c', role: 'viewer' }, 'dev/test'), 403);
  assert.equal(await speaksFor({ name: 'd', role: 'billing' }, 'dev/test'), 403);
});

test('an operator’s key is a Bearer of /admin/v1 in its role, and a login is in the audit trail', async (t) => {
  const own = await startGateway(t);
  const admin = await loggedIn(own, { admin_key: adminKey });
  const made = await admin.fetch('/admin/v1/operators', { json: { name: 'Vera', role: 'viewer' } });
  const { key } = (await made.json()) as { key: string };
  const headers = { authorization: `Bearer ${key}` };
  assert.equal((await own.fetch('/admin/v1/keys', { headers })).status, 200);
  assert.equal((await own.fetch('/admin/v1/keys', { headers, json: { account: 'dev', name: 'x' } })).status, 403);
  assert.equal((await own.fetch('/v1/models', { headers })).status, 403);
  assert.equal((await own.fetch('/metrics', { headers })).status, 200);
  const browser = await loggedIn(own, { admin_key: key });
  assert.equal(browser.session.login, 'operator_key');
  const { data } = (await (await admin.fetch('/admin/v1/audit')).json()) as { data: Record<string, unknown>[] };
  assert.deepEqual([data[0]!.actor, data[0]!.action], ['Vera', 'session.open']);
});

test('S43 ten logins of one address that fail close it for a minute, for the right key too', async (t) => {
  const own = await startGateway(t);
  for (let i = 0; i < 10; i++) assert.equal((await logIn(own, { admin_key: `wrong-${i}` })).status, 401);
  const closed = await logIn(own, { admin_key: adminKey });
  assert.equal(closed.status, 429);
  assert.ok(Number(closed.headers.get('retry-after')) <= 60);
  assert.equal((await own.fetch('/v1/models')).status, 200, 'calls with a key go on');
});

test('S44 no log line holds a cookie, a token or a key that was sent', async () => {
  const browser = await loggedIn(gateway, { admin_key: adminKey });
  await browser.fetch('/admin/v1/accounts');
  await browser.fetch('/admin/v1/none');
  await logIn(gateway, { key: 'sk-cv-canary-of-a-login' });
  const secret = browser.cookie.split('=')[1]!;
  for (const canary of [secret, browser.csrf, adminKey, 'canary-of-a-login']) {
    assert.ok(!log.includes(canary), canary);
  }
});

test('a session goes on while its store cannot be written, as on a full disk', async (t) => {
  // The clock that moves is this process's.
  const own = await startGateway(t, { ...overUpstreams(upstream.url), server: { processes: 1 } });
  const admin = await loggedIn(own, { admin_key: adminKey });
  const other = new DatabaseSync(join(own.dataDir, 'culvert.db'));
  other.exec('BEGIN IMMEDIATE');
  t.mock.method(systemClock, 'wallMs', () => Date.now() + 120_000);
  const answer = await admin.fetch('/admin/v1/accounts');
  other.close();
  assert.equal(answer.status, 200, await answer.text());
});

test('a session is over with the key that it stands for', async (t) => {
  const own = await startGateway(t);
  const admin = await loggedIn(own, { admin_key: adminKey });
  const made = await admin.fetch('/admin/v1/keys', { json: { account: 'dev', name: 'browser' } });
  const { id, key } = (await made.json()) as { id: string; key: string };
  const browser = await loggedIn(own, { key });
  assert.equal((await browser.fetch('/v1/models')).status, 200);
  assert.equal((await admin.fetch(`/admin/v1/keys/${id}/revoke`, { method: 'POST' })).status, 200);
  assert.equal((await browser.fetch('/v1/models')).status, 401);
  await own.reload({ admin: { key: 'sk-cv-admin-another-key-0002' } });
  assert.equal((await admin.fetch('/admin/v1/accounts')).status, 401, 'a new admin key ends those of the old one');
});
