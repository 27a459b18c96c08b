import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdminMethod } from '../../src/admin/admin-api.ts';
import { areas, notAllowed, roles } from '../../src/admin/roles.ts';
import type { Operator, Role } from '../../src/books/auth/operator.ts';
import { reservationRow, usageEvent } from '../stores/rows.ts';
import { upsert } from '../stores/vector-suite.ts';
import { openAdmin } from './open-admin.ts';

const operator = (role: Role, accounts: readonly string[] | null = null): Operator => ({ name: role, role, accounts });

test('a role may what its line of the table says, and a refusal names those that may', async (t) => {
  const admin = await openAdmin(t);
  for (const [role, method, path, status] of [
    ['owner', 'POST', '/accounts', 201],
    ['admin', 'POST', '/accounts', 201],
    ['billing', 'POST', '/accounts', 201],
    ['viewer', 'POST', '/accounts', 403],
    ['viewer', 'GET', '/accounts', 200],
    ['viewer', 'GET', '/requests', 200],
    ['billing', 'GET', '/requests', 403],
    ['billing', 'GET', '/usage.csv', 200],
    ['billing', 'GET', '/config', 403],
    ['viewer', 'POST', '/config/reload', 403],
    ['billing', 'POST', '/keys', 403],
  ] as const) {
    const body = method === 'POST' ? {} : undefined;
    assert.equal((await admin.call(method, path, body, operator(role))).status, status, `${role} ${method} ${path}`);
  }
  const { json } = await admin.call('POST', '/keys', {}, operator('viewer'));
  assert.equal(
    json.error.message,
    "The operator 'viewer' has the role viewer, which may not change keys. These roles may: owner, admin, member.",
  );
});

test('owners may everything, viewers and billing never change keys, operators or settings', () => {
  for (const area of areas) {
    assert.equal(notAllowed(operator('owner'), area, 'write'), null, area);
    assert.notEqual(notAllowed(operator('viewer'), area, 'write'), null, area);
    for (const role of roles) {
      if (notAllowed(operator(role), area, 'write') === null)
        assert.equal(notAllowed(operator(role), area, 'read'), null);
    }
  }
  for (const area of ['keys', 'operators', 'settings', 'providers', 'vectors'] as const) {
    assert.notEqual(notAllowed(operator('billing'), area, 'write'), null, area);
  }
  assert.notEqual(notAllowed(operator('admin'), 'operators', 'write'), null);
  assert.notEqual(notAllowed(operator('owner', ['dev']), 'plans', 'write'), null, 'plans are everybody’s');
});

/** Everything of account `bravo` has this in its name. */
const other = 'bravo';
const mine = operator('owner', ['alpha']);
const ofAlpha = roles.map((role) => operator(role, ['alpha']));

const roleOfGroups = [
  { group: 'all', role: 'owner' },
  { group: 'team-a', role: 'viewer', accounts: ['alpha', 'bravo'] },
  { group: 'team-bravo', role: 'viewer', accounts: ['bravo'] },
];

/** Two accounts with a key each, requests, vectors and changes. */
async function twoAccounts(t: { after(fn: () => unknown): void }) {
  const admin = await openAdmin(t, {
    accounts: { alpha: {}, bravo: { name: 'bravo Inc.' } },
    providers: { up: { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' } },
    models: { secretive: { targets: ['up/x'], only: { accounts: ['alpha', 'bravo'] } } },
    keys: [{ key: 'sk-cv-declared-bravo', account: 'bravo', name: 'bravo-declared' }],
    server: { public_url: 'https://culvert.example.org', trusted_proxies: ['10.0.0.0/8'] },
    dashboard: {
      oidc: { issuer: 'https://id.example.org', client_id: 'culvert', roles: roleOfGroups },
      saml: { idp: { metadata_url: 'https://id.example.org/saml' }, roles: roleOfGroups },
      scim: { token: 'a-bearer-token-of-the-directory-in-tests', roles: roleOfGroups },
    },
    callers: {
      tokens: [{ issuer: 'https://login.example.org', audience: 'a', account: 'bravo' }],
      certificates: {
        accounts: [
          { match: 'of-alpha', account: 'alpha' },
          { match: 'of-bravo', account: 'bravo' },
        ],
      },
    },
    guards: {
      grounded: {
        check: 'grounding',
        collection: 'bravo/bravo-declared/papers',
        threshold: 0.5,
        action: 'block',
        on: ['output'],
      },
    },
    routes: {
      theirs: {
        when: `account == "bravo" || key in ['bravo/x', "alpha/x"] || account.startsWith("bra") && tag == "of-tag" || [account].exists(a, a == "bravo") // don't: bravo
          || account == 'bravo'`,
        refuse: { message: 'no' },
      },
      noted: { when: `tag == "//free" // as bravo asked`, refuse: { message: 'no' } },
      quoted: { when: String.raw`account == """a\"""bravo"""`, refuse: { message: 'no' } },
    },
    storage: { responses: { except: ['bravo/*', 'alpha/x', '*/x'] } },
    hooks: {
      looks: {
        type: 'webhook',
        url: 'https://hooks.example.org',
        secret: 'a-secret-of-at-least-thirty-two-bytes',
        events: ['onRequest'],
        accounts: ['alpha', 'bravo'],
      },
    },
    telemetry: {
      log: { bodies: ['bravo/bravo-declared', 'alpha/laptop'] },
      otlp: { content: ['bravo/bravo-declared', 'alpha/laptop'] },
      statements: {
        to: [
          {
            name: 'finance',
            accounts: ['alpha', 'bravo'],
            webhook: 'https://hooks.example.org',
            secret: 'a-secret-of-at-least-thirty-two-bytes',
          },
        ],
      },
    },
  });
  const keys: Record<string, string> = {};
  const requests: Record<string, string> = {};
  for (const account of ['alpha', other]) {
    const name = account === other ? `${other}-laptop` : 'laptop';
    keys[account] = (await admin.ok('POST', '/keys', { account, name })).id;
    await admin
      .vectors()
      .create(
        { tenant: `${account}/${name}`, account },
        { name: `${account}-docs`, size: 2, distance: 'Dot', embeddingModel: null },
      );
    await admin
      .vectors()
      .write(`${account}/${name}`, `${account}-docs`, [upsert([{ id: 1, vector: [1, 2], payload: { of: account } }])]);
    admin.clock.advance(1_000);
    const row = reservationRow({
      atMs: admin.clock.wallMs(),
      account,
      tenant: `${account}/${name}`,
      alias: `${account}-model`,
    });
    await admin.ledger.open(row);
    const event = usageEvent(row, { settledMs: row.atMs, user: `${account}-user`, clientRequestId: 'same-id' });
    const passed = ['account == "bravo"', '["bravo", "alpha"].exists(one, one …'];
    const rules = { applied: [], passed: passed.map((because) => ({ rule: 'theirs', because })) };
    admin.ledger.close({ ...event, route: { ...event.route, rules } });
    requests[account] = row.requestId;
  }
  await admin.ledger.flush();
  const people = { role: 'viewer', accounts: [other] };
  const member = (await admin.ok('POST', '/operators', { name: `${other}-member`, ...people })).id;
  const invitation = (await admin.ok('POST', '/invitations', { name: `${other}-guest`, ...people })).id;
  return { admin, keys, requests, member, invitation };
}

type World = Awaited<ReturnType<typeof twoAccounts>>;

type Paths = Record<string, Record<string, { parameters: { name: string; in: string; required: boolean }[] }>>;
/** The same for every configuration. */
let paths: Paths | null = null;

/** Every operation that there is, with its path's and query's fields filled in. */
function operationsOf({ admin }: World, fields: Readonly<Record<string, string>>) {
  paths ??= (admin.api.openApi() as { paths: Paths }).paths;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters }]) => {
      const asked = parameters.filter((one) => one.in === 'query' && (one.required || one.name === 'account'));
      const search = new URLSearchParams(Object.fromEntries(asked.map(({ name }) => [name, fields[name] ?? ''])));
      const named = path
        .slice('/admin/v1'.length)
        .replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(fields[name] ?? fields.id!));
      return { method: method.toUpperCase() as AdminMethod, path: named, search: `${search}` };
    }),
  );
}

test('S45 an operator of one account sees nothing of another through any operation that reads', async (t) => {
  const world = await twoAccounts(t);
  const { admin, keys, requests, member, invitation } = world;
  const isOther = new RegExp([other, keys[other], requests[other], member, invitation].join('|'));
  for (const { method, path, who } of operationsOf(world, {
    id: 'alpha',
    name: 'default',
    tenant: 'alpha/laptop',
  }).flatMap((operation) => ofAlpha.map((one) => ({ ...operation, who: one })))) {
    if (method !== 'GET') continue;
    for (const search of [
      '',
      '?tenant=alpha%2Flaptop',
      '?group_by=account',
      '?group_by=model',
      '?group_by=user',
      '?status=2xx',
    ]) {
      const { text } = await admin.call(method, path + search, undefined, who);
      assert.doesNotMatch(text, isOther, `${who.role} ${method} ${path}${search}`);
    }
  }
  const config = JSON.stringify((await admin.call('GET', '/config', undefined, mine)).json.config);
  for (const shown of ['"of-alpha"', '["alpha/laptop"]', '"accounts":["alpha"]', '"group":"team-a"', '"looks"'])
    assert.ok(config.includes(shown), shown);
  const [rule, noted, quoted] = (await admin.call('GET', '/routes', undefined, mine)).json.data;
  assert.equal(
    rule.when,
    `account == "(hidden)" || key in ["(hidden)", "alpha/x"] || account.startsWith("(hidden)") && tag == "of-tag" || [account].exists(a, a == "(hidden)") // (hidden)
          || account == "(hidden)"`,
  );
  assert.equal(noted.when, 'tag == "//free" // (hidden)');
  assert.equal(quoted.when, 'account == "(hidden)"');
  const body = { model: 'secretive', messages: [{ role: 'user', content: 'Hello' }] };
  const explained = await admin.call('POST', '/explain', { body, key: keys.alpha }, mine);
  assert.doesNotMatch(explained.text, isOther);
  assert.match(explained.text, /"rule":"theirs","because":"account == /);
  const own = await admin.call('GET', '/requests/same-id', undefined, mine);
  assert.equal(own.json.id, requests.alpha, 'the newer one with this id is another’s');
  assert.equal((await admin.call('GET', '/audit', undefined, mine)).json.data.length, 1, 'its own key was made');
  assert.match((await admin.call('GET', '/audit')).text, isOther);
});

test('S45 what is of another account is as if it were not there, and stays as it is', async (t) => {
  const world = await twoAccounts(t);
  const { admin, keys, requests, member, invitation } = world;
  const state = async () =>
    JSON.stringify(
      await Promise.all(
        ['/accounts', '/keys', '/plans', '/vectors/tenants', '/audit', '/config', '/operators', '/invitations'].map(
          (path) => admin.ok('GET', path),
        ),
      ),
    );
  const before = await state();
  const bodies = (id: string, tenant: string): Record<string, unknown> => ({
    '/keys': { account: id, name: 'stolen' },
    '/vectors/adopt': { from: tenant, to: 'alpha/laptop' },
    '/vectors/purge': { tenant },
    [`/members/${id}`]: { role: 'viewer' },
    '/invitations': { role: 'viewer', accounts: [id] },
    '/vectors/points': { tenant, collection: `${id}-docs`, points: [{ id: 2, vector: [1, 1], payload: null }] },
    '/vectors/collections': {
      tenant,
      collection: {
        name: 'new',
        vector_size: 2,
        distance: 'Dot',
        embedding_model: null,
        payload_indexes: {},
        aliases: [],
      },
    },
  });
  const patches = { plan: 'default', status: 'suspended' };
  for (const [there, absent] of [
    ['bravo', 'zulu0'],
    [keys[other]!, 'ZZZZZZZZZZZZ'],
    ['sk-cv-declared:bravo/bravo-declared', 'sk-cv-declared:zulu0/zulu0-declared'],
    [requests[other]!, 'req_00000000-0000-7000-8000-000000000000'],
    [member, 'op_zzzzzzzzzzzz'],
    [invitation, 'inv_zzzzzzzzzzzz'],
  ] as const) {
    const asked = async (id: string, who: Operator) => {
      const tenant = id === 'bravo' ? 'bravo/bravo-laptop' : `${id}/${id}-laptop`;
      const answers: string[] = [];
      for (const { method, path, search } of operationsOf(world, { id, account: id, tenant, name: 'default' })) {
        // Subjects without an account are refused before anything is looked up.
        const body =
          method === 'GET' || method === 'DELETE'
            ? undefined
            : (bodies(id, tenant)[path] ?? (method === 'PATCH' ? patches : {}));
        if (path === '/accounts' && method === 'POST') continue;
        const { status, text } = await admin.call(method, `${path}${search === '' ? '' : `?${search}`}`, body, who);
        answers.push(`${method} ${path} ${status} ${text}`.replaceAll(id, 'X').replaceAll(encodeURIComponent(id), 'X'));
      }
      return answers;
    };
    for (const who of [mine, operator('member', ['alpha'])])
      assert.deepEqual(await asked(there, who), await asked(absent, who), `${who.role} ${there}`);
  }
  assert.equal(await state(), before);
  const made = await admin.call('POST', '/accounts', { id: 'charlie' }, mine);
  assert.equal(made.status, 403, 'accounts are made by operators of all');
});

test('an operator of several accounts sees each of them, and changes what is theirs', async (t) => {
  const { admin } = await twoAccounts(t);
  const both = operator('admin', ['alpha', 'bravo']);
  assert.equal((await admin.call('GET', '/accounts', undefined, both)).json.data.length, 2);
  assert.equal((await admin.call('GET', '/requests?account=bravo', undefined, both)).json.data.length, 1);
  assert.equal((await admin.call('GET', '/vectors/tenants', undefined, both)).json.data.length, 2);
  const comparison = await admin.call('POST', '/routes/r/agreement', { judge: 'secretive' }, both);
  assert.equal(comparison.status, 403, 'the server would pay for it');
  const made = await admin.call('POST', '/keys', { account: 'bravo', name: 'phone' }, both);
  assert.equal(made.status, 201);
  const { json } = await admin.call('GET', '/audit', undefined, both);
  assert.deepEqual([json.data[0].actor, json.data[0].action], ['admin', 'key.create']);
});
