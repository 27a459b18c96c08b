import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { ended as endedCertificate, two } from '../saml-certificates.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { PlainBrowser } from '../start-openid-provider.ts';
import {
  type Answering,
  type Brought,
  bring as bringFrom,
  type ResponseValues,
  type SamlProvider,
  samlLogin,
  startSamlProvider,
} from '../start-saml-provider.ts';

const roles = [
  { group: 'root', role: 'owner' },
  { group: 'finance', role: 'billing' },
  { group: 'team-a', role: 'viewer', accounts: ['dev'] },
  { group: 'team-b', role: 'viewer', accounts: ['other'] },
];

const provider = await startSamlProvider();
after(() => provider.close());

/** A gateway whose metadata the provider may know. Assertions name its address, which is known when it listens. */
async function gatewayWith(
  saml: Record<string, unknown>,
  more: Record<string, unknown> = {},
  parts: Parameters<typeof startGateway>[2] = {},
): Promise<TestGateway> {
  const started = await startGateway({ after: after as never }, {}, parts);
  await started.reload(configAt(started, saml, more));
  return started;
}

function configAt({ url }: TestGateway, saml: Record<string, unknown>, more: Record<string, unknown> = {}) {
  return { server: { public_url: url, trusted_proxies: ['127.0.0.1'] }, dashboard: { saml, ...more } };
}

/** Lines of the log since the last one that was looked at. */
let logged: string[] = [];
const log = pino({ level: 'warn' }, { write: (line: string) => logged.push(line) });
const gateway = await gatewayWith(provider.settings(roles), {}, { log });
await provider.register(gateway.url);

const startOf = ({ url }: TestGateway, to = '/dashboard/requests?status=5xx') =>
  `${url}/dashboard/saml/start?to=${encodeURIComponent(to)}`;

let clients = 0;

function nextAddress(): string {
  clients += 1;
  return `10.0.${clients >> 8}.${clients & 255}`;
}

/** Each response comes from another address, as its proxy says: ten that fail would close it. */
function bring(browser: PlainBrowser, brought: Brought, address = nextAddress()) {
  return bringFrom(browser, brought, { headers: { 'x-forwarded-for': address } });
}

interface LoggedIn {
  browser: PlainBrowser;
  brought: Brought;
  response: Response;
}

/** A login from end to end; the last answer, and the browser. */
async function logInAs(person: string, at = gateway, otherwise: Partial<Answering> = {}): Promise<LoggedIn> {
  const browser = new PlainBrowser();
  const brought = await answering(otherwise, () => samlLogin(browser, person, startOf(at)));
  return { browser, brought, response: await bring(browser, brought) };
}

/** Lets the provider answer otherwise for a while. */
async function answering<T>(otherwise: Partial<Answering>, work: () => Promise<T>, of: SamlProvider = provider) {
  const usual = of.answering;
  of.answering = { ...usual, ...otherwise };
  try {
    return await work();
  } finally {
    of.answering = usual;
  }
}

async function sessionOf(browser: PlainBrowser, at = gateway): Promise<Record<string, unknown>> {
  const response = await browser.fetch(`${at.url}/dashboard/session`);
  return (await response.json()) as Record<string, unknown>;
}

const asAdmin = { headers: { authorization: `Bearer ${adminKey}` } };
const listed = async (path: string, at = gateway) =>
  ((await (await at.fetch(`/admin/v1${path}`, asAdmin)).json()) as { data: Record<string, unknown>[] }).data;

/** Refused as a page in words, with nobody logged in and nothing of the inside in it. */
async function assertRefused({ browser, response }: LoggedIn, status: number, words: RegExp, at = gateway) {
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.match(response.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(text, words);
  assert.doesNotMatch(text, /Error|signature|assertion| at .*\.[jt]s/);
  assert.equal((await sessionOf(browser, at)).kind, 'nobody');
}

/** Refused, and the log says why. */
async function assertNotAccepted(name: string, tried: LoggedIn, why: RegExp): Promise<void> {
  try {
    await assertRefused(tried, 401, notAccepted);
    assert.match(logged.join(''), new RegExp(`login by SAML failed: .*(${why.source})`));
  } catch (error) {
    throw new Error(`${name}: ${String(error)}`);
  }
  logged = [];
}
const notAccepted = /did not accept the response of the identity provider/;

test('a person logs in at the identity provider, and is the operator that their groups say', async () => {
  provider.people.set('anna', { groups: ['staff', 'team-a', 'team-b'], email: 'anna@example.org', name: 'Anna' });
  const { browser, response } = await logInAs('anna');
  assert.deepEqual([response.status, response.headers.get('location')], [303, '/dashboard/requests?status=5xx']);
  const session = await sessionOf(browser);
  assert.deepEqual(
    [session.kind, session.name, session.role, session.accounts, session.login],
    ['operator', 'anna@example.org', 'viewer', ['dev', 'other'], 'saml'],
  );
  assert.equal((await browser.fetch(`${gateway.url}/admin/v1/accounts`)).status, 200);
  assert.equal((await browser.fetch(`${gateway.url}/admin/v1/config/reload`, { method: 'POST' })).status, 403);
  const trail = await listed('/audit');
  assert.deepEqual(
    trail.slice(0, 2).map(({ actor, action }) => [actor, action]),
    [
      ['anna@example.org', 'session.open'],
      ['anna@example.org', 'operator.create'],
    ],
  );
  const [anna] = (await listed('/operators')).filter(({ name }) => name === 'anna@example.org');
  assert.deepEqual([anna?.login, anna?.managed_by], ['saml', 'groups']);
  assert.deepEqual(
    (await listed('/sessions')).filter(({ name }) => name === 'anna@example.org').map(({ login }) => login),
    ['saml'],
  );
});

test('groups count anew at each login: more, fewer, and none, which ends every session', async () => {
  provider.people.set('bert', { groups: ['finance'] });
  const first = await logInAs('bert');
  assert.equal((await sessionOf(first.browser)).role, 'billing');
  provider.people.set('bert', { groups: ['team-a', 'root'] });
  const second = await logInAs('bert');
  const session = await sessionOf(second.browser);
  assert.deepEqual([session.name, session.role, session.accounts], ['bert', 'owner', null]);
  provider.people.set('bert', {});
  const third = await logInAs('bert');
  await assertRefused(third, 403, /bert is in none of the groups/);
  provider.people.set('lena', { groupsLink: 'https://graph.windows.net/' });
  await assertRefused(await logInAs('lena'), 403, /sent no groups of lena: they are too many/);
  for (const { browser } of [first, second]) assert.equal((await sessionOf(browser)).kind, 'nobody');
  assert.deepEqual(
    (await listed('/operators')).filter(({ name }) => name === 'bert'),
    [],
  );
});

test('who is in no group can log in as another person: the provider is to ask anew', async () => {
  provider.people.set('gast', { groups: ['guests'] });
  const { browser, response } = await logInAs('gast');
  const link = /<a href="([^"]*another[^"]*)"/.exec(await response.text())?.[1];
  await browser.follow(new URL(link ?? '', response.url).href);
  assert.match(provider.requests.at(-1) ?? '', /ForceAuthn="true"/);
  await browser.follow(startOf(gateway));
  assert.doesNotMatch(provider.requests.at(-1) ?? '', /ForceAuthn="true"/);
});

test('who is not logged in learns of the provider; a logout ends the session here', async () => {
  const nobody = await sessionOf(new PlainBrowser());
  assert.deepEqual(nobody, { kind: 'nobody', login: { oidc: null, saml: { name: 'Example' } } });
  provider.people.set('dora', { groups: ['root'] });
  const { browser } = await logInAs('dora');
  const { csrf } = await sessionOf(browser);
  const headers = { 'x-culvert-csrf': String(csrf) };
  const ended = await browser.fetch(`${gateway.url}/dashboard/session`, { method: 'DELETE', headers });
  assert.deepEqual(await ended.json(), { ended: true, end_session_url: null });
  assert.equal((await sessionOf(browser)).kind, 'nobody');
});

test('the assertion, the response or both may be signed, with SHA-256 or SHA-512', async () => {
  provider.people.set('emil', { groups: ['root'] });
  for (const signs of ['assertion', 'response', 'both'] as const) {
    for (const hash of ['sha256', 'sha512'] as const) {
      assert.equal((await logInAs('emil', gateway, { signs, hash })).response.status, 303, `${signs} ${hash}`);
    }
  }
});

test('a person in a thousand groups logs in by the last of them', async () => {
  const groups = Array.from({ length: 999 }, (_, i) => `a-group-with-a-long-name-of-its-department-${i}`);
  provider.people.set('tom', { groups: [...groups, 'finance'] });
  assert.equal((await sessionOf((await logInAs('tom')).browser)).role, 'billing');
});

test('S46 a response that nobody has signed, or another key, or with SHA-1, logs nobody in', async () => {
  provider.people.set('eve', { groups: ['root'] });
  const attacks: Record<string, [Partial<Answering>, RegExp]> = {
    'not signed': [{ signs: 'nothing' }, /Invalid signature/],
    'another key, with its certificate in the response': [{ key: two }, /Invalid signature/],
    'another key, both signed': [{ key: two, signs: 'both' }, /Invalid signature/],
    'SHA-1': [{ hash: 'sha1' }, /uses the algorithm '.*sha1'/],
    'no algorithm': [
      { afterwards: (xml) => xml.replace(/(SignatureMethod Algorithm=")[^"]*/, '$1none') },
      /uses the algorithm 'none'/,
    ],
    'the signature is gone': [
      { afterwards: (xml) => xml.replace(/<ds:Signature.*<\/ds:Signature>/s, '') },
      /Invalid signature/,
    ],
    'another name': [{ afterwards: (xml) => xml.replace('>eve<', '>anna<') }, /Invalid signature/],
    'another group': [{ afterwards: (xml) => xml.replace('>root<', '>team-a<') }, /Invalid signature/],
    'no assertion': [
      { afterwards: (xml) => xml.replace(/<saml:Assertion.*<\/saml:Assertion>/s, '') },
      /Missing SAML assertion/,
    ],
    'a failure': [
      {
        afterwards: (xml) =>
          xml.replace(/<saml:Assertion.*<\/saml:Assertion>/s, '').replace('status:Success', 'status:Responder'),
      },
      /SAML provider returned Responder error/,
    ],
  };
  for (const [name, [otherwise, why]] of Object.entries(attacks)) {
    await assertNotAccepted(name, await logInAs('eve', gateway, otherwise), why);
  }
});

test('S46 what is signed is what counts, wherever else an assertion is put', async () => {
  provider.people.set('eve', { groups: ['team-a'] });
  const forge = (assertion: string, id = '_forged') =>
    assertion
      .replace(/<ds:Signature.*<\/ds:Signature>/s, '')
      .replace(/ID="[^"]*"/, `ID="${id}"`)
      .replace('>eve<', '>anna<')
      .replace('>team-a<', '>root<');
  const wrappings: Record<string, (assertion: string, id: string) => string> = {
    'a forged one before it': (assertion) => forge(assertion) + assertion,
    'a forged one after it': (assertion) => assertion + forge(assertion),
    'a forged one of the same id': (assertion, id) => forge(assertion, id) + assertion,
    'in an extension': (assertion) => `<samlp:Extensions>${assertion}</samlp:Extensions>${forge(assertion)}`,
    'in the forged one': (assertion) => forge(assertion).replace('</saml:Assertion>', `${assertion}</saml:Assertion>`),
    'in the forged one, with its signature outside': (assertion) => {
      const signature = /<ds:Signature.*<\/ds:Signature>/s.exec(assertion)?.[0] ?? '';
      const bare = assertion.replace(signature, '');
      return forge(assertion)
        .replace('<saml:Subject>', `${signature}<saml:Subject>`)
        .replace('</saml:Assertion>', `${bare}</saml:Assertion>`);
    },
    'in an object of the signature': (assertion, id) => {
      const signature = /<ds:Signature.*<\/ds:Signature>/s.exec(assertion)?.[0] ?? '';
      const bare = assertion.replace(signature, '');
      const around = signature.replace('</ds:Signature>', `<ds:Object>${bare}</ds:Object></ds:Signature>`);
      return forge(assertion, `${id}x`).replace('<saml:Subject>', `${around}<saml:Subject>`);
    },
  };
  for (const [name, wrap] of Object.entries(wrappings)) {
    const tried = await logInAs('eve', gateway, {
      afterwards: (xml) =>
        xml.replace(/<saml:Assertion.*<\/saml:Assertion>/s, (whole) =>
          wrap(whole, /ID="([^"]*)"/.exec(whole)?.[1] ?? ''),
        ),
    });
    const session = await sessionOf(tried.browser);
    assert.ok(session.kind === 'nobody' || session.role === 'viewer', `${name}: ${JSON.stringify(session)}`);
    assert.notEqual(session.name, 'anna@example.org', name);
  }
});

test('S46 a response with a DTD, a comment, too many parts or too many bytes is not read', async () => {
  provider.people.set('root.evil', { groups: ['root'] });
  const doctype = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>';
  const manyAttributes = Array.from({ length: 7_000 }, (_, i) => `a${i}=""`).join(' ');
  const attacks: Record<string, [(xml: string) => string, RegExp]> = {
    'a DTD': [(xml) => doctype + xml, /has a DTD/],
    'an entity of a file': [(xml) => `<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]>${xml}`, /has a DTD/],
    // Signatures are made without comments, so it is still valid; parsers that stop at one read another name.
    'a comment in the name': [(xml) => xml.replace('>root.evil<', '>root<!-- -->.evil<'), /a comment/],
    'an instruction': [(xml) => xml.replace('<samlp:Status>', '<?a b?><samlp:Status>'), /an? processing instruction/],
    'many elements': [
      (xml) => xml.replace('<samlp:Status>', `${'<a/>'.repeat(10_000)}<samlp:Status>`),
      /more than 2500/,
    ],
    'many attributes': [
      (xml) => xml.replace('<samlp:Status>', `<a ${manyAttributes}/><samlp:Status>`),
      /more than 6000/,
    ],
    'no XML': [() => 'this is none', /XML/],
  };
  for (const [name, [afterwards, why]] of Object.entries(attacks)) {
    await assertNotAccepted(name, await logInAs('root.evil', gateway, { afterwards }), why);
  }
  const unread = /no readable response/;
  await assertRefused(await logInAs('root.evil', gateway, { afterwards: () => '' }), 400, unread);
  await assertRefused(
    await logInAs('root.evil', gateway, { afterwards: (xml) => xml + ' '.repeat(600_000) }),
    413,
    unread,
  );
  const browser = new PlainBrowser();
  const { action } = await samlLogin(browser, 'root.evil', startOf(gateway));
  const json = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
  assert.equal((await browser.fetch(action, json)).status, 415);
});

test('S46 an assertion for others, of others, too late or too early is refused', async () => {
  provider.people.set('fred', { groups: ['root'] });
  const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const attacks: Record<string, [Partial<ResponseValues>, RegExp]> = {
    'another audience': [{ Audience: 'https://other.example.org' }, /audience mismatch/],
    'another recipient': [{ SubjectRecipient: 'https://other.example.org/acs' }, /the recipient is/],
    'another issuer': [{ Issuer: 'https://other.example.org' }, /is of the issuer/],
    'no request': [{ InResponseTo: null }, /answers no request/],
    'another request': [{ InResponseTo: '_other' }, /this browser did not begin/],
    'over, by its conditions': [{ ConditionsNotOnOrAfter: at(-2) }, /assertion expired/],
    'over, by its confirmation': [{ SubjectConfirmationDataNotOnOrAfter: at(-2) }, /the confirmation is over/],
    'for ever': [{ SubjectConfirmationDataNotOnOrAfter: null }, /NotOnOrAfter/],
    'not yet': [{ ConditionsNotBefore: at(2) }, /not yet valid/],
    'issued long ago': [{ IssueInstant: at(-12) }, /assertion too old/],
    'a transient name': [{ NameIDFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' }, /is transient/],
    'no name': [{ NameID: '' }, /NameID/],
  };
  for (const [name, [values, why]] of Object.entries(attacks)) {
    await assertNotAccepted(name, await logInAs('fred', gateway, { values: () => values }), why);
  }
  const skewed = { ConditionsNotBefore: at(0.5), SubjectConfirmationDataNotOnOrAfter: at(-0.5) };
  assert.equal(
    (await logInAs('fred', gateway, { values: () => skewed })).response.status,
    303,
    'clocks differ a little',
  );
});

test('S46 a login is finished in the browser that began it, and an assertion is used once', async () => {
  provider.people.set('eve', { groups: ['root'] });
  const attacker = new PlainBrowser();
  const brought = await samlLogin(attacker, 'eve', startOf(gateway));
  const victim = new PlainBrowser();
  const csrf = await bring(victim, brought);
  await assertRefused({ browser: victim, brought, response: csrf }, 400, /did not begin in this browser/);
  await victim.fetch(startOf(gateway));
  const other = await bring(victim, brought);
  await assertRefused({ browser: victim, brought, response: other }, 401, notAccepted);
  const stolen = new PlainBrowser();
  for (const [name, value] of attacker.cookies(gateway.url)) stolen.cookies(gateway.url).set(name, value);
  assert.equal((await bring(attacker, brought)).status, 303);
  const replayed = await bring(stolen, brought);
  await assertRefused({ browser: stolen, brought, response: replayed }, 401, notAccepted);
  const cookies = new PlainBrowser();
  cookies.cookies(gateway.url).set(`culvert_saml_${new URL(gateway.url).port}`, 'AQ'.repeat(80));
  assert.equal((await bring(cookies, brought)).status, 400, 'nobody makes the cookie up');
});

test('logins that begin at the provider need idp_initiated, and lead to a place of this server alone', async () => {
  provider.people.set('ines', { groups: ['root'] });
  const refused = new PlainBrowser();
  assert.equal((await bring(refused, await provider.unsolicited('ines'))).status, 400);
  await gateway.reload(configAt(gateway, { ...provider.settings(roles), idp_initiated: true }));
  for (const [relayState, goes] of [
    ['/dashboard/keys', '/dashboard/keys'],
    ['https://evil.example', '/dashboard'],
    ['//evil.example', '/dashboard'],
    ['/dashboard\\@evil.example', '/dashboard'],
    [undefined, '/dashboard'],
  ] as const) {
    const browser = new PlainBrowser();
    const brought = await provider.unsolicited('ines', relayState);
    const response = await bring(browser, brought);
    assert.deepEqual([response.status, response.headers.get('location')], [303, goes], String(relayState));
    assert.equal((await sessionOf(browser)).name, 'ines');
    assert.equal((await bring(new PlainBrowser(), brought)).status, 401, 'once');
  }
  const tried = await logInAs('ines', gateway, { values: () => ({ InResponseTo: '_other' }) });
  await assertRefused(tried, 401, notAccepted);
  await gateway.reload(configAt(gateway, provider.settings(roles)));
});

test('S46 after a login the browser goes to a place of this server alone', async () => {
  provider.people.set('fred', { groups: ['root'] });
  for (const [to, goes] of [
    ['/account', '/account'],
    ['//evil.example', '/dashboard'],
    ['https://evil.example', '/dashboard'],
    ['/dashboard/\r\nset-cookie: a=b', '/dashboard'],
  ] as const) {
    const browser = new PlainBrowser();
    const brought = await samlLogin(browser, 'fred', startOf(gateway, to));
    brought.fields.RelayState = 'https://evil.example';
    assert.equal((await bring(browser, brought)).headers.get('location'), goes, to);
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

test('the provider is configured by fields too, with the next certificate while it changes them', async () => {
  const { certificates } = provider;
  provider.people.set('cora', { groups: ['root'] });
  const fields = {
    entity_id: provider.entityId,
    sso_url: `${provider.url}/sso`,
    certificates: [...certificates, two.cert],
  };
  const other = await gatewayWith({ ...provider.settings(roles), idp: fields, entity_id: 'urn:culvert' });
  await provider.register(other.url);
  assert.equal((await logInAs('cora', other)).response.status, 303);
  assert.equal((await logInAs('cora', other, { key: two })).response.status, 303);
  assert.match(provider.requests.at(-1) ?? '', />urn:culvert</);
  const metadata = await (await fetch(`${provider.url}/metadata`)).text();
  await other.reload(configAt(other, { ...provider.settings(roles), idp: { metadata }, allow_sha1: true }));
  await provider.register(other.url);
  assert.equal((await logInAs('cora', other)).response.status, 303);
  assert.equal((await logInAs('cora', other, { hash: 'sha1' })).response.status, 303, 'where it is allowed');
  await assertRefused(await logInAs('cora', other, { key: two }), 401, notAccepted, other);
  await provider.register(gateway.url);
});

test('the overview and the doctor warn of certificates that end, and of metadata that cannot be read', async () => {
  const signing = { private_key: two.key, certificate: two.cert };
  const other = await gatewayWith({ ...provider.settings(roles), signing });
  type Found = { check: string; state: string; message: string; fix: string | null };
  const read = async (path: string) => {
    const answer = await other.fetch(`/admin/v1/${path}`, { headers: { authorization: `Bearer ${adminKey}` } });
    return (await answer.json()) as { findings: Found[]; wrong: { severity: string; text: string }[] };
  };
  const found = async () => (await read('doctor')).findings.filter(({ check }) => check.startsWith('saml '));
  assert.deepEqual(
    (await found()).map(({ check, state }) => `${check}: ${state}`),
    ['saml certificate: ok', 'saml signing: ok'],
  );
  const idp = { entity_id: provider.entityId, sso_url: `${provider.url}/sso` };
  await other.reload(
    configAt(other, { ...provider.settings(roles), idp: { ...idp, certificates: [endedCertificate] } }),
  );
  const [ended] = await found();
  assert.equal(ended?.state, 'problem');
  assert.match(ended.message, /^The certificate of the identity provider ended on \d{4}-\d\d-\d\d\.$/);
  assert.match(ended.fix ?? '', /add it there/);
  const { wrong } = await read('overview');
  assert.deepEqual(
    wrong.filter(({ text }) => text.includes('certificate')),
    [{ severity: 'problem', text: ended.message, page: 'settings', id: null }],
  );
  await other.reload(
    configAt(other, { ...provider.settings(roles), idp: { ...idp, certificates: [endedCertificate, two.cert] } }),
  );
  assert.deepEqual(
    (await found()).map(({ state }) => state),
    ['ok'],
    'the next one is there',
  );
  const nowhere = { metadata_url: `${provider.url}/nowhere` };
  await other.reload(configAt(other, { ...provider.settings(roles), idp: nowhere }));
  assert.match((await found())[0]?.message ?? '', /^The metadata of the SAML identity provider cannot be read: /);
});

test('requests for logins are signed where a key is given, and the metadata has its certificate', async () => {
  const signing = { private_key: two.key, certificate: two.cert };
  const other = await gatewayWith({ ...provider.settings(roles), signing });
  await provider.register(other.url);
  provider.people.set('carl', { groups: ['root'] });
  const started = await fetch(startOf(other), { redirect: 'manual' });
  const query = new URL(started.headers.get('location') ?? '').searchParams;
  assert.equal(query.get('SigAlg'), 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256');
  assert.equal((await logInAs('carl', other)).response.status, 303, 'the provider has checked the signature');
  await provider.register(gateway.url);
});

test('a session by a provider that is configured no more is over', async () => {
  const own = await gatewayWith(provider.settings(roles));
  await provider.register(own.url);
  provider.people.set('ida', { groups: ['root'] });
  const { browser } = await logInAs('ida', own);
  assert.equal((await sessionOf(browser, own)).kind, 'operator');
  await own.reload({});
  assert.equal((await sessionOf(browser, own)).kind, 'nobody');
  for (const path of ['start', 'metadata']) {
    assert.equal((await fetch(`${own.url}/dashboard/saml/${path}`, { redirect: 'manual' })).status, 404);
  }
  await provider.register(gateway.url);
});

test('a provider that is away is a page that says so, and the next try asks it again', async () => {
  const other = await startSamlProvider();
  after(() => other.close());
  other.isThere = false;
  const away = await gatewayWith(other.settings(roles));
  await other.register(away.url);
  const response = await fetch(startOf(away), { redirect: 'manual' });
  assert.equal(response.status, 502);
  assert.match(await response.text(), /does not answer right now/);
  other.isThere = true;
  other.people.set('paul', { groups: ['root'] });
  const browser = new PlainBrowser();
  const brought = await samlLogin(browser, 'paul', startOf(away));
  assert.equal((await bring(browser, brought)).status, 303);
});

test('an invitation is used up by the address that the provider gives; groups decide nothing then', async () => {
  const json = { role: 'member', accounts: ['dev'], email: 'Mia@example.org', name: 'Mia' };
  assert.equal((await gateway.fetch('/admin/v1/invitations', { ...asAdmin, json })).status, 201);
  provider.people.set('mia', { email: 'mia@example.org' });
  for (const time of ['first', 'again']) {
    const { browser } = await logInAs('mia');
    const session = await sessionOf(browser);
    assert.deepEqual([session.name, session.role, session.accounts], ['Mia', 'member', ['dev']], time);
  }
  assert.deepEqual(await listed('/invitations'), []);
  provider.people.set('mia2', { email: 'mia@example.org' });
  await assertRefused(await logInAs('mia2'), 403, /in none of the groups/);
});

test('a directory that provisions operators decides about those who log in by SAML', async () => {
  const token = 'a-bearer-token-of-the-directory-in-tests';
  const scim = { token, roles: [{ group: 'Team Dev', role: 'member', accounts: ['dev'] }] };
  const other = await gatewayWith(provider.settings(roles), { scim });
  await provider.register(other.url);
  const send = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
    const answer = await fetch(`${other.url}/scim/v2${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return String(((await answer.json()) as { id: string }).id);
  };
  const core = 'urn:ietf:params:scim:schemas:core:2.0';
  const id = await send('/Users', { schemas: [`${core}:User`], userName: 'nora@example.org', active: true });
  provider.people.set('nora@example.org', { groups: ['root'] });
  await assertRefused(await logInAs('nora@example.org', other), 403, /in none of the groups/, other);
  await send('/Groups', { schemas: [`${core}:Group`], displayName: 'Team Dev', members: [{ value: id }] });
  const { browser } = await logInAs('nora@example.org', other);
  const session = await sessionOf(browser, other);
  assert.deepEqual([session.name, session.role, session.accounts], ['nora@example.org', 'member', ['dev']]);
  const [nora] = await listed('/operators', other);
  assert.deepEqual([nora?.login, nora?.managed_by], ['saml', 'scim']);
  provider.people.set('olaf', { groups: ['finance'] });
  assert.equal(
    (await sessionOf((await logInAs('olaf', other)).browser, other)).role,
    'billing',
    'whom it does not know',
  );
  await provider.register(gateway.url);
});

test('ten responses that are refused close an address, as other logins do', async () => {
  const other = await gatewayWith(provider.settings(roles));
  await provider.register(other.url);
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) {
    const browser = new PlainBrowser();
    const brought = await answering({ signs: 'nothing' }, () => samlLogin(browser, 'eve', startOf(other)));
    statuses.push((await bring(browser, brought, '192.0.2.7')).status);
  }
  assert.deepEqual(statuses, [...Array(10).fill(401), 429, 429]);
  await provider.register(gateway.url);
});
