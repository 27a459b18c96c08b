import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertWithin } from '../machine-load.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { PlainBrowser, startOpenIdProvider } from '../start-openid-provider.ts';

const token = 'a-bearer-token-of-the-directory-in-tests';
const provider = await startOpenIdProvider({ claims: 'userinfo' });
after(() => provider.close());
const gateway = await startGateway(
  { after: after as never },
  {
    accounts: { dev: {}, acme: {} },
    dashboard: {
      oidc: provider.settings([{ group: 'nobody-at-all', role: 'viewer' }]),
      scim: {
        token,
        roles: [
          { group: 'Culvert Owners', role: 'owner' },
          { group: 'Team Dev', role: 'member', accounts: ['dev'] },
          { group: 'Team Acme', role: 'member', accounts: ['acme'] },
        ],
      },
    },
  },
);
await provider.register(gateway.url);

type Json = Record<string, unknown>;

async function scim(method: string, path: string, body?: unknown, given = token) {
  const response = await fetch(`${gateway.url}/scim/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${given}`, 'content-type': 'application/scim+json; charset=utf-8' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (text !== '') assert.equal(response.headers.get('content-type'), 'application/scim+json');
  return { status: response.status, json: (text === '' ? {} : JSON.parse(text)) as Json };
}

const asAdmin = { headers: { authorization: `Bearer ${adminKey}` } };
const listed = async (path: string) =>
  ((await (await gateway.fetch(`/admin/v1${path}`, asAdmin)).json()) as { data: Json[] }).data;
const rightsOf = async (name: string) => {
  const found = (await listed('/operators')).find((one) => one.name === name);
  return found === undefined ? null : [found.role, found.accounts, found.managed_by];
};

const patchOp = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

async function newUser(userName: string): Promise<string> {
  const { status, json } = await scim('POST', '/Users', { schemas: [userSchema], userName, active: true });
  assert.equal(status, 201, JSON.stringify(json));
  return String(json.id);
}

async function newGroup(displayName: string, members: string[] = []): Promise<string> {
  const body = { schemas: [groupSchema], displayName, members: members.map((value) => ({ value })) };
  const { status, json } = await scim('POST', '/Groups', body);
  assert.equal(status, 201, JSON.stringify(json));
  return String(json.id);
}

/** Through the provider's login; null: refused. */
async function logInAs(person: string) {
  provider.people.set(person, { verified: true });
  const browser = new PlainBrowser();
  const start = `${gateway.url}/dashboard/oidc/start?to=/dashboard`;
  const response = await browser.fetch(await browser.logInAs(person, start, `${gateway.url}/dashboard/oidc/callback`));
  if (response.status !== 303) return null;
  const session = async () => (await (await browser.fetch(`${gateway.url}/dashboard/session`)).json()) as Json;
  return { session };
}

test('as Entra ID provisions: found by name, created, in a group, deactivated, with its sessions, and back', async () => {
  const missing = await scim('GET', `/Users?filter=${encodeURIComponent('userName eq "anna@example.org"')}`);
  assert.deepEqual([missing.status, missing.json.totalResults, missing.json.Resources], [200, 0, []]);
  const created = await scim('POST', '/Users', {
    schemas: [userSchema, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
    externalId: '58342554-38d6-4ec8-948c-50044d0a33fd',
    userName: 'Anna@example.org',
    active: true,
    displayName: 'Anna',
    emails: [{ primary: true, type: 'work', value: 'anna@example.org' }],
    meta: { resourceType: 'User' },
    name: { formatted: 'Anna B', familyName: 'B', givenName: 'Anna' },
  });
  assert.equal(created.status, 201);
  const id = String(created.json.id);
  assert.equal((created.json.meta as Json).location, `${gateway.url}/scim/v2/Users/${id}`);
  assert.equal(await rightsOf('Anna@example.org'), null, 'without a group it may nothing');
  assert.equal(await logInAs('anna'), null);
  const again = await scim('POST', '/Users', { schemas: [userSchema], userName: 'anna@example.org' });
  assert.deepEqual([again.status, again.json.scimType, again.json.status], [409, 'uniqueness', '409']);

  const group = await newGroup('Team Dev');
  const member = { op: 'Add', path: 'members', value: [{ $ref: null, value: id }] };
  assert.equal((await scim('PATCH', `/Groups/${group}`, { schemas: [patchOp], Operations: [member] })).status, 200);
  assert.deepEqual(await rightsOf('Anna@example.org'), ['member', ['dev'], 'scim']);
  const browser = await logInAs('anna');
  assert.deepEqual(
    [(await browser?.session())?.name, (await browser?.session())?.role],
    ['Anna@example.org', 'member'],
  );
  const lean = await scim('GET', `/Groups/${group}?excludedAttributes=members`);
  assert.deepEqual([lean.status, 'members' in lean.json], [200, false]);

  const off = { op: 'Replace', path: 'active', value: 'False' };
  const patched = await scim('PATCH', `/Users/${id}`, { schemas: [patchOp], Operations: [off] });
  assert.deepEqual([patched.status, patched.json.active], [200, false]);
  assert.equal((await browser?.session())?.kind, 'nobody', 'its sessions end at once');
  assert.equal(await rightsOf('Anna@example.org'), null);
  assert.equal(await logInAs('anna'), null);
  const renamed = [
    { op: 'Replace', path: 'active', value: 'True' },
    { op: 'Replace', path: 'name.givenName', value: 'Ann' },
    { op: 'Replace', path: 'emails[type eq "work"].value', value: 'ann@example.org' },
  ];
  const { json } = await scim('PATCH', `/Users/${id}`, { schemas: [patchOp], Operations: renamed });
  assert.deepEqual([(json.name as Json).givenName, (json.emails as Json[])[0]?.value], ['Ann', 'ann@example.org']);
  assert.deepEqual(await rightsOf('Anna@example.org'), ['member', ['dev'], 'scim']);
  const left = { op: 'Remove', path: 'members', value: [{ value: id }] };
  await scim('PATCH', `/Groups/${group}`, { schemas: [patchOp], Operations: [left] });
  assert.equal(await rightsOf('Anna@example.org'), null);
  const trail = (await listed('/audit')).map(({ action }) => action);
  for (const action of ['scim-user.create', 'scim-user.update', 'scim-group.create', 'scim-group.update']) {
    assert.ok(trail.includes(action), action);
  }
});

test('as Okta provisions: PUT of the whole user, groups replaced and renamed, deactivation without a path', async () => {
  const id = await newUser('bert@example.org');
  const group = await newGroup('Team Acme', [id]);
  const other = await newGroup('Elsewhere', [id]);
  assert.deepEqual(await rightsOf('bert@example.org'), ['member', ['acme'], 'scim']);
  const whole = { schemas: [userSchema], id, userName: 'bert@example.org', name: { givenName: 'Bert' }, active: true };
  assert.equal((await scim('PUT', `/Users/${id}`, whole)).status, 200);
  const rename = { op: 'replace', value: { id: other, displayName: 'Culvert Owners' } };
  await scim('PATCH', `/Groups/${other}`, { schemas: [patchOp], Operations: [rename] });
  assert.deepEqual(await rightsOf('bert@example.org'), ['owner', null, 'scim'], 'the first line that fits');
  const replaced = { op: 'replace', path: 'members', value: [] };
  await scim('PATCH', `/Groups/${other}`, { schemas: [patchOp], Operations: [replaced] });
  assert.deepEqual(await rightsOf('bert@example.org'), ['member', ['acme'], 'scim']);
  const removed = { op: 'remove', path: `members[value eq "${id}"]` };
  await scim('PATCH', `/Groups/${group}`, { schemas: [patchOp], Operations: [removed] });
  assert.equal(await rightsOf('bert@example.org'), null);
  await scim('PATCH', `/Groups/${group}`, {
    schemas: [patchOp],
    Operations: [{ op: 'add', path: 'members', value: [{ value: id, display: 'bert' }] }],
  });
  const browser = await logInAs('bert');
  assert.equal((await browser?.session())?.kind, 'operator');
  await scim('PATCH', `/Users/${id}`, {
    schemas: [patchOp],
    Operations: [{ op: 'replace', value: { active: false } }],
  });
  assert.equal((await browser?.session())?.kind, 'nobody');
  assert.equal((await scim('DELETE', `/Groups/${group}`)).status, 204);
  assert.equal((await scim('DELETE', `/Users/${id}`)).status, 204);
  assert.equal((await scim('GET', `/Users/${id}`)).status, 404);
});

test('nobody else logs in under the name of a user who has logged in once, nor sets whose login it is', async () => {
  const id = await newUser('carl@example.org');
  await newGroup('Team Dev 2');
  const groups = (await scim('GET', `/Groups?filter=${encodeURIComponent('displayName eq "team dev"')}`)).json;
  const [dev] = groups.Resources as { id: string }[];
  const add = { schemas: [patchOp], Operations: [{ op: 'add', path: 'members', value: [{ value: id }] }] };
  await scim('PATCH', `/Groups/${dev?.id}`, add);
  const bound = { issuer: provider.issuer, subject: 'mallory' };
  const written = await scim('PUT', `/Users/${id}`, { schemas: [userSchema], userName: 'carl@example.org', bound });
  assert.ok(!JSON.stringify(written.json).includes('mallory'));
  assert.equal((await (await logInAs('carl'))?.session())?.name, 'carl@example.org');
  provider.people.set('mallory', { verified: true, name: 'carl@example.org' });
  const browser = new PlainBrowser();
  const callback = `${gateway.url}/dashboard/oidc/callback`;
  const back = await browser.logInAs('mallory', `${gateway.url}/dashboard/oidc/start?to=/dashboard`, callback);
  assert.equal((await browser.fetch(back)).status, 403);
  const change = { method: 'PATCH', ...asAdmin, json: { role: 'owner' } };
  const operator = (await listed('/operators')).find(({ name }) => name === 'carl@example.org');
  assert.equal(
    (await gateway.fetch(`/admin/v1/operators/${operator?.id}`, change)).status,
    409,
    'the directory decides',
  );
});

test('what changes at one time is all there, and a deactivated user stays so', async () => {
  const ids = await Promise.all(Array.from({ length: 6 }, (_, at) => newUser(`many${at}@example.org`)));
  const group = await newGroup('Team Many');
  const rename = { op: 'replace', path: 'displayName', value: 'Team Acme' };
  await scim('PATCH', `/Groups/${group}`, { schemas: [patchOp], Operations: [rename] });
  const add = (id: string) => ({ op: 'add', path: 'members', value: [{ value: id }] });
  const answers = await Promise.all([
    ...ids.map((id) => scim('PATCH', `/Groups/${group}`, { schemas: [patchOp], Operations: [add(id)] })),
    scim('PATCH', `/Users/${ids[0]}`, {
      schemas: [patchOp],
      Operations: [{ op: 'replace', path: 'active', value: false }],
    }),
  ]);
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  const { members } = (await scim('GET', `/Groups/${group}`)).json as { members: { value: string }[] };
  assert.deepEqual(members.map(({ value }) => value).sort(), [...ids].sort());
  assert.equal(await rightsOf('many0@example.org'), null);
  assert.deepEqual(await rightsOf('many5@example.org'), ['member', ['acme'], 'scim']);
  const page = (await scim('GET', '/Users?startIndex=2&count=3')).json;
  assert.deepEqual([page.startIndex, page.itemsPerPage, (page.Resources as Json[]).length], [2, 3, 3]);
});

test('a removed user is in no group, and lookups by names and addresses ignore case', async () => {
  const { status, json } = await scim('POST', '/Users', {
    schemas: [userSchema],
    userName: 'zoe@example.org',
    displayName: 'Zoë Ö',
    emails: [{ value: 'Zoe.O@example.org', type: 'work', primary: true }],
  });
  assert.equal(status, 201);
  const found = async (kind: string, filter: string) =>
    (await scim('GET', `/${kind}?filter=${encodeURIComponent(filter)}`)).json.totalResults;
  assert.equal(await found('Users', 'emails[type eq "work"].value eq "zoe.o@EXAMPLE.org"'), 1);
  assert.equal(await found('Users', 'displayName eq "zoë ö"'), 1);
  assert.equal(await found('Users', 'displayName eq "zoe@example.org"'), 0);
  assert.equal(await found('Users', 'userName eq "ZOE@example.org"'), 1);
  const stays = await newUser('yves@example.org');
  const later = String((json.meta as Json).lastModified);
  for (const [filter, count] of [
    ['userName sw "ZOE@" and active eq true', 1],
    ['userName sw "zoe@" and active eq False', 0],
    ['userName eq "zoe@example.org" or userName eq "yves@example.org"', 2],
    // "and" before "or".
    ['userName eq "yves@example.org" or userName eq "zoe@example.org" and displayName pr', 2],
    ['(userName eq "yves@example.org" or userName sw "zoe") and displayName pr', 1],
    ['userName co "ZOE" and not (displayName co "zo\u00eb")', 0],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName ew "oe@example.org"', 1],
    ['emails[type eq "work" and value sw "zoe.o"]', 1],
    ['emails[type eq "home"].value eq "zoe.o@example.org"', 0],
    ['emails co "zoe.o@" and externalId ne "x"', 1],
    [`meta.lastModified ge "${later}" and userName sw "zoe"`, 1],
    [`id eq "${String(json.id).toUpperCase()}"`, 0],
  ] as const)
    assert.equal(await found('Users', filter), count, filter);
  const group = await newGroup('Team Zoo', [String(json.id), stays]);
  assert.equal(await found('Groups', 'displayName eq "team zoo"'), 1);
  // As Entra ID looks whether a group has a member.
  assert.equal(await found('Groups', `id eq "${group}" and members eq "${stays}"`), 1);
  assert.equal(await found('Groups', `members[value eq "usr_nobody"]`), 0);
  assert.equal((await scim('DELETE', `/Users/${json.id}`)).status, 204);
  const { members } = (await scim('GET', `/Groups/${group}`)).json;
  assert.deepEqual(
    (members as Json[]).map(({ value }) => value),
    [stays],
  );
});

test('the server describes itself, and refuses what it does not understand in the words of SCIM', async () => {
  const { json: config } = await scim('GET', '/ServiceProviderConfig');
  assert.deepEqual([config.patch, config.bulk && (config.bulk as Json).supported], [{ supported: true }, false]);
  assert.equal((await scim('GET', '/ResourceTypes')).json.totalResults, 2);
  assert.equal((await scim('GET', '/Schemas')).json.totalResults, 2);
  const id = await newUser('dora@example.org');
  for (const [method, path, body, status, type] of [
    ...[
      'userName',
      'userName co',
      'userName co a',
      'userName is "a"',
      '(userName pr',
      'userName pr)',
      'not userName pr',
    ].map((filter) => ['GET', `/Users?filter=${encodeURIComponent(filter)}`, undefined, 400, 'invalidFilter'] as const),
    ['GET', `/Users?filter=${'('.repeat(1_025)}`, undefined, 400, 'invalidFilter'],
    ['GET', '/Users?filter=a%20toString%20%22a%22', undefined, 400, 'invalidFilter'],
    ['GET', '/Users?startIndex=x', undefined, 400, 'invalidValue'],
    ['POST', '/Users', {}, 400, 'invalidValue'],
    ['POST', '/Users', { userName: 7 }, 400, 'invalidValue'],
    ['POST', '/Groups', { displayName: 'x', members: [7] }, 400, 'invalidValue'],
    ['PATCH', `/Users/${id}`, { Operations: 'x' }, 400, 'invalidValue'],
    ['PATCH', `/Users/${id}`, { Operations: [{ op: 'move' }] }, 400, 'invalidValue'],
    ['PATCH', `/Users/${id}`, { Operations: [{ op: 'replace', path: 'a b', value: 1 }] }, 400, 'invalidValue'],
    ['PATCH', `/Users/${id}`, { Operations: [{ op: 'replace', path: 'active', value: 'maybe' }] }, 400, 'invalidValue'],
    ['PATCH', '/Users/usr_none', { Operations: [] }, 404, undefined],
    ['PUT', '/Users', { userName: 'x' }, 404, undefined],
    ['GET', '/Bulk', undefined, 404, undefined],
    ['GET', '/Users/__proto__', undefined, 404, undefined],
  ] as const) {
    const answer = await scim(method, path, body);
    assert.deepEqual(
      [answer.status, answer.json.scimType],
      [status, type],
      `${method} ${path} ${JSON.stringify(body)}`,
    );
    assert.deepEqual(answer.json.schemas, ['urn:ietf:params:scim:api:messages:2.0:Error']);
  }
});

test('two people whose names look the same in lists come into one group at once, each with a name', async () => {
  const ids = [await newUser('sam@example.org'), await newUser('s#am@example.org')];
  const found = await scim('GET', `/Groups?filter=${encodeURIComponent('displayName eq "Team Acme"')}`);
  const [{ id: group }] = found.json.Resources as [Json];
  const value = ids.map((id) => ({ value: id }));
  const added = { schemas: [patchOp], Operations: [{ op: 'add', path: 'members', value }] };
  assert.equal((await scim('PATCH', `/Groups/${group}`, added)).status, 200);
  const names = (await listed('/operators')).map(({ name }) => String(name)).filter((name) => name.startsWith('sam@'));
  assert.equal(new Set(names).size, 2, names.join(', '));
});

test('members with the ids of operators that no directory provisioned leave those as they are', async () => {
  const json = { name: 'boss', role: 'owner' };
  const made = (await (
    await gateway.fetch('/admin/v1/operators', { method: 'POST', ...asAdmin, json })
  ).json()) as Json;
  const [dev] = (await scim('GET', `/Groups?filter=${encodeURIComponent('displayName eq "Team Dev"')}`)).json
    .Resources as { id: string }[];
  const user = await newUser('eve@example.org');
  const add = (value: string) => ({ op: 'add', path: 'members', value: [{ value }] });
  await scim('PATCH', `/Groups/${dev?.id}`, { schemas: [patchOp], Operations: [add(user)] });
  const suffix = (id: unknown) => String(id).slice(String(id).indexOf('_') + 1);
  await newGroup('Evil', [`usr_${suffix(made.id)}`, `xyz_${suffix(made.id)}`, `grp_${suffix(user)}`]);
  assert.deepEqual(await rightsOf('boss'), ['owner', null, 'culvert']);
  assert.deepEqual(await rightsOf('eve@example.org'), ['member', ['dev'], 'scim']);
});

test('changes of a user keep what they do not name, and find elements by any filter', async () => {
  const home = { value: 'home@example.org', type: 'home' };
  const { json: made } = await scim('POST', '/Users', {
    UserName: 'finn@example.org',
    name: { givenName: 'Finn', familyName: 'F' },
    emails: [{ value: 'work@example.org', type: 'work', primary: true }],
  });
  const change = async (...Operations: Json[]) => {
    const { status, json } = await scim('PATCH', `/Users/${made.id}`, { schemas: [patchOp], Operations });
    assert.equal(status, 200, JSON.stringify(json));
    return json as { name: Json; emails: Json[]; active: boolean };
  };
  const added = { op: 'add', path: 'emails', value: [home] };
  await change(added);
  assert.deepEqual(
    (await change(added, { op: 'replace', value: { name: { givenName: 'Fin' } } })).emails.map(({ value }) => value),
    ['work@example.org', 'home@example.org'],
  );
  const path = 'emails[type eq "WORK" and primary eq True].value';
  const changed = await change(
    { op: 'replace', path, value: 'new@example.org' },
    { op: 'replace', value: { Active: false } },
  );
  assert.deepEqual(changed.name, { givenName: 'Fin', familyName: 'F' });
  assert.deepEqual([changed.emails[0]?.value, changed.active], ['new@example.org', false]);
  const other = await change({
    op: 'add',
    path: 'emails[type eq "other" and primary eq False].value',
    value: 'o@example.org',
  });
  assert.deepEqual(other.emails.at(-1), { value: 'o@example.org', type: 'other', primary: false });
  const nowhere = [{ op: 'replace', path: 'emails[type sw "z"].value', value: 'x' }];
  assert.equal((await scim('PATCH', `/Users/${made.id}`, { schemas: [patchOp], Operations: nowhere })).status, 400);
  // A whole user without `active` does not bring a deactivated one back.
  const put = await scim('PUT', `/Users/${made.id}`, { userName: 'finn@example.org' });
  assert.equal(put.json.active, false);
  assert.equal(
    (await scim('PUT', `/Users/${made.id}`, { userName: 'finn@example.org', Active: true })).json.active,
    true,
  );
  assert.equal(
    (await scim('PUT', `/Users/${made.id}`, { userName: 'finn@example.org', ACTIVE: 'False' })).json.active,
    false,
  );
});

test('addresses that the server gives lead to what they name, and times compare as moments', async () => {
  const response = await fetch(`${gateway.url}/scim/v2/Users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
    body: JSON.stringify({ userName: 'gina@example.org' }),
  });
  const { meta } = (await response.json()) as { meta: { location: string; lastModified: string } };
  assert.equal(response.headers.get('location'), meta.location);
  for (const kind of ['ResourceTypes', 'Schemas']) {
    for (const one of (await scim('GET', `/${kind}`)).json.Resources as { id: string; meta: Json }[]) {
      const path = String(one.meta.location).slice(`${gateway.url}/scim/v2`.length);
      assert.deepEqual((await scim('GET', path)).json, one);
    }
    assert.equal((await scim('GET', `/${kind}/none`)).status, 404);
  }
  const atMs = Math.floor(Date.parse(meta.lastModified) / 1000) * 1000;
  const east = new Date(atMs + 2 * 3_600_000).toISOString().replace('.000Z', '+02:00');
  const west = new Date(atMs - 2 * 3_600_000 + 1000).toISOString().replace('.000Z', '-02:00');
  for (const [filter, count] of [
    [`meta.lastModified ge "${east}"`, 1],
    [`meta.lastModified ge "${west}"`, 0],
    [`meta.lastModified lt "${west}"`, 1],
  ] as const) {
    const found = await scim('GET', `/Users?filter=${encodeURIComponent(`${filter} and userName sw "gina"`)}`);
    assert.equal(found.json.totalResults, count, filter);
  }
});

test('a thousand operations at a large group do not hold up other requests', async () => {
  const id = (at: number) => `usr_${String(at).padStart(12, '0')}`;
  const group = await newGroup(
    'Team Large',
    Array.from({ length: 3_000 }, (_, at) => id(at)),
  );
  const one = (at: number, op: string) => ({ op, path: `members[value eq "${id(at)}"]` });
  const Operations = Array.from({ length: 1_000 }, (_, at) => one(at, at % 2 === 0 ? 'remove' : 'add'));
  const usedUs = process.cpuUsage();
  const { json } = await scim('PATCH', `/Groups/${group}`, { schemas: [patchOp], Operations });
  const { user } = process.cpuUsage(usedUs);
  assert.equal((json.members as Json[]).length, 2_500);
  assertWithin(user / 1000, 250, 'a thousand operations');
});

test('a login that the directory decides about ends the sessions from before the directory', async (t) => {
  const accounts = { accounts: { dev: {} } };
  const oidc = provider.settings([{ group: '*', role: 'owner' }]);
  const other = await startGateway(t, { ...accounts, dashboard: { oidc } });
  await provider.register(other.url);
  provider.people.set('ivy', { verified: true, name: 'ivy@example.org' });
  const logIn = async () => {
    const browser = new PlainBrowser();
    const start = `${other.url}/dashboard/oidc/start?to=/dashboard`;
    await browser.fetch(await browser.logInAs('ivy', start, `${other.url}/dashboard/oidc/callback`));
    return async () => (await (await browser.fetch(`${other.url}/dashboard/session`)).json()) as Json;
  };
  const before = await logIn();
  assert.equal((await before()).role, 'owner');
  const roles = [{ group: 'Team', role: 'viewer' }];
  await other.reload({ ...accounts, dashboard: { oidc, scim: { token, roles } } });
  const send = async (path: string, body: Json) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await (await fetch(`${other.url}/scim/v2${path}`, init)).json()) as Json;
  };
  const { id } = await send('/Users', { userName: 'ivy@example.org' });
  await send('/Groups', { displayName: 'Team', members: [{ value: id }] });
  const after = await logIn();
  assert.deepEqual([(await after()).role, (await after()).name], ['viewer', 'ivy@example.org']);
  assert.equal((await before()).kind, 'nobody', 'rights of its groups at the provider no longer count');
});

for (const how of ['deactivated', 'removed'] as const) {
  test(`a user who is ${how} before a login under the directory keeps no session from before it`, async (t) => {
    const oidc = provider.settings([{ group: '*', role: 'owner' }]);
    const other = await startGateway(t, {
      dashboard: { oidc, scim: { token, roles: [{ group: 'Team', role: 'owner' }] } },
    });
    await provider.register(other.url);
    const logIn = async (person: string) => {
      provider.people.set(person, { verified: true, name: `${person}@example.org` });
      const browser = new PlainBrowser();
      const start = `${other.url}/dashboard/oidc/start?to=/dashboard`;
      await browser.fetch(await browser.logInAs(person, start, `${other.url}/dashboard/oidc/callback`));
      return async () => ((await (await browser.fetch(`${other.url}/dashboard/session`)).json()) as Json).kind;
    };
    const sessions = [await logIn('jan'), await logIn('kim')];
    const send = async (method: string, path: string, body?: Json) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
      const response = await fetch(`${other.url}/scim/v2${path}`, { method, headers, body: JSON.stringify(body) });
      return (response.status === 204 ? {} : await response.json()) as Json;
    };
    const { id } = await send('POST', '/Users', { userName: 'Jan@example.org' });
    assert.deepEqual([await sessions[0]!(), await sessions[1]!()], ['operator', 'operator']);
    if (how === 'removed') await send('DELETE', `/Users/${String(id)}`);
    else await send('PUT', `/Users/${String(id)}`, { userName: 'Jan@example.org', active: false });
    assert.deepEqual([await sessions[0]!(), await sessions[1]!()], ['nobody', 'operator']);
  });
}

test('other roles of groups count for sessions that run', async (t) => {
  const oidc = provider.settings([{ group: 'nobody', role: 'viewer' }]);
  const configOf = (roles: object[]) => ({ accounts: { dev: {} }, dashboard: { oidc, scim: { token, roles } } });
  const other = await startGateway(t, configOf([{ group: 'Team', role: 'owner' }]));
  await provider.register(other.url);
  const send = async (path: string, body: Json) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await (await fetch(`${other.url}/scim/v2${path}`, init)).json()) as Json;
  };
  const { id } = await send('/Users', { userName: 'lea@example.org' });
  await send('/Groups', { displayName: 'Team', members: [{ value: id }] });
  provider.people.set('lea', { verified: true, name: 'lea@example.org' });
  const browser = new PlainBrowser();
  const start = `${other.url}/dashboard/oidc/start?to=/dashboard`;
  await browser.fetch(await browser.logInAs('lea', start, `${other.url}/dashboard/oidc/callback`));
  const session = async () => (await (await browser.fetch(`${other.url}/dashboard/session`)).json()) as Json;
  const operators = async () => (await browser.fetch(`${other.url}/admin/v1/operators`)).status;
  assert.equal((await session()).role, 'owner');
  assert.equal(await operators(), 200);
  await other.reload(configOf([{ group: 'Team', role: 'member', accounts: ['dev'] }]));
  assert.equal(await operators(), 403);
  assert.equal((await session()).role, 'member');
  await other.reload(configOf([{ group: 'Others', role: 'owner' }]));
  assert.equal(await operators(), 401);
  assert.equal((await session()).kind, 'nobody');
});

test('only the token of the directory opens it, and wrong ones close an address', async () => {
  for (const given of ['', 'x'.repeat(40), adminKey, `${token}x`]) {
    assert.equal((await scim('GET', '/Users', undefined, given)).status, 401, given);
  }
  assert.equal((await gateway.fetch('/admin/v1/keys', { headers: { authorization: `Bearer ${token}` } })).status, 401);
  const answers: number[] = [];
  for (let tries = 0; tries < 12; tries += 1) answers.push((await scim('GET', '/Users', undefined, 'wrong')).status);
  assert.equal(answers.at(-1), 429);
  assert.equal((await scim('GET', '/Users')).status, 200, 'the right one goes on to work');
});
