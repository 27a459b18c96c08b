import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { missingTool } from '../sound.ts';
import { openLogin, startAuthorizationServer, startProtectedMcpServer } from '../start-authorization-server.ts';
import { adminKey, startGateway, type TestGateway, testProcesses } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { culvertBin, runCommand, temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { openTerminal } from '../terminal.ts';
import { until } from '../until.ts';

/* MCP servers at which an operator logs in, by OAuth's authorization code. */

interface Shown {
  status: string;
  why: string | null;
  login: { by: string; issuer: string; scope: string; ended: string | null } | null;
  error?: { message: string };
  url: string;
  data: { action: string; subject: string; actor: string; check: string; message: string; fix: string }[];
  findings: { check: string; message: string; fix: string }[];
}

async function admin(gateway: TestGateway, method: string, path: string): Promise<Shown & { status_code: number }> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const response = await gateway.fetch(`/admin/v1${path}`, { method, headers });
  return { ...((await response.json()) as Shown), status_code: response.status };
}

async function call(gateway: TestGateway): Promise<{ status: number; text: string }> {
  const response = await gateway.fetch('/v1/mcp/call', { json: { tool: 'own__add', arguments: { a: 1, b: 2 } } });
  return { status: response.status, text: await response.text() };
}

async function logIn(gateway: TestGateway, finishedBy = gateway): Promise<void> {
  const { url } = await admin(gateway, 'POST', '/mcp-servers/own/login');
  const sent = await fetch(url, { redirect: 'manual' });
  const callback = new URL(sent.headers.get('location')!);
  const page = await fetch(finishedBy.url + callback.pathname + callback.search);
  assert.equal(page.status, 200, await page.text());
}

async function started(t: TestContext, own: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
  const issuer = await startAuthorizationServer(t);
  const server = await startProtectedMcpServer(t, issuer);
  const config = { mcp: { servers: { own: { url: server.url, ...own } } }, fetch: { allow_private: [issuer.place] } };
  const gateway = await startGateway(t, { ...config, ...more });
  return { issuer, server, gateway, config };
}

test('an operator logs in at a server that asks for it, and its tools work; the tokens are seen nowhere', async (t) => {
  const { issuer, server, gateway } = await started(t);
  const before = await call(gateway);
  assert.equal(before.status, 502);
  assert.match(before.text, /The MCP server 'own' needs a login by an operator\./);
  // Each worker looks at it itself.
  await until('it is seen', async () => {
    const { status, login } = await admin(gateway, 'GET', '/mcp-servers/own');
    assert.equal(login, null);
    return status === 'needs-login';
  });
  await until('the doctor tells of it', async () => {
    const { findings } = await admin(gateway, 'GET', '/doctor');
    return /culvert mcp-servers login own/.test(findings.find(({ check }) => check === 'mcp own')?.fix ?? '');
  });

  const begun = await admin(gateway, 'POST', '/mcp-servers/own/login');
  assert.equal(begun.status_code, 200, begun.error?.message);
  const page = await openLogin(begun.url);
  assert.equal(page.status, 200, page.text);
  assert.match(page.text, /Culvert is logged in at the MCP server &#39;own&#39;/);
  const after = await call(gateway);
  assert.equal(after.status, 200, after.text);

  const [query] = issuer.opened;
  assert.equal(query!.get('tenant'), '1', 'the query of the endpoint stays');
  assert.equal(query!.get('resource'), server.url);
  assert.equal(query!.get('code_challenge_method'), 'S256');
  assert.equal(query!.get('scope'), 'tools offline_access');
  assert.equal(query!.get('redirect_uri'), `${gateway.url}/mcp/oauth/callback`);
  assert.deepEqual(issuer.registered[0]!.redirect_uris, [`${gateway.url}/mcp/oauth/callback`]);

  let now = await admin(gateway, 'GET', '/mcp-servers/own');
  await until('it is up', async () => {
    now = await admin(gateway, 'GET', '/mcp-servers/own');
    return now.status === 'up';
  });
  const { by, issuer: where, scope, ended } = now.login!;
  assert.deepEqual({ by, where, scope, ended }, { by: 'admin', where: issuer.url, scope: 'tools', ended: null });
  const { data } = await admin(gateway, 'GET', '/audit?action=mcp.login');
  assert.deepEqual(
    data.map(({ action, subject, actor }) => [action, subject, actor]),
    [['mcp.login', 'own', 'admin']],
  );
  const files = readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const kept = files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join('\n');
  for (const secret of [...issuer.given, query!.get('state')!]) {
    assert.ok(!kept.includes(secret), 'sealed, or hashed');
    assert.ok(!JSON.stringify([now, data]).includes(secret));
  }
});

test('at a server of MCP’s SDK for Python, which wants the id of its client in the body, a login and its renewal work', async (t) => {
  const { issuer, gateway } = await started(t);
  issuer.mode.methods = ['client_secret_post', 'client_secret_basic'];
  await logIn(gateway);
  assert.equal((await call(gateway)).status, 200);
  issuer.expire();
  assert.equal((await call(gateway)).status, 200);
  assert.deepEqual(
    issuer.tokenRequests.map(({ body }) => body.get('grant_type')),
    ['authorization_code', 'refresh_token'],
  );
});

test('a callback works once, and only for a login that this gateway began', async (t) => {
  const { issuer, gateway } = await started(t);
  const begun = await admin(gateway, 'POST', '/mcp-servers/own/login');
  const foreign = new URL(begun.url);
  foreign.searchParams.set('state', 'A'.repeat(43));
  assert.equal((await openLogin(foreign.href)).status, 400);
  assert.equal((await call(gateway)).status, 502);
  assert.deepEqual(issuer.tokenRequests, [], 'no code of a stranger is sent anywhere');
  const { status, callback } = await openLogin(begun.url);
  assert.equal(status, 200);
  const again = await fetch(callback);
  assert.equal(again.status, 400);
  assert.match(await again.text(), /already been used/);
  assert.equal(issuer.tokenRequests.length, 1);
});

test('a login that is refused, or answered by another server, or for a changed server, gives nothing', async (t) => {
  const { issuer, gateway, config } = await started(t);
  const begin = async () => (await admin(gateway, 'POST', '/mcp-servers/own/login')).url;
  issuer.mode.answer = 'access_denied';
  assert.match((await openLogin(await begin())).text, /refused the login \(access_denied\)/);
  issuer.mode.answer = 'code';
  issuer.mode.iss = 'https://other.example.org';
  assert.match((await openLogin(await begin())).text, /comes from another authorization server/);
  issuer.mode.iss = null;
  const url = await begin();
  const elsewhere = await startProtectedMcpServer(t, issuer);
  await gateway.reload({ ...config, mcp: { servers: { own: { url: elsewhere.url } } } });
  assert.match((await openLogin(url)).text, /was changed in the meantime/);
  assert.deepEqual(issuer.tokenRequests, []);
  assert.equal((await call(gateway)).status, 502);
});

test('a refused token is renewed once for all calls, and each rotated refresh token is kept', async (t) => {
  const { issuer, gateway } = await started(t);
  await logIn(gateway);
  for (let round = 1; round <= 2; round++) {
    // Each worker keeps a token for a second, and may have the one before.
    if (testProcesses > 1) await pause(1_000);
    issuer.expire();
    const answers = await Promise.all(Array.from({ length: 8 }, () => call(gateway)));
    assert.deepEqual(
      answers.filter(({ status }) => status !== 200),
      [],
    );
    const renewals = issuer.tokenRequests.filter(({ body }) => body.get('grant_type') === 'refresh_token');
    assert.equal(renewals.length, round);
    assert.ok(renewals.every(({ body }) => body.get('resource') !== null));
  }
});

test('renewed tokens that cannot be kept right away are used, and kept when the store is back', async (t) => {
  const { issuer, gateway } = await started(t);
  await logIn(gateway);
  assert.equal((await call(gateway)).status, 200);
  const other = new DatabaseSync(join(gateway.dataDir, 'culvert.db'));
  t.after(() => other.close());
  const version = () => other.prepare('SELECT version FROM mcp_grant').get()!.version as number;
  const before = version();
  issuer.mode.onTokens = () => other.exec('BEGIN IMMEDIATE');
  issuer.expire();
  const renewed = await call(gateway);
  assert.equal(renewed.status, 200, renewed.text);
  issuer.mode.onTokens = () => undefined;
  // Another worker has no way to them until the store has.
  const { status } = await call(gateway);
  if (testProcesses === 1) assert.equal(status, 200);
  assert.equal(version(), before, 'nothing can be written');
  other.exec('ROLLBACK');
  await until('the new tokens are kept', () => version() > before);
  issuer.expire();
  const last = await call(gateway);
  assert.equal(last.status, 200, last.text);
  assert.equal((await admin(gateway, 'GET', '/mcp-servers/own')).login!.ended, null);
});

test('a token is renewed before its end, so that the server refuses none', async (t) => {
  const { issuer, server, gateway } = await started(t);
  issuer.mode.expiresIn = 1;
  await logIn(gateway);
  const refusedBefore = server.refused();
  const renewed = () => issuer.tokenRequests.filter(({ body }) => body.get('grant_type') === 'refresh_token').length;
  await until('it is renewed', async () => {
    assert.equal((await call(gateway)).status, 200);
    return renewed() >= 2;
  });
  assert.equal(server.refused(), refusedBefore);
});

test('a renewal that gives the same token, or one that is over, is asked for once and not again and again', async (t) => {
  const { issuer, gateway } = await started(t);
  const renewed = () => issuer.tokenRequests.filter(({ body }) => body.get('grant_type') === 'refresh_token').length;
  issuer.mode.expiresIn = 1;
  await logIn(gateway);
  Object.assign(issuer.mode, { expiresIn: 3_600, keepsAccess: true });
  await until('it is renewed', async () => {
    assert.equal((await call(gateway)).status, 200);
    return renewed() > 0;
  });
  assert.equal(renewed(), 1);
  // Nobody knows when such a token is over: its server says so.
  for (const expiresIn of [0, null, -5, '0', 0.001, 1e300]) {
    issuer.mode.expiresIn = expiresIn;
    await logIn(gateway);
    assert.equal((await call(gateway)).status, 200, String(expiresIn));
    assert.equal((await admin(gateway, 'GET', '/mcp-servers/own')).login!.ended, null);
  }
  assert.equal(renewed(), 1);
});

test('a login that has no refresh token ends with its token, and one with too few permissions is told so', async (t) => {
  const { issuer, gateway } = await started(t);
  issuer.mode.refreshes = false;
  await logIn(gateway);
  issuer.mode.misses = 'tools.write';
  const refused = await call(gateway);
  assert.equal(refused.status, 400);
  assert.match(
    refused.text,
    /the login has too few permissions \(tools\.write\)\. An operator adds them to oauth\.scope/,
  );
  issuer.mode.misses = null;
  issuer.expire();
  await until('it is over', async () => /gave no refresh token/.test((await call(gateway)).text));
  assert.equal(issuer.tokenRequests.length, 1, 'nothing is asked for without one');
});

test('a login that has ended is told of, and the next one brings the tools back', async (t) => {
  const { issuer, gateway } = await started(t);
  await logIn(gateway);
  issuer.mode.fails = true;
  issuer.expire();
  assert.match((await call(gateway)).text, /does not renew the token right now \(temporarily_unavailable\)/);
  issuer.mode.fails = false;
  await until('it is asked again', async () => (await call(gateway)).status === 200);
  issuer.revoke();
  assert.match(
    (await call(gateway)).text,
    /needs a new login: its authorization server does not renew the token \(invalid_grant\)/,
  );
  await until('it is seen', async () => {
    await call(gateway);
    return (await admin(gateway, 'GET', '/mcp-servers/own')).status === 'needs-login';
  });
  const { login } = await admin(gateway, 'GET', '/mcp-servers/own');
  assert.match(login!.ended!, /invalid_grant/);
  const askedBefore = issuer.asked.length;
  await call(gateway);
  assert.equal(issuer.asked.length, askedBefore, 'nobody asks with what is over');
  await logIn(gateway);
  assert.equal((await call(gateway)).status, 200);
  const out = await admin(gateway, 'DELETE', '/mcp-servers/own/login');
  assert.equal(out.login, null);
  await until('it is logged out', async () => (await call(gateway)).status === 502);
  assert.equal((await admin(gateway, 'DELETE', '/mcp-servers/own/login')).status_code, 409);
});

test('an authorization server in the private network is asked only where the operator allows it', async (t) => {
  const { issuer, server, gateway } = await started(t, {}, { fetch: {} });
  const refused = await admin(gateway, 'POST', '/mcp-servers/own/login');
  assert.equal(refused.status_code, 502);
  assert.match(refused.error!.message, /may not be asked: its port is not one of/);
  assert.deepEqual(issuer.asked, []);
  const oauth = { grant: 'authorization_code', issuer: issuer.url };
  await gateway.reload({ mcp: { servers: { own: { url: server.url, oauth } } } });
  await logIn(gateway);
  assert.equal((await call(gateway)).status, 200);
});

test('a configured client is used, without registration, and its secret goes to its issuer alone', async (t) => {
  const other = await startAuthorizationServer(t);
  const client = { grant: 'authorization_code', client_id: 'configured', client_secret: 'the-client-secret' };
  const { issuer, server, gateway } = await started(t, { oauth: { ...client, issuer: other.url } });
  const refused = await admin(gateway, 'POST', '/mcp-servers/own/login');
  assert.match(refused.error!.message, /names other authorization servers than oauth\.issuer/);
  await gateway.reload({ mcp: { servers: { own: { url: server.url, oauth: { ...client, issuer: issuer.url } } } } });
  issuer.mode.registers = false;
  await logIn(gateway);
  assert.equal((await call(gateway)).status, 200);
  assert.equal(issuer.tokenRequests[0]!.authorization, `Basic ${btoa('configured:the-client-secret')}`);
  assert.deepEqual([issuer.registered, other.tokenRequests, other.asked], [[], [], []]);
});

test('where nobody can log in, the answer says why', async (t) => {
  const { issuer, server, gateway } = await started(t);
  issuer.mode.registers = false;
  const none = await admin(gateway, 'POST', '/mcp-servers/own/login');
  assert.equal(none.status_code, 409);
  assert.match(
    none.error!.message,
    /offers no registration of clients.*\/mcp\/oauth\/callback, and set oauth\.client_id/,
  );
  issuer.mode.registers = 'nobody';
  const refused = await admin(gateway, 'POST', '/mcp-servers/own/login');
  assert.match(refused.error!.message, /registers no client for http.*\/callback .*and set oauth\.client_id/);
  Object.assign(issuer.mode, { registers: true, token: 'two words' });
  const { url } = await admin(gateway, 'POST', '/mcp-servers/own/login');
  assert.match((await openLogin(url)).text, /gave no bearer token/);
  for (const [mode, why] of [
    [{ token: 7 }, /an answer on the way could not be read/],
    [{ token: null, fails: true }, /a server on the way was not authorized \(temporarily_unavailable\)/],
  ] as const) {
    Object.assign(issuer.mode, mode);
    const next = await admin(gateway, 'POST', '/mcp-servers/own/login');
    assert.match((await openLogin(next.url)).text, why);
  }
  issuer.mode.isNamed = false;
  const unnamed = await admin(gateway, 'POST', '/mcp-servers/own/login');
  assert.match(unnamed.error!.message, /names no authorization server/);
  const headers = { Authorization: 'Bearer own' };
  const program = { command: 'node' };
  await gateway.reload({ mcp: { servers: { own: { url: server.url, headers }, program } } });
  assert.match((await admin(gateway, 'POST', '/mcp-servers/own/login')).error!.message, /has an authorization header/);
  assert.match((await admin(gateway, 'POST', '/mcp-servers/program/login')).error!.message, /has no URL/);
  assert.equal((await admin(gateway, 'POST', '/mcp-servers/nobody/login')).status_code, 404);
});

test('culvert mcp-servers login prints the address, and waits until the browser was there', {
  skip: missingTool('script', 'stty'),
}, async (t) => {
  const { gateway } = await started(t);
  const env = { CULVERT_URL: gateway.url, CULVERT_ADMIN_KEY: adminKey };
  const cwd = temporaryFolder(t);
  const terminal = openTerminal(t, `${culvertBin} mcp-servers login own`, { cwd, columns: 80, env });
  await terminal.showed(/http\S+authorize\S+\s/);
  await openLogin(/http\S+authorize\S+/.exec(terminal.shown())![0]);
  assert.equal(await terminal.ended, 0, terminal.shown());
  assert.match(terminal.shown(), /own: logged in, and up\./);
  const { stdout } = await runCommand(['mcp-servers', 'logout', 'own'], { env, cwd });
  assert.equal((JSON.parse(stdout) as Shown).login, null);
});

test('another storage.secret takes a login over', async (t) => {
  const { gateway } = await started(t);
  await logIn(gateway);
  const headers = { authorization: `Bearer ${adminKey}` };
  const rotated = await gateway.fetch('/admin/v1/secret/rotate', { headers, json: { forget: true } });
  const { resealed, left, earlier } = (await rotated.json()) as Record<string, unknown>;
  assert.deepEqual({ resealed, left, earlier }, { resealed: 1, left: [], earlier: 'forgotten' });
  assert.equal((await admin(gateway, 'GET', '/mcp-servers/own')).login?.scope, 'tools');
  assert.equal((await call(gateway)).status, 200);
});

test('replicas share a login: one begins it, another ends it, and one renews its token', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)]);
  const secret = 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=';
  const storage = { database: postgres.url, state: redis.url, secret };
  const { issuer, gateway, config } = await started(t, {}, { storage });
  const other = await startGateway(t, { ...config, storage });
  const served = (by: TestGateway) => until('it is served', async () => (await call(by)).status === 200);
  await until('a login is asked for', async () => /needs a login/.test((await call(other)).text));
  await logIn(gateway, other);
  await Promise.all([served(gateway), served(other)]);
  issuer.expire();
  await Promise.all([served(gateway), served(other), served(gateway), served(other)]);
  assert.equal(issuer.tokenRequests.length, 2, 'the code, and one renewal');
});
