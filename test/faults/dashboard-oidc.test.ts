import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { type OpenIdProvider, PlainBrowser, startOpenIdProvider } from '../start-openid-provider.ts';
import { closedPlace } from './dead-places.ts';

const roles = [
  { group: 'root', role: 'owner' },
  { group: 'finance', role: 'billing' },
  { group: 'team-a', role: 'viewer', accounts: ['dev'] },
  { group: 'team-b', role: 'viewer', accounts: ['other'] },
];

interface World {
  provider: OpenIdProvider;
  gateway: TestGateway;
  config: Record<string, unknown>;
}

async function world(claims: 'id-token' | 'userinfo'): Promise<World> {
  const provider = await startOpenIdProvider({ claims });
  after(() => provider.close());
  const config = { dashboard: { oidc: provider.settings(roles) } };
  const gateway = await startGateway({ after: after as never }, config);
  await provider.register(gateway.url);
  return { provider, gateway, config };
}

const main = await world('userinfo');
const { provider, gateway } = main;

const callbackOf = ({ url }: TestGateway) => `${url}/dashboard/oidc/callback`;
const startOf = ({ url }: TestGateway, to = '/dashboard/requests?status=5xx') =>
  `${url}/dashboard/oidc/start?to=${encodeURIComponent(to)}`;

/** A login from end to end; the last answer, and the browser. */
async function logInAs(person: string, at = gateway) {
  const browser = new PlainBrowser();
  const back = await browser.logInAs(person, startOf(at), callbackOf(at));
  return { browser, back, response: await browser.fetch(back) };
}

async function sessionOf(browser: PlainBrowser, at = gateway): Promise<Record<string, unknown>> {
  const response = await browser.fetch(`${at.url}/dashboard/session`);
  return (await response.json()) as Record<string, unknown>;
}

/** Ends the session; where the browser ends that at the provider. */
async function logOut(browser: PlainBrowser): Promise<string | null> {
  const { csrf } = await sessionOf(browser);
  const headers = { 'x-culvert-csrf': String(csrf) };
  const ended = await browser.fetch(`${gateway.url}/dashboard/session`, { method: 'DELETE', headers });
  assert.equal(ended.status, 200);
  return ((await ended.json()) as { end_session_url: string | null }).end_session_url;
}

const operators = async (at = gateway) =>
  ((await (await at.fetch('/admin/v1/operators', asAdmin)).json()) as { data: Record<string, unknown>[] }).data;
const asAdmin = { headers: { authorization: `Bearer ${adminKey}` } };

test('a login ends the session that the browser had, whose cookie does not come back from the provider', async () => {
  provider.people.set('eve', { groups: ['root'] });
  const { browser } = await logInAs('eve');
  const jar = browser.cookies(gateway.url);
  const name = [...jar.keys()].find((one) => one.includes('session'))!;
  const earlier = jar.get(name)!;
  const back = await browser.logInAs('eve', startOf(gateway), callbackOf(gateway));
  // As a browser does with SameSite=Strict, where the provider is another site.
  jar.delete(name);
  assert.equal((await browser.fetch(back)).status, 303);
  assert.equal((await sessionOf(browser)).name, 'eve@example.org');
  const before = await fetch(`${gateway.url}/dashboard/session`, { headers: { cookie: `${name}=${earlier}` } });
  assert.notEqual(((await before.json()) as { kind: string }).kind, 'operator');
});

test('a person logs in at the provider, and is the operator that their groups say', async () => {
  provider.people.set('anna', { groups: ['staff', 'team-a', 'team-b'] });
  const { browser, response } = await logInAs('anna');
  assert.deepEqual([response.status, response.headers.get('location')], [303, '/dashboard/requests?status=5xx']);
  const session = await sessionOf(browser);
  assert.deepEqual(
    [session.kind, session.name, session.role, session.accounts, session.login],
    ['operator', 'anna@example.org', 'viewer', ['dev', 'other'], 'oidc'],
  );
  assert.equal((await browser.fetch(`${gateway.url}/admin/v1/accounts`)).status, 200);
  assert.equal((await browser.fetch(`${gateway.url}/admin/v1/config/reload`, { method: 'POST' })).status, 403);
  const trail = (await (await gateway.fetch('/admin/v1/audit', asAdmin)).json()) as { data: Record<string, unknown>[] };
  assert.deepEqual(
    trail.data.slice(0, 2).map(({ actor, action }) => [actor, action]),
    [
      ['anna@example.org', 'session.open'],
      ['anna@example.org', 'operator.create'],
    ],
  );
});

test('groups count anew at each login: more, fewer, and none, which ends every session', async () => {
  provider.people.set('bert', { groups: 'finance' });
  const first = await logInAs('bert');
  assert.equal((await sessionOf(first.browser)).role, 'billing');
  provider.people.set('bert', { groups: ['team-a', 'root'] });
  const second = await logInAs('bert');
  const session = await sessionOf(second.browser);
  assert.deepEqual([session.role, session.accounts], ['owner', null]);
  assert.equal((await sessionOf(first.browser)).role, 'owner', 'of the same operator');
  assert.equal((await operators()).filter(({ name }) => name === 'bert@example.org').length, 1);
  provider.people.set('bert', { groups: [] });
  const third = await logInAs('bert');
  assert.equal(third.response.status, 403);
  assert.match(await third.response.text(), /bert@example\.org is in none of the groups/);
  for (const { browser } of [first, second, third]) assert.equal((await sessionOf(browser)).kind, 'nobody');
  assert.deepEqual(
    (await operators()).filter(({ name }) => name === 'bert@example.org'),
    [],
  );
});

test('groups in the ID token do as well, and nobody is asked for userinfo', async () => {
  const other = await world('id-token');
  other.provider.people.set('cora', { groups: ['root'] });
  const { browser } = await logInAs('cora', other.gateway);
  assert.equal((await sessionOf(browser, other.gateway)).role, 'owner');
  assert.ok(!other.provider.asked.includes('/me'));
});

test('groups are found by the path of a claim, in userinfo or the ID token', async () => {
  for (const claims of ['userinfo', 'id-token'] as const) {
    const other = await world(claims);
    const oidc = { ...other.provider.settings(roles), groups_claim: 'realm_access.roles' };
    await other.gateway.reload({ dashboard: { oidc } });
    other.provider.people.set('karl', { others: { realm_access: { roles: ['finance'] } } });
    const { browser } = await logInAs('karl', other.gateway);
    assert.equal((await sessionOf(browser, other.gateway)).role, 'billing', claims);
    assert.equal(other.provider.asked.includes('/me'), claims === 'userinfo');
  }
});

test('groups that are too many for a token are said to be, as Entra ID leaves them out', async () => {
  const elsewhere = {
    _claim_names: { groups: 'src1' },
    _claim_sources: { src1: { endpoint: 'https://graph.windows.net/' } },
  };
  for (const others of [{ hasgroups: true }, elsewhere]) {
    provider.people.set('lena', { others });
    const { response } = await logInAs('lena');
    assert.equal(response.status, 403);
    assert.match(await response.text(), /sent no groups of lena@example\.org: they are too many/);
  }
});

test('who is not logged in learns of the provider; a logout says where it ends there, too', async () => {
  const nobody = await sessionOf(new PlainBrowser());
  assert.deepEqual(nobody, { kind: 'nobody', login: { oidc: { name: 'Example' }, saml: null } });
  provider.people.set('dora', { groups: ['root'] });
  const { browser } = await logInAs('dora');
  // From now on this server has not asked the provider, as another worker, or one that was restarted.
  await gateway.reload(main.config);
  const elsewhere = (await logOut(browser))!;
  assert.ok(elsewhere.startsWith(`${provider.issuer}/session/end?`));
  assert.equal(new URL(elsewhere).searchParams.get('post_logout_redirect_uri'), `${gateway.url}/dashboard`);
  assert.equal((await sessionOf(browser)).kind, 'nobody');
});

test('a logout whose provider cannot be reached ends the session here', async () => {
  provider.people.set('dirk', { groups: ['root'] });
  const { browser } = await logInAs('dirk');
  const issuer = await closedPlace();
  await gateway.reload({ dashboard: { oidc: { ...provider.settings(roles), issuer } } });
  assert.equal(await logOut(browser), null);
  await gateway.reload(main.config);
  assert.equal((await sessionOf(browser)).kind, 'nobody');
});

test('S46 a login is finished in the browser that began it, once, and with the state that it was given', async () => {
  provider.people.set('eve', { groups: ['root'] });
  const attacker = new PlainBrowser();
  const back = await attacker.logInAs('eve', startOf(gateway), callbackOf(gateway));
  const victim = new PlainBrowser();
  assert.equal((await victim.fetch(back)).status, 400, 'login CSRF: a link with another’s code');
  await victim.fetch(startOf(gateway));
  assert.equal((await victim.fetch(back)).status, 401, 'nor with a login of their own under way');
  assert.equal((await sessionOf(victim)).kind, 'nobody');
  const forged = new URL(back);
  forged.searchParams.set('state', 'another');
  const tampered = new PlainBrowser();
  for (const [name, value] of attacker.cookies(gateway.url)) tampered.cookies(gateway.url).set(name, value);
  assert.equal((await tampered.fetch(forged.href)).status, 401);
  assert.equal((await attacker.fetch(back)).status, 303);
  assert.equal((await attacker.fetch(back)).status, 400, 'once');
  const cookies = new PlainBrowser();
  cookies.cookies(gateway.url).set(`culvert_oidc_${new URL(gateway.url).port}`, 'AQ'.repeat(80));
  assert.equal((await cookies.fetch(back)).status, 400, 'nobody makes the cookie up');
});

test('S46 after a login the browser goes to a place of this server alone', async () => {
  provider.people.set('fred', { groups: ['root'] });
  for (const [to, goes] of [
    ['/dashboard/keys#new', '/dashboard/keys#new'],
    ['/account', '/account'],
    ['//evil.example', '/dashboard'],
    ['https://evil.example', '/dashboard'],
    ['/dashboard\\@evil.example', '/dashboard'],
    ['/dashboard/\r\nset-cookie: a=b', '/dashboard'],
    ['/dashboardx', '/dashboard'],
  ] as const) {
    const browser = new PlainBrowser();
    const back = await browser.logInAs('fred', startOf(gateway, to), callbackOf(gateway));
    assert.equal((await browser.fetch(back)).headers.get('location'), goes, to);
  }
});

test('what a person is called there is no page and no other operator here', async () => {
  provider.people.set('gina', { groups: [], name: '<script>alert(1)</script>' });
  const { response } = await logInAs('gina');
  assert.doesNotMatch(await response.text(), /<script/);
  provider.people.set('hugo', { groups: ['team-a'], name: 'admin' });
  const hugo = await logInAs('hugo');
  assert.match(String((await sessionOf(hugo.browser)).name), /^admin [0-9a-f]{12}$/, 'the trail’s admin is another');
});

test('a session by a provider that is configured no more is over', async () => {
  const own = await world('id-token');
  own.provider.people.set('ida', { groups: ['root'] });
  const { browser } = await logInAs('ida', own.gateway);
  assert.equal((await sessionOf(browser, own.gateway)).kind, 'operator');
  await own.gateway.reload({});
  assert.equal((await sessionOf(browser, own.gateway)).kind, 'nobody');
  const start = await fetch(startOf(own.gateway), { redirect: 'manual' });
  assert.equal(start.status, 404);
});

test('a provider that is away is a page that says so, and the next try asks it again', async () => {
  const away = await startGateway(
    { after: after as never },
    { dashboard: { oidc: { issuer: 'http://127.0.0.1:9', client_id: 'x', roles: [{ group: '*', role: 'viewer' }] } } },
  );
  const response = await fetch(startOf(away), { redirect: 'manual' });
  assert.equal(response.status, 502);
  assert.match(await response.text(), /does not answer right now/);
});

test('an invitation is used up by the verified address of whom it is for; groups decide nothing then', async () => {
  const order = { role: 'member', accounts: ['dev'], email: 'Mia@example.org', name: 'Mia' };
  const body = { headers: { ...asAdmin.headers, 'content-type': 'application/json' }, body: JSON.stringify(order) };
  const made = await gateway.fetch('/admin/v1/invitations', { method: 'POST', ...body });
  assert.equal(made.status, 201);
  provider.people.set('eve', { name: 'mia@example.org' });
  assert.equal((await logInAs('eve')).response.status, 403, 'an address that the provider has not verified');
  provider.people.set('mia', { verified: true });
  for (const time of ['first', 'again']) {
    const { browser } = await logInAs('mia');
    const session = await sessionOf(browser);
    assert.deepEqual(
      [session.name, session.role, session.accounts, session.login],
      ['Mia', 'member', ['dev'], 'oidc'],
      time,
    );
  }
  const left = (await (await gateway.fetch('/admin/v1/invitations', asAdmin)).json()) as { data: unknown[] };
  assert.deepEqual(left.data, []);
  provider.people.set('mia2', { verified: true, name: 'mia@example.org' });
  assert.equal((await logInAs('mia2')).response.status, 403, 'it works once');
});
