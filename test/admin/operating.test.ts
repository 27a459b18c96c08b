import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { shapeOf } from '../../src/inference/models/create-alias.ts';
import { startUpstream } from '../start-upstream.ts';
import { type Answer, openAdmin } from './open-admin.ts';

function over(url: string) {
  return {
    providers: {
      up: {
        type: 'openai',
        base_url: `${url}/v1`,
        credentials: [{ api_key: 'upstream-secret-a' }, { api_key: 'upstream-secret-b' }],
      },
    },
    models: {
      small: { targets: ['up/mock/ok'] },
      big: { tier: 'premium', cost: 2, targets: ['up/mock/ok', { provider: 'up', model: 'mock/two', priority: 2 }] },
    },
    admin: { key: 'the-admin-key-of-this-test' },
  };
}

test('providers are shown with the live health of their credentials, and without secrets', async (t) => {
  const admin = await openAdmin(t, over('http://127.0.0.1:9'));
  const [target] = admin.snapshots.current.models.targets();
  assert.ok(target !== undefined);
  const [lane] = admin.health.lanes(target);
  assert.ok(lane !== undefined);
  const nowMs = admin.clock.monotonicMs();
  const end = { class: 'ok', retryAfterMs: null, afterMs: 10, content: 'none', tenant: 'dev/laptop' } as const;
  for (const outcome of ['ok', 'transient', 'ok', 'rate_limited'] as const) {
    const attempt = {};
    admin.health.began(lane, attempt, 60_000, nowMs);
    admin.health.ended(lane, attempt, { ...end, class: outcome, retryAfterMs: 30_000 }, nowMs);
  }
  const { text, json } = await admin.call('GET', '/providers');
  const [provider] = json.data;
  assert.deepEqual([provider.name, provider.type, provider.status], ['up', 'openai', 'degraded']);
  assert.deepEqual(
    provider.credentials.map(({ id }: { id: string }) => id),
    ['up#0', 'up#1'],
  );
  const [cooling] = provider.credentials[0].lanes;
  assert.deepEqual([cooling.model, cooling.state], ['mock/ok', 'cooling']);
  assert.ok(Date.parse(cooling.back_at) > admin.clock.wallMs());
  assert.deepEqual([cooling.succeeded, cooling.failed, cooling.success_share], [2, 1, 0.8]);
  assert.ok(!text.includes('upstream-secret'));
});

test('a text finds providers by name, type or address', async (t) => {
  const { providers } = over('http://127.0.0.1:9');
  const claude = { type: 'anthropic', api_key: 'k' };
  const admin = await openAdmin(t, { providers: { ...providers, claude }, models: {} });
  const found = async (text: string) => (await admin.ok('GET', `/providers?text=${text}`)).data.map(nameOf);
  const nameOf = ({ name }: { name: string }) => name;
  for (const text of ['CLAU', 'anthropic']) assert.deepEqual(await found(text), ['claude']);
  assert.deepEqual(await found('127.0.0.1'), ['up']);
  assert.deepEqual(await found('nobody'), []);
});

test('a provider that asks to wait is not down, however few targets it has', async (t) => {
  const { providers } = over('http://127.0.0.1:9');
  const one = { up: { ...providers.up, credentials: [{ api_key: 'upstream-secret-a' }] } };
  const admin = await openAdmin(t, { providers: one, models: { small: { targets: ['up/mock/ok'] } } });
  const [target] = admin.snapshots.current.models.targets();
  const [lane] = admin.health.lanes(target!);
  const nowMs = admin.clock.monotonicMs();
  const owner = {};
  admin.health.began(lane!, owner, 60_000, nowMs);
  const end = {
    class: 'rate_limited',
    retryAfterMs: 30_000,
    afterMs: 10,
    content: 'none',
    tenant: 'dev/laptop',
  } as const;
  admin.health.ended(lane!, owner, end, nowMs);
  assert.equal((await admin.ok('GET', '/providers/up')).status, 'degraded');
  const { wrong } = await admin.ok('GET', '/overview');
  const severities = wrong
    .filter(({ page }: { page: string }) => page === 'providers')
    .map(({ severity }: { severity: string }) => severity);
  assert.deepEqual(severities, ['warning']);
});

test('a provider that mostly fails is failing before its breaker opens, as the overview says, too', async (t) => {
  const admin = await openAdmin(t, over('http://127.0.0.1:9'));
  const [target] = admin.snapshots.current.models.targets();
  const [lane] = admin.health.lanes(target!);
  const nowMs = admin.clock.monotonicMs();
  const end = { retryAfterMs: null, afterMs: 10, content: 'none', tenant: 'dev/laptop' } as const;
  const attempt = (outcome: 'ok' | 'transient') => {
    const owner = {};
    admin.health.began(lane!, owner, 60_000, nowMs);
    admin.health.ended(lane!, owner, { ...end, class: outcome }, nowMs);
  };
  const statuses = async () => [
    (await admin.ok('GET', '/providers/up')).status,
    (await admin.ok('GET', '/health')).providers.up,
  ];
  for (const outcome of ['ok', 'transient', 'transient'] as const) attempt(outcome);
  assert.deepEqual(await statuses(), ['healthy', 'healthy'], 'two failures may be chance');
  attempt('transient');
  assert.deepEqual(await statuses(), ['failing', 'failing']);
  const { wrong } = await admin.ok('GET', '/overview');
  const texts = wrong.map(({ text }: { text: string }) => text);
  assert.ok(
    texts.includes('The provider up is failing: 3 of its 4 attempts within the last minute failed.'),
    texts.join('\n'),
  );
});

test('a test of a provider asks it once with each credential', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const admin = await openAdmin(t, over(upstream.url));
  const tested = await admin.ok('POST', '/providers/up/test');
  assert.equal(tested.ok, true);
  assert.deepEqual(
    tested.data.map(({ credential, verdict }: { credential: string; verdict: string }) => [credential, verdict]),
    [
      ['up#0', 'ok'],
      ['up#1', 'ok'],
    ],
  );
  const dead = await openAdmin(t, over('http://127.0.0.1:9'));
  const { json, text } = await dead.call('POST', '/providers/up/test');
  assert.deepEqual([json.ok, json.data[0].verdict], [false, 'unreachable']);
  assert.ok(!text.includes('upstream-secret'));
});

test('models are shown whoever may use them, with their targets', async (t) => {
  const admin = await openAdmin(t, { ...over('http://127.0.0.1:9'), plans: { default: { models: ['small'] } } });
  const { data } = await admin.ok('GET', '/models');
  assert.deepEqual(
    data.map(({ id, tier, cost, targets }: { id: string; tier: string; cost: number; targets: unknown[] }) => [
      id,
      tier,
      cost,
      targets.length,
    ]),
    [
      ['big', 'premium', 2, 2],
      ['culvert-lexical-1024', null, 1, 1],
      ['small', null, 1, 1],
    ],
  );
});

test('models are found by type and by a part of their id or a target', async (t) => {
  const admin = await openAdmin(t, over('http://127.0.0.1:9'));
  for (const [query, ids] of [
    ['text=BIG', ['big']],
    ['text=up%2F', ['big', 'small']],
    ['type=embedding', ['culvert-lexical-1024']],
    ['type=embedding&text=big', []],
  ] as const) {
    const { data } = await admin.ok('GET', `/models?${query}`);
    assert.deepEqual(
      data.map(({ id }: { id: string }) => id),
      ids,
      query,
    );
  }
});

test('the configuration in force is shown whole and without secrets', async (t) => {
  const admin = await openAdmin(t, {
    ...over('http://127.0.0.1:9'),
    keys: [{ key: 'sk-cv-declared-secret', name: 'ci' }],
    storage: { database: 'postgres://culvert:database-password@127.0.0.1/culvert' },
  });
  const { json, text } = await admin.call('GET', '/config');
  assert.equal(json.file, 'culvert.yaml');
  assert.equal(json.config.server.port, 4141);
  for (const secret of ['upstream-secret', 'the-admin-key', 'sk-cv-declared-secret', 'database-password'])
    assert.ok(!text.includes(secret), secret);
});

test('a text is checked as the configuration file would be, with line and column, and changes nothing', async (t) => {
  const admin = await openAdmin(t, over('http://127.0.0.1:9'));
  assert.deepEqual(await admin.ok('POST', '/config/check', 'plans:\n  free: { rpm: 5 }\n'), {
    ok: true,
    errors: [],
    warnings: [],
  });
  const checked = await admin.ok('POST', '/config/check', 'server:\n  port: 1\nplans:\n  free: { rpn: 5 }\n');
  assert.equal(checked.ok, false);
  const [{ line, column, path, message }] = checked.errors;
  assert.deepEqual([line, column, path], [4, 11, 'plans.free.rpn']);
  assert.match(message, /did you mean 'rpm'/);
  assert.equal((await admin.ok('POST', '/config/check', '{{{')).ok, false);
  const empty = await admin.ok('POST', '/config/check', ' \n');
  assert.match(empty.errors[0].message, /^the file is empty/, 'as a reload says');
  assert.equal((await admin.ok('GET', '/plans')).data.length, 1);
});

test('a text that makes the check read the environment or other files is checked for owners alone', async (t) => {
  const admin = await openAdmin(t);
  const folder = mkdtempSync(join(tmpdir(), 'culvert-check-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'more.yaml'), 'plans: { more: {} }\n');
  const check = (text: string, role: 'owner' | 'admin') =>
    admin.call('POST', '/config/check', text, { name: 'ann', role, accounts: null });
  // Whether a value begins with an `a` would be seen in the answer.
  const reading = [
    `models: { "a*": { targets: [sim/chat] } }\nplans: { p: { models: ["\${PATH:-b}"] } }`,
    `"incl\\u0075de": ["${folder}"]`,
  ];
  for (const text of reading) {
    assert.deepEqual([(await check(text, 'owner')).status, (await check(text, 'admin')).status], [200, 403], text);
  }
  assert.equal((await check('plans: { p: {} }', 'admin')).json.ok, true);
});

test('a reload that finds errors is a 400 that lists them', async (t) => {
  const admin = await openAdmin(t);
  assert.deepEqual(await admin.ok('POST', '/config/reload'), { ok: true, errors: [], at_next_start: [] });
  const problem = { file: 'culvert.yaml', line: 3, column: 5, path: 'plans', message: 'expected a mapping' };
  admin.setReload({ ok: false, errors: [problem] });
  const { status, json } = await admin.call('POST', '/config/reload');
  const { data } = await admin.ok('GET', '/audit?action=config.reload');
  assert.deepEqual(
    data.map(({ after }: Answer) => after),
    [{ force: false, at_next_start: [] }],
    'only what was loaded',
  );
  const { file: _file, ...shown } = problem;
  assert.deepEqual([status, json.ok, json.errors], [400, false, [shown]]);
  assert.equal(json.error.code, 400);
});

test('health tells what the process depends on', async (t) => {
  const admin = await openAdmin(t, over('http://127.0.0.1:9'));
  const health = await admin.ok('GET', '/health');
  assert.deepEqual([health.status, health.version, health.providers], ['ok', '0.0.0-test', { up: 'healthy' }]);
  assert.deepEqual(health.parts, [
    { name: 'database', ok: true, trouble: null },
    { name: 'state', ok: true, trouble: null },
  ]);
});

test('a store that cannot be asked is a 503 that tells nothing of it, and the operator hears why', async (t) => {
  const admin = await openAdmin(t);
  await admin.store.close();
  for (const [method, path] of [
    ['GET', '/keys'],
    ['GET', '/audit'],
    ['POST', '/accounts'],
  ] as const) {
    const [status, , message] = await admin.refused(method, path, method === 'POST' ? { id: 'x' } : undefined);
    assert.equal(status, 503);
    assert.doesNotMatch(message, /sqlite|database is not open/i);
  }
  assert.equal(admin.storeErrors.length, 3);
});

test('the OpenAPI document names every operation once, with what it takes and gives', async (t) => {
  const admin = await openAdmin(t);
  const document = admin.api.openApi() as {
    openapi: string;
    paths: Record<string, Record<string, { operationId: string; parameters: { name: string }[]; responses: object }>>;
  };
  assert.equal(document.openapi, '3.1.0');
  const ids = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  assert.equal(new Set(ids).size, ids.length);
  const create = JSON.stringify(document.paths['/admin/v1/keys']?.post);
  for (const field of ['share_vectors_with', 'expires', 'limits', 'ips'])
    assert.ok(create.includes(`"${field}"`), field);
  assert.deepEqual(
    document.paths['/admin/v1/audit']?.get?.parameters.map(({ name }) => name),
    ['limit', 'cursor', 'actor', 'action', 'subject', 'since', 'until'],
  );
});

test('a variant that came back is answered where its audit row cannot be written', async (t) => {
  const variants = { a: { weight: 1 }, b: { weight: 1 } };
  const config = {
    providers: { up: { type: 'openai', api_key: 'k' } },
    models: { smart: { targets: ['up/x'], variants } },
  };
  const admin = await openAdmin(t, config);
  const { experiments } = admin.ledger;
  const model = admin.snapshots.current.config.models.smart;
  assert.ok(model !== undefined);
  const experiment = { alias: 'smart', shape: shapeOf(model) };
  const atMs = admin.clock.wallMs();
  await experiments.begin(experiment, ['a', 'b'], atMs);
  await experiments.takeOut(experiment, 'b', { atMs, reason: 'Slow.' });
  admin.store.apply = () => Promise.reject(new Error('the database is gone'));
  assert.deepEqual(await admin.ok('POST', '/models/smart/variants/b/restore'), { model: 'smart', variant: 'b' });
  assert.equal(admin.storeErrors.length, 1);
  assert.equal((await admin.refused('POST', '/models/smart/variants/b/restore'))[0], 404);
});
