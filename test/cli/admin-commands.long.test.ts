import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { stringify } from 'yaml';
import { type Ran, runCommand, type StartedProcess, startProcess, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

type Row = Record<string, unknown>;

/** Commands in one folder; `json` are those whose output is JSON and that must succeed. */
function commandsIn(cwd: string, env: Record<string, string> = {}) {
  const culvert = (...args: string[]) => runCommand(args, { cwd, env });
  const done = async (...args: string[]): Promise<Ran> => {
    const ran = await culvert(...args);
    assert.equal(ran.code, 0, `culvert ${args.join(' ')}: ${ran.stderr}`);
    return ran;
  };
  const json = async (...args: string[]): Promise<Row> => JSON.parse((await done(...args)).stdout) as Row;
  const rows = async (...args: string[]): Promise<Row[]> => (await json(...args)).data as Row[];
  return { culvert, done, json, rows };
}

const config = {
  plans: { pro: { windows: { '5h': 500 }, rpm: 120 }, free: { windows: { '5h': 2 } } },
  accounts: { declared: { plan: 'pro' } },
};

/** A running server over `config` and a mock upstream, whose answers cost units as real ones do. */
async function serving(t: TestContext): Promise<{ cwd: string; server: StartedProcess }> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const cwd = temporaryFolder(t);
  const providers = { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } };
  const models = { smart: { targets: ['up/m'] } };
  writeFileSync(join(cwd, 'culvert.yaml'), stringify({ ...config, providers, models, autodetect: 'off' }));
  return { cwd, server: await startProcess(t, { cwd }) };
}

async function ask(server: StartedProcess, key: string): Promise<Response> {
  return fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'smart', messages: [{ role: 'user', content: 'Hi' }] }),
  });
}

describe('commands over the admin API, run as programs', { concurrency: true }, () => {
  test('a key is made with limits, and a change without an option says what it needs', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { culvert, done, json } = commandsIn(cwd);
    await done('keys', 'create', '--account', 'dev', '--name', 'a', '--limits', 'rpm=7', '--data', 'no-training');
    const { rpm, data } = (await json('keys', 'show', 'dev/a')).limits as Row;
    assert.deepEqual([rpm, (data as Row).no_training], [7, true]);
    const { code, stderr } = await culvert('keys', 'change', 'dev/a');
    assert.deepEqual([code, /at least one option/.test(stderr)], [2, true], stderr);
  });

  test('a plan is created, changed setting by setting, and removed; an account gets another name', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { culvert, done, json } = commandsIn(cwd);
    const settings = JSON.stringify({ notify: { webhook: 'https://hooks.example/a', secret: 's'.repeat(32) } });
    await done('plans', 'set', 'team', '--limits', 'rpm=9,budget.month=50,windows.week=100', '--settings', settings);
    await done('plans', 'set', 'team', '--limits', 'budget.week=20,windows.week=none', '--models', 'smart,claude-*');
    const { rpm, budget, windows, models, notify } = (await json('plans', 'show', 'team')).definition as Row;
    assert.deepEqual([rpm, budget, windows, models], [9, { week: 20, month: 50 }, undefined, ['smart', 'claude-*']]);
    assert.ok(notify !== undefined);
    assert.equal((await culvert('plans', 'set', 'team')).code, 2);
    assert.match((await culvert('plans', 'set', 'pro', '--limits', 'rpm=1')).stderr, /declared in .*culvert\.yaml/);
    await done('plans', 'remove', 'team');
    assert.equal((await culvert('plans', 'show', 'team')).code, 1);
    await done('accounts', 'create', 'acme');
    assert.equal((await json('accounts', 'name', 'acme', 'Acme Inc.')).name, 'Acme Inc.');
  });

  test('stored entries change setting by setting, and operators their role', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { culvert, done, json } = commandsIn(cwd);
    await done('providers', 'add', 'box', '--type', 'openai', '--base-url', 'http://127.0.0.1:9/v1', '--untested');
    await done('models', 'add', 'smart', '--targets', 'box/a');
    const changed = await json('models', 'change', 'smart', '--settings', '{"cost":2}');
    assert.deepEqual([(changed.definition as Row).cost, changed.version], [2, 2]);
    await done('providers', 'change', 'box', '--settings', '{"timeouts":{"idle":"1m"}}');
    const wrong = await culvert('models', 'change', 'smart', '--settings', '[]');
    assert.deepEqual([wrong.code, /such as \{"fallbacks"/.test(wrong.stderr)], [2, true], wrong.stderr);
    await done('mcp-servers', 'add', 'tickets', 'http://127.0.0.1:9/mcp');
    await done('agents', 'add', 'planner', 'http://127.0.0.1:9/planner');
    for (const kind of ['mcp-servers', 'agents']) {
      const { stdout: help } = await done(kind, 'change', '--help');
      const [, name = '', settings = ''] = /change (\w+)\s+--settings[\s\\]+'(.+)'/.exec(help) ?? [];
      await done(kind, 'change', name, '--settings', settings);
    }
    await done('operators', 'create', 'Anna', '--role', 'viewer');
    assert.equal((await json('operators', 'change', 'Anna', '--role', 'admin')).role, 'admin');
    await done('accounts', 'create', 'dev');
    await done('operators', 'create', 'Ben', '--role', 'viewer', '--accounts', 'dev');
    assert.equal((await json('members', 'change', 'Ben', '--role', 'member')).role, 'member');
    const unknown = await culvert('members', 'remove', 'Anna');
    assert.match(unknown.stderr, /There is no member 'Anna'\. culvert members list shows them/);
    await done('members', 'remove', 'Ben');
  });

  test('without a server they work on the data folder, and the trail says that it was the CLI', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { culvert, done, json, rows } = commandsIn(cwd);
    assert.deepEqual(
      (await rows('plans', 'list')).map(({ name }) => name),
      ['default', 'free', 'pro'],
    );
    assert.deepEqual(((await json('plans', 'show', 'pro')).definition as Row).rpm, 120);
    assert.equal((await json('accounts', 'create', 'acme', '--plan', 'pro', '--name', 'Acme Inc.')).name, 'Acme Inc.');
    const secret = (
      await done('keys', 'create', '--account', 'acme', '--name', 'ci', '--ips', '127.0.0.1')
    ).stdout.trim();
    await done('keys', 'change', 'acme/ci', '--limits', 'budget.month=10,soft.budget.month=5');
    const seen = await json('keys', 'show', 'acme/ci');
    assert.deepEqual([seen.account, seen.limits], ['acme', { budget: { month: 10 }, soft: { budget: { month: 5 } } }]);
    const rotated = await done('keys', 'rotate', 'acme/ci', '--grace', '0s');
    assert.match(rotated.stderr, /no longer works/);
    assert.match(rotated.stdout, new RegExp(`^${secret.slice(0, 18)}-\\w{43}\n$`));
    assert.notEqual(rotated.stdout.trim(), secret);
    await done('keys', 'revoke', secret);
    const again = await culvert('keys', 'rotate', 'acme/ci');
    assert.equal(again.code, 1);
    assert.deepEqual(
      (await rows('keys', 'list', '--account', 'acme')).map(({ name, status, ips }) => [name, status, ips]),
      [['ci', 'revoked', ['127.0.0.1']]],
    );
    assert.deepEqual(await rows('keys', 'list', '--status', 'active'), []);
    assert.equal((await json('accounts', 'suspend', 'acme')).status, 'suspended');
    assert.equal((await json('accounts', 'plan', 'acme', 'free')).plan, 'free');
    const shown = await json('accounts', 'show', 'acme');
    assert.deepEqual([shown.status, shown.plan, (shown.keys as Row[]).length], ['suspended', 'free', 1]);
    const trail = await rows('audit');
    assert.deepEqual(new Set(trail.map(({ actor }) => actor)), new Set(['cli']));
    assert.deepEqual(trail.map(({ action }) => action).reverse(), [
      'account.create',
      'key.create',
      'key.update',
      'key.rotate',
      'key.revoke',
      'account.update',
      'account.update',
    ]);
    assert.ok(!JSON.stringify(trail).includes(secret.slice(19)));
    const actionsOf = async (...filters: string[]) => (await rows('audit', ...filters)).map(({ action }) => action);
    assert.deepEqual(await actionsOf('--action', 'key', '--limit', '2'), ['key.revoke', 'key.rotate']);
    assert.deepEqual(await actionsOf('--action', 'key.create', '--actor', 'cli', '--since', '1h'), ['key.create']);
    assert.deepEqual(new Set(await actionsOf('--subject', 'acme')), new Set(['account.create', 'account.update']));
    for (const other of [
      ['--actor', 'Anna'],
      ['--until', '1h'],
    ])
      assert.deepEqual(await actionsOf(...other), []);
    assert.deepEqual(await rows('usage'), []);
    assert.deepEqual(await rows('requests', 'list'), []);
  });

  test('refusals are one sentence and end with 1', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { culvert } = commandsIn(cwd);
    const refusals: [string[], RegExp][] = [
      [['accounts', 'create', 'a/b'], /^id: /],
      [['accounts', 'create', 'new', '--plan', 'fre'], /no plan 'fre' \(did you mean 'free'\?\)/],
      [['accounts', 'suspend', 'declared'], /declared in .*culvert\.yaml/],
      [['accounts', 'show', 'nobody'], /no account 'nobody'/],
      [['keys', 'revoke', 'declared/none'], /no key 'declared\/none'/],
      [['keys', 'rotate', 'abcdefabcdef'], /no key 'abcdefabcdef'/],
      [['plans', 'show', 'none'], /no plan 'none'/],
      [['requests', 'show', 'req_none'], /no request 'req_none'/],
      [['usage', '--account', 'nobody'], /no account 'nobody'/],
      [['usage', '--from', '1d', '--to', '2d'], /^from: /],
      [['requests', 'list', '--status', 'teapot'], /^status: /],
      [['reload'], /No server runs here/],
      [['dashboard'], /No server runs here/],
      [['operators', 'create', 'admin', '--role', 'viewer'], /^name: /],
      [['operators', 'remove', 'nobody'], /no operator 'nobody'/],
    ];
    const runs = await Promise.all(refusals.map(([args]) => culvert(...args)));
    for (const [index, { code, stdout, stderr }] of runs.entries()) {
      assert.match(stderr, refusals[index]![1]);
      assert.deepEqual([code, stdout, stderr.trim().split('\n').length], [1, '', 1], stderr);
    }
  });

  test('with a server they act on it at once: a key works, is revoked, its account suspended', async (t) => {
    const { cwd, server } = await serving(t);
    const { done, rows } = commandsIn(cwd);
    const key = (await done('keys', 'create', '--account', 'acme', '--name', 'ci', '--plan', 'pro')).stdout.trim();
    assert.equal((await ask(server, key)).status, 200);
    await done('accounts', 'suspend', 'acme');
    assert.equal((await ask(server, key)).status, 403);
    await done('accounts', 'activate', 'acme');
    assert.equal((await ask(server, key)).status, 200);
    await done('keys', 'revoke', 'acme/ci');
    assert.equal((await ask(server, key)).status, 401);
    assert.ok((await rows('audit')).some(({ actor, action }) => actor === 'admin' && action === 'key.revoke'));
  });

  test('usage, requests and their export tell what was asked, to the server or to its books afterwards', async (t) => {
    const { cwd, server } = await serving(t);
    const { culvert, done, json, rows } = commandsIn(cwd);
    const key = (await done('keys', 'create', '--account', 'acme', '--name', 'ci', '--plan', 'free')).stdout.trim();
    const answer = await ask(server, key);
    const id = answer.headers.get('x-culvert-request-id')!;
    await answer.text();
    await (await ask(server, key)).text();
    assert.equal((await ask(server, key)).status, 429);

    const usage = await json('usage', '--account', 'acme', '--group-by', 'model');
    assert.deepEqual(
      (usage.data as Row[]).map(({ group, requests, units }) => [group, requests, units]),
      [['smart', 2, 2]],
    );
    assert.deepEqual((usage.windows as Record<string, Row>)['5h']!.used, 2);
    const requestsOf = async (...filters: string[]) =>
      ((await json('usage', '--group-by', 'key', '--order-by', 'cost_usd', ...filters)).data as Row[]).map(
        ({ name, requests }) => [name, requests],
      );
    assert.deepEqual(await requestsOf('--key', 'acme/ci', '--model', 'smart', '--provider', 'up'), [['acme/ci', 2]]);
    for (const other of ['--user', '--tag', '--key-tag', '--model']) assert.deepEqual(await requestsOf(other, 'x'), []);
    assert.equal((await rows('requests', 'list', '--key', 'acme/ci', '--provider', 'up')).length, 2);
    for (const other of ['--user', '--tag', '--session', '--provider'])
      assert.deepEqual(await rows('requests', 'list', other, 'x'), []);
    assert.match((await culvert('requests', 'list', '--key', 'acme/none')).stderr, /no key 'acme\/none'/);
    const measuresOf = (limits: unknown) =>
      new Set((limits as { windows: Row[] }[]).flatMap(({ windows }) => windows.map(({ measure }) => measure)));
    const every = new Set(['requests', 'units', 'tokens', 'usd']);
    assert.deepEqual(measuresOf(usage.limits), every);
    assert.deepEqual(measuresOf((await json('accounts', 'show', 'acme')).limits), every);
    assert.match((await done('usage', '--csv')).stdout, /^day,requests,units,/);
    const shown = await json('requests', 'show', id);
    assert.deepEqual([shown.id, shown.account, shown.model, shown.units], [id, 'acme', 'smart', 1]);
    assert.ok((shown.route as { attempts: Row[] }).attempts.length > 0);

    await done('requests', 'export', '--account', 'acme', '--format', 'jsonl', '--out', 'out.jsonl');
    const lines = readFileSync(join(cwd, 'out.jsonl'), 'utf8').trim().split('\n');
    assert.equal(statSync(join(cwd, 'out.jsonl')).mode & 0o077, 0);
    assert.ok(lines.some((line) => (JSON.parse(line) as Row).id === id));
    assert.match((await done('requests', 'export')).stdout, /^id,client_request_id,created_at,/);

    await server.stop();
    const listed = await rows('requests', 'list', '--account', 'acme', '--status', '2', '--since', '1h');
    assert.equal(listed.length, 2);
    assert.equal((await rows('requests', 'list', '--limit', '1')).length, 1);
    assert.equal((await culvert('requests', 'list', '--model', '%')).stdout, '{\n  "data": []\n}\n');
  });

  test('an operator that is made here opens the admin API of a server that runs, in its role, until it is removed', async (t) => {
    const { cwd, server } = await serving(t);
    const { done, rows } = commandsIn(cwd);
    const made = await done('operators', 'create', 'Anna', '--role', 'viewer', '--accounts', 'declared');
    const anna = { headers: { authorization: `Bearer ${made.stdout.trim()}` } };
    const accounts = await fetch(`${server.url}/admin/v1/accounts`, anna);
    assert.deepEqual(
      ((await accounts.json()) as { data: Row[] }).data.map(({ id }) => id),
      ['declared'],
    );
    const listed = await rows('operators', 'list');
    assert.deepEqual(
      listed.map(({ name, role, accounts, login }) => [name, role, accounts, login]),
      [['Anna', 'viewer', ['declared'], 'key']],
    );
    const rotated = (await done('operators', 'rotate', 'Anna')).stdout.trim();
    assert.equal((await fetch(`${server.url}/admin/v1/accounts`, anna)).status, 401);
    const again = { headers: { authorization: `Bearer ${rotated}` } };
    assert.equal((await fetch(`${server.url}/admin/v1/accounts`, again)).status, 200);
    await done('operators', 'remove', 'Anna');
    assert.equal((await fetch(`${server.url}/admin/v1/accounts`, again)).status, 401);
  });

  test('reload takes a changed file into use, and prints the errors of a wrong one with their places', async (t) => {
    const { cwd, server } = await serving(t);
    const { culvert, done, rows } = commandsIn(cwd);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify({ plans: { added: { rpm: 5 } }, autodetect: 'off' }));
    await done('reload');
    assert.ok((await rows('plans', 'list')).some(({ name }) => name === 'added'));
    writeFileSync(join(cwd, 'culvert.yaml'), 'plans:\n  added: { rpm: 0 }\n');
    const here = await culvert('reload');
    assert.equal(here.code, 1);
    assert.match(here.stderr, /culvert\.yaml:2:\d+ plans\.added\.rpm: /);
    // From a folder where the file is not read: only the server knows its fault.
    const env = { CULVERT_ADMIN_KEY: readFileSync(join(cwd, '.culvert', 'admin.key'), 'utf8').trim() };
    const refused = await runCommand(['reload', '--url', server.url], { cwd: temporaryFolder(t), env });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /culvert\.yaml:2:\d+ plans\.added\.rpm: /);
    assert.match(refused.stderr, /old configuration stays in use/);
    const kept = await runCommand(['plans', 'show', 'added', '--url', server.url], { cwd: temporaryFolder(t), env });
    assert.equal(kept.code, 0, kept.stderr);
  });

  test('a server that is named needs a key, and the data folder’s own is not sent to another machine', async (t) => {
    const { cwd, server } = await serving(t);
    const listed = await commandsIn(cwd).rows('keys', 'list', '--url', `${server.url}/v1`);
    assert.ok(Array.isArray(listed));
    const elsewhere = await commandsIn(cwd).culvert('keys', 'list', '--url', 'http://gateway.example');
    assert.equal(elsewhere.code, 1);
    assert.match(elsewhere.stderr, /No admin key for http:\/\/gateway\.example is known/);
    const wrong = commandsIn(cwd, { CULVERT_ADMIN_KEY: 'sk-cv-admin-canary-wrong' });
    const refused = await wrong.culvert('keys', 'list');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /did not accept the admin key/);
    assert.doesNotMatch(refused.stderr, /canary/);
  });
});
