import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayNotGive } from '../../src/admin/roles.ts';
import { acceptInvitation } from '../../src/books/auth/invitations.ts';
import { hashKey } from '../../src/books/auth/key-directory.ts';
import { adminOperator, type Operator, type Role } from '../../src/books/auth/operator.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startMail } from '../start-mail.ts';
import { type OpenAdmin, openAdmin } from './open-admin.ts';

const day = 86_400_000;
const accounts = { accounts: { alpha: {}, bravo: {} } };
const operator = (role: Role, of: readonly string[] | null = null): Operator => ({ name: role, role, accounts: of });

/** By the holder of the admin key. */
async function invite(admin: OpenAdmin, order: object) {
  const { status, json, text } = await admin.call('POST', '/invitations', order, adminOperator);
  assert.equal(status, 201, text);
  return json;
}

/** Accepts as the dashboard does, and knows who that makes. */
async function accept(admin: OpenAdmin, { path }: { path: string }, name?: string) {
  const token = path.slice('/dashboard#invitation='.length);
  const accepted = await acceptInvitation(token, name, { store: admin.store, clock: admin.clock, mayNotGive });
  return isFailure(accepted) ? accepted.kind : accepted;
}

test('an invitation makes one operator, in its role; the list and the audit trail never have its link', async (t) => {
  const admin = await openAdmin(t, accounts);
  const order = { role: 'viewer', accounts: ['alpha'], email: 'anna@example.org' };
  const { path, mail, ...listed } = await invite(admin, order);
  assert.equal(mail, null);
  assert.match(path, /^\/dashboard#invitation=[\w-]{43}$/);
  assert.equal(Date.parse(listed.expires), admin.clock.wallMs() + 7 * day);
  assert.deepEqual((await admin.ok('GET', '/invitations')).data, [listed]);
  const made = await accept(admin, { path }, 'Anna');
  assert.ok(typeof made !== 'string');
  const { key, row } = made;
  const { data } = await admin.ok('GET', '/operators');
  assert.deepEqual(
    data.map((one: Record<string, unknown>) => [one.id, one.name, one.role, one.accounts, one.managed_by]),
    [[row.id, 'Anna', 'viewer', ['alpha'], 'culvert']],
  );
  assert.equal(await accept(admin, { path }, 'Eve'), 'unauthenticated', 'a link works once');
  assert.deepEqual((await admin.ok('GET', '/invitations')).data, []);
  const trail = JSON.stringify(await admin.ok('GET', '/audit'));
  assert.match(trail, /invitation\.accept.*invitation\.create/);
  const token = path.slice(-43);
  assert.doesNotMatch(trail, new RegExp([key, token, hashKey(key), hashKey(token)].join('|')));
  assert.doesNotMatch(JSON.stringify(await admin.store.load()), new RegExp(`${key}|${token}`));
});

test('of many who open one link at once, one becomes an operator', async (t) => {
  const admin = await openAdmin(t);
  const link = await invite(admin, { role: 'viewer' });
  const done = await Promise.all(Array.from({ length: 8 }, (_, at) => accept(admin, link, `Anna ${at}`)));
  assert.equal(done.filter((one) => typeof one !== 'string').length, 1);
  assert.equal((await admin.ok('GET', '/operators')).data.length, 1);
});

test('a link ends by time, by being withdrawn, and with the rights of who invited', async (t) => {
  const admin = await openAdmin(t, accounts);
  const viewer = (of: object = {}) => invite(admin, { role: 'viewer', ...of });
  const short = await viewer({ expires: '1h' });
  admin.clock.advance(3_600_000);
  assert.equal(await accept(admin, short, 'Anna'), 'unauthenticated');
  assert.deepEqual((await admin.ok('GET', '/invitations')).data, []);
  const withdrawn = await viewer();
  await admin.ok('DELETE', `/invitations/${withdrawn.id}`);
  assert.equal(await accept(admin, withdrawn, 'Anna'), 'unauthenticated');
  assert.equal((await admin.refused('DELETE', `/invitations/${withdrawn.id}`))[0], 404);
  const eve = await admin.ok('POST', '/operators', { name: 'Eve', role: 'admin' });
  const asEve = { name: 'Eve', role: 'admin', accounts: null } as const;
  const { json } = await admin.call('POST', '/invitations', { role: 'admin', accounts: ['alpha'] }, asEve);
  await admin.ok('PATCH', `/operators/${eve.id}`, { role: 'viewer' });
  assert.equal(await accept(admin, json, 'Mallory'), 'unauthenticated', 'Eve may not give this any more');
  await admin.ok('PATCH', `/operators/${eve.id}`, { role: 'admin' });
  const named = await viewer({ name: 'Anna' });
  await admin.ok('POST', '/operators', { name: 'Bert', role: 'viewer' });
  assert.equal(await accept(admin, await viewer(), 'Bert'), 'conflict', 'the name is taken');
  assert.equal(await accept(admin, await viewer(), 'admin'), 'invalid-request', 'a reserved name');
  const made = await accept(admin, named, 'another');
  assert.equal(typeof made === 'string' ? made : made.row.name, 'Anna', 'the invitation names them');
});

test('nobody invites to more than they have', async (t) => {
  const admin = await openAdmin(t, accounts);
  const mine = ['alpha'];
  for (const [who, body, status] of [
    [operator('owner'), { role: 'owner' }, 201],
    [operator('owner', mine), { role: 'owner', accounts: mine }, 201],
    [operator('admin', mine), { role: 'admin', accounts: mine }, 201],
    [operator('admin', mine), { role: 'member', accounts: mine }, 201],
    [operator('admin'), { role: 'billing', accounts: ['alpha', 'bravo'] }, 201],
    [operator('admin'), { role: 'viewer' }, 403],
    [operator('admin'), { role: 'owner', accounts: mine }, 403],
    [operator('owner', mine), { role: 'viewer' }, 403],
    [operator('admin', mine), { role: 'viewer' }, 403],
    [operator('admin', mine), { role: 'viewer', accounts: ['bravo'] }, 400],
    [operator('admin', mine), { role: 'viewer', accounts: ['alpha', 'bravo'] }, 400],
    [operator('member', mine), { role: 'member', accounts: mine }, 403],
    [operator('viewer'), { role: 'viewer', accounts: mine }, 403],
    [operator('billing'), { role: 'billing', accounts: mine }, 403],
  ] as const) {
    const label = `${who.role} of ${who.accounts} invites ${JSON.stringify(body)}`;
    assert.equal((await admin.call('POST', '/invitations', body, who)).status, status, label);
  }
  const seen = (await admin.call('GET', '/invitations', undefined, operator('admin', mine))).json.data;
  assert.equal(seen.length, 3, 'those to its own accounts alone');
  const [forOwner] = seen.filter(({ role }: { role: string }) => role === 'owner');
  const withdrawn = await admin.call('DELETE', `/invitations/${forOwner.id}`, undefined, operator('admin', mine));
  assert.equal(withdrawn.status, 403, 'an admin does not withdraw what an owner gave');
});

test('what is wrong with an invitation is said at its field', async (t) => {
  const admin = await openAdmin(t, accounts);
  for (const [body, param] of [
    [{}, 'role'],
    [{ role: 'king' }, 'role'],
    [{ role: 'viewer', accounts: ['nobody'] }, 'accounts'],
    [{ role: 'viewer', accounts: [] }, 'accounts'],
    [{ role: 'viewer', expires: '31d' }, 'expires'],
    [{ role: 'viewer', expires: '2020-01-01' }, 'expires'],
    [{ role: 'viewer', email: 'anna' }, 'email'],
    [{ role: 'viewer', name: 'cli' }, 'name'],
  ] as const) {
    const refused = await admin.refused('POST', '/invitations', body);
    assert.deepEqual(refused.slice(0, 2), [400, param], JSON.stringify(body));
  }
});

test('an admin of an account changes and removes its members, and no others', async (t) => {
  const admin = await openAdmin(t, accounts);
  const made = async (name: string, role: Role, of: readonly string[] | null) =>
    (await admin.ok('POST', '/operators', { name, role, accounts: of })) as { id: string; key: string };
  const anna = await made('Anna', 'viewer', ['alpha']);
  const both = await made('Both', 'viewer', ['alpha', 'bravo']);
  const bert = await made('Bert', 'viewer', ['bravo']);
  const boss = await made('Boss', 'owner', ['alpha']);
  const all = await made('All', 'viewer', null);
  const mine = operator('admin', ['alpha']);
  const as = (method: 'GET' | 'PATCH' | 'DELETE', path: string, body?: object) => admin.call(method, path, body, mine);
  const listed = async () =>
    (await as('GET', '/members')).json.data.map(({ name, role, accounts: of }: Record<string, unknown>) => [
      name,
      role,
      of,
    ]);
  assert.deepEqual(await listed(), [
    ['Anna', 'viewer', ['alpha']],
    ['Boss', 'owner', ['alpha']],
    ['Both', 'viewer', ['alpha']],
  ]);
  assert.equal((await as('PATCH', `/members/${anna.id}`, { role: 'member' })).status, 200);
  for (const [id, body, status] of [
    [anna.id, { role: 'owner' }, 403],
    [boss.id, { role: 'viewer' }, 403],
    [both.id, { role: 'member' }, 403],
    [bert.id, { role: 'member' }, 404],
    [all.id, { role: 'member' }, 404],
  ] as const) {
    assert.equal((await as('PATCH', `/members/${id}`, body)).status, status, JSON.stringify([id, body]));
  }
  for (const [id, status] of [
    [boss.id, 403],
    [bert.id, 404],
    [all.id, 404],
    [anna.id, 200],
    [both.id, 200],
  ] as const) {
    assert.equal((await as('DELETE', `/members/${id}`)).status, status, id);
  }
  assert.deepEqual(await listed(), [['Boss', 'owner', ['alpha']]]);
  assert.ok(isFailure(admin.ring.authenticateAdmin({ authorization: `Bearer ${anna.key}` })), 'removed with its key');
  const left = admin.ring.authenticateAdmin({ authorization: `Bearer ${both.key}` });
  assert.deepEqual('accounts' in left && left.accounts, ['bravo'], 'a member of another account stays there');
});

test('two admins who remove a member of both their accounts at one time leave it none', async (t) => {
  const admin = await openAdmin(t, accounts);
  const { id } = await admin.ok('POST', '/operators', { name: 'Both', role: 'viewer', accounts: ['alpha', 'bravo'] });
  const remove = (account: string) => admin.call('DELETE', `/members/${id}`, undefined, operator('admin', [account]));
  const { apply } = admin.store;
  let other: Promise<unknown> | null = null;
  admin.store.apply = async (...change: Parameters<typeof apply>) => {
    admin.store.apply = apply;
    other = remove('bravo');
    await other;
    return apply.call(admin.store, ...change);
  };
  assert.equal((await remove('alpha')).status, 200);
  assert.equal(((await other) as unknown as { status: number }).status, 200);
  assert.deepEqual((await admin.ok('GET', '/operators')).data, [], 'a member of nothing is removed');
});

interface Reply {
  path: string;
  mail: { sent: boolean; reason: string | null };
  error: { message: string };
}

test('a link goes by mail where the server can send it; what cannot be sent is said, and the link is shown too', async (t) => {
  const mail = await startMail(t, 1);
  const server = { smtp: mail.smtp, public_url: 'https://ai.example.org/' };
  const invited = async (config: Record<string, unknown>, order: object) => {
    const { url } = await startGateway(t, config);
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const once = async () => {
      const answer = await fetch(`${url}/admin/v1/invitations`, {
        method: 'POST',
        headers,
        body: JSON.stringify(order),
      });
      return { status: answer.status, json: (await answer.json()) as Reply };
    };
    return { first: await once(), once };
  };
  const anna = { role: 'viewer', accounts: ['dev'], email: 'anna@example.org', mail: true };
  const config = { accounts: { dev: {} } };
  const { first, once } = await invited({ ...config, server }, anna);
  assert.equal(first.status, 201);
  assert.deepEqual([first.json.mail.sent, mail.mails.length], [false, 0]);
  assert.match(String(first.json.mail.reason), /451/);
  assert.match(first.json.path, /^\/dashboard#invitation=/);
  const { json } = await once();
  assert.deepEqual(json.mail, { sent: true, reason: null });
  const [letter] = mail.mails;
  assert.deepEqual(letter!.to, ['anna@example.org']);
  assert.match(letter!.text, /Subject: Culvert: admin invites you/);
  // Quoted-printable writes = as =3D.
  assert.ok(letter!.text.replaceAll('=3D', '=').includes(`https://ai.example.org${json.path}`));

  for (const [lacks, given, order] of [
    [/^mail: .*server\.smtp/, { public_url: 'https://ai.example.org' }, anna],
    [/^mail: .*server\.public_url/, { smtp: mail.smtp }, anna],
    [/^email: expected the address/, server, { ...anna, email: undefined }],
  ] as const) {
    const { status, json } = (await invited({ ...config, server: given }, order)).first;
    assert.equal(status, 400);
    assert.match(json.error.message, lacks);
  }
  assert.equal(mail.mails.length, 1);
});
