import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';

/* Guards that are set up while Culvert runs. */

const upstream = await startQuietUpstream();
after(upstream.close);
const mail = 'jo.doe@example.org';
const pii = { check: 'personal-data', kinds: ['email'], action: 'mask' };
const config = {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: { smart: { targets: ['up/m'] } },
  guards: { fixed: { check: 'words', words: ['Falcon'], action: 'block' } },
};

interface Shown {
  name: string;
  source: string;
  version: number;
  action: string;
  settings: { kinds: string[]; mode: string };
  used_by: { server: boolean; models: string[]; plans: string[]; accounts: string[]; keys: string[] };
  id: string;
  key: string;
  guards: string[];
  data: Shown[];
  error?: { message: string; param: string | null };
}

const admin = callAdmin<Shown>;

async function ask(gateway: TestGateway, model: string) {
  upstream.bodies.length = 0;
  const json = { model, messages: [{ role: 'user', content: `about ${mail}` }] };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  return { status: response.status, text: await response.text(), sent: upstream.bodies[0] ?? '' };
}

test('a guard that is created, changed and deleted applies to the next request, and stays over a reload', async (t) => {
  const gateway = await startGateway(t, config);
  const call = (method: string, path: string, body?: unknown) => admin(gateway, method, path, body);
  const made = await call('POST', '/guards', { name: 'pii', ...pii });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual([made.body.source, made.body.version, made.body.settings.mode], ['kept', 1, 'enforce']);
  assert.equal((await call('POST', '/models', { id: 'guarded', targets: ['up/m'], guards: ['pii'] })).status, 201);
  assert.match((await ask(gateway, 'guarded')).sent, /about <EMAIL_1>/);
  assert.match((await ask(gateway, 'smart')).sent, /about jo\.doe@/);

  const changed = await call('PATCH', '/guards/pii', { version: 1, action: 'block' });
  assert.equal(changed.body.version, 2, JSON.stringify(changed.body));
  const blocked = await ask(gateway, 'guarded');
  assert.equal(blocked.status, 400);
  assert.match(blocked.text, /guard_blocked/);
  const late = await call('PATCH', '/guards/pii', { version: 1, action: 'flag' });
  assert.equal(late.status, 409);
  await gateway.reload(config);
  assert.equal((await ask(gateway, 'guarded')).status, 400);

  const { data } = (await call('GET', '/guards')).body;
  assert.deepEqual(
    data.map(({ name, source, used_by }) => [name, source, used_by.models]),
    [
      ['fixed', 'file', []],
      ['pii', 'kept', ['guarded']],
    ],
  );
  assert.equal((await call('DELETE', '/models/guarded')).status, 200);
  assert.equal((await call('DELETE', '/guards/pii')).status, 200);
  const audit = JSON.stringify((await call('GET', '/audit')).body);
  for (const action of ['guard.create', 'guard.update', 'guard.delete']) assert.ok(audit.includes(action), action);
});

test('what does not fit is refused by its field, and a guard that is named stays', async (t) => {
  const gateway = await startGateway(t, config);
  const call = (method: string, path: string, body?: unknown) => admin(gateway, method, path, body);
  const refusals: [string, string, unknown, number, string | null, RegExp][] = [
    ['POST', '/guards', { name: 'odd', check: 'words', action: 'flag' }, 400, 'check', /need each other/],
    ['POST', '/guards', { name: 'odd', ...pii, kinds: ['jwt'] }, 400, 'kinds[0]', /no such kind/],
    ['POST', '/guards', { name: 'odd', ...pii, action: 'route', route_to: 'smrt' }, 400, 'route_to', /mean 'smart'/],
    ['POST', '/guards', { name: 'fixed', ...pii }, 409, null, /guards\.fixed is set in/],
    ['PATCH', '/guards/fixed', { action: 'flag' }, 409, null, /guards\.fixed is set in/],
    ['DELETE', '/guards/none', undefined, 404, null, /no guard 'none'/],
    ['POST', '/models', { id: 'm', targets: ['up/m'], guards: ['pil'] }, 400, 'guards[0]', /no such guard/],
    ['PUT', '/plans/pro', { guards: ['fixd'] }, 400, 'guards[0]', /no such guard \(did you mean 'fixed'/],
  ];
  for (const [method, path, body, status, param, message] of refusals) {
    const refused = await call(method, path, body);
    assert.equal(refused.status, status, JSON.stringify(refused.body));
    assert.equal(refused.body.error!.param, param);
    assert.match(refused.body.error!.message, message);
  }
  await call('POST', '/guards', { name: 'pii', ...pii });
  assert.equal((await call('PUT', '/plans/pro', { guards: ['pii'] })).status, 200);
  assert.equal((await call('POST', '/models', { id: 'guarded', targets: ['up/m'], guards: ['pii'] })).status, 201);
  const byModel = await call('DELETE', '/guards/pii');
  assert.equal(byModel.status, 409);
  assert.equal((await call('DELETE', '/models/guarded')).status, 200);
  const byPlan = await call('DELETE', '/guards/pii');
  assert.equal(byPlan.status, 409);
  assert.match(byPlan.body.error!.message, /the plan pro/);
  assert.equal((await call('DELETE', '/plans/pro')).status, 200);
  assert.equal((await call('DELETE', '/guards/pii')).status, 200);
});

test('no guard that is set up at run time sends a token of this machine to an address of its own', async (t) => {
  const gateway = await startGateway(t, config);
  const call = (method: string, path: string, body?: unknown) => admin(gateway, method, path, body);
  const template = 'projects/acme/locations/europe-west4/templates/strict';
  const armor = { name: 'armor', check: 'model-armor', template, action: 'block' };
  const elsewhere = { url: upstream.url, google: {} };
  const refused = await call('POST', '/guards', { ...armor, ...elsewhere });
  assert.deepEqual([refused.status, refused.body.error?.param], [400, 'google'], JSON.stringify(refused.body));
  assert.match(refused.body.error?.message ?? '', /write it in culvert\.yaml/);
  assert.equal((await call('POST', '/guards', { ...armor, google: {} })).status, 201);
  for (const patch of [elsewhere, { url: upstream.url }]) {
    const moved = await call('PATCH', '/guards/armor', patch);
    assert.deepEqual([moved.status, moved.body.error?.param], [400, 'google'], JSON.stringify(moved.body));
  }
});

test('commands set, show, list and delete guards', async (t) => {
  const gateway = await startGateway(t, config);
  const cwd = temporaryFolder(t);
  const run = (...args: string[]) =>
    runCommand(['guards', ...args, '--url', gateway.url], { env: { CULVERT_ADMIN_KEY: adminKey }, cwd });
  const made = await run('set', 'pii', '--check', 'personal-data', '--kinds', 'email', '--action', 'mask');
  assert.equal(made.code, 0, made.stderr);
  const changed = await run('set', 'pii', '--settings', '{"mode":"observe"}');
  assert.equal(changed.code, 0, changed.stderr);
  assert.equal((JSON.parse(changed.stdout) as Shown).version, 2);
  const list = (JSON.parse((await run('list')).stdout) as Shown).data;
  assert.deepEqual(
    list.map(({ name }) => name),
    ['fixed', 'pii'],
  );
  const { settings } = JSON.parse((await run('show', 'pii')).stdout) as Shown;
  assert.deepEqual([settings.kinds, settings.mode], [['email'], 'observe']);
  assert.equal((await run('delete', 'pii')).code, 0);
  assert.equal((await run('set', 'pii', '--settings', 'x')).code, 2);
});

const families = {
  '/v1/chat/completions': { model: 'smart', messages: [{ role: 'user', content: `about ${mail}` }] },
  '/v1/messages': { model: 'smart', max_tokens: 9, messages: [{ role: 'user', content: `about ${mail}` }] },
};

async function sentBy(gateway: TestGateway, key: string, path: keyof typeof families): Promise<string> {
  upstream.bodies.length = 0;
  const headers = { authorization: `Bearer ${key}`, 'x-culvert-guard': 'off' };
  const response = await gateway.fetch(path, { json: families[path], headers });
  const text = await response.text();
  return response.status === 200 ? upstream.bodies[0]! : `${response.status} ${text}`;
}

test("the guard of a key or an account masks what its keys send, and not another's", async (t) => {
  const fileKey = (name: string, more: object) => ({ key: `sk-cv-${name}-12345678`, account: name, ...more });
  const declared = {
    ...config,
    guards: { ...config.guards, pii },
    accounts: { guarded: { guards: ['pii'] } },
    keys: [fileKey('own', { guards: ['pii'] }), fileKey('guarded', {}), fileKey('free', {})],
  };
  const gateway = await startGateway(t, declared);
  const call = (method: string, path: string, body?: unknown) => admin(gateway, method, path, body);
  await call('POST', '/accounts', { id: 'stored', guards: ['pii'] });
  await call('POST', '/accounts', { id: 'bare' });
  const keyOf = async (account: string, more = {}) =>
    (await call('POST', '/keys', { account, name: `of ${account}`, ...more })).body;
  const [ofAccount, ofKey] = [await keyOf('stored'), await keyOf('bare', { guards: ['pii'] })];
  const other = (await call('POST', '/keys', { account: 'bare', name: 'other' })).body;
  for (const path of Object.keys(families) as (keyof typeof families)[]) {
    for (const key of ['sk-cv-own-12345678', 'sk-cv-guarded-12345678', ofAccount.key, ofKey.key]) {
      const sent = await sentBy(gateway, key, path);
      assert.ok(sent.includes('about <EMAIL_1>') && !sent.includes(mail), `${path} ${key}: ${sent}`);
    }
    for (const key of ['sk-cv-free-12345678', other.key]) {
      assert.ok((await sentBy(gateway, key, path)).includes(mail), `${path} ${key}`);
    }
  }
  assert.deepEqual((await call('PATCH', `/keys/${other.id}`, { guards: ['pii'] })).body.guards, ['pii']);
  assert.match(await sentBy(gateway, other.key, '/v1/messages'), /<EMAIL_1>/);
  await call('PATCH', `/keys/${other.id}`, { guards: [] });
  assert.ok((await sentBy(gateway, other.key, '/v1/messages')).includes(mail));
  await call('PATCH', '/accounts/stored', { guards: [] });
  assert.ok((await sentBy(gateway, ofAccount.key, '/v1/messages')).includes(mail));
  const [pattern, path] = [/guards\[0\]: there is no such guard \(did you mean 'pii'/, `/keys/${other.id}`];
  for (const [method, at] of [
    ['PATCH', path],
    ['PATCH', '/accounts/stored'],
  ] as const) {
    const refused = await call(method, at, { guards: ['pi'] });
    assert.equal(refused.status, 400);
    assert.match(refused.body.error!.message, pattern);
  }
  const shown = (await call('GET', '/guards/pii')).body.used_by;
  assert.deepEqual([shown.accounts, shown.keys.length], [['guarded'], 2]);
});

test('nobody is served unguarded when a guard that a key names has left the file', async (t) => {
  const gateway = await startGateway(t, { ...config, guards: { pii } });
  await admin(gateway, 'POST', '/accounts', { id: 'stored' });
  const body = { account: 'stored', name: 'a', guards: ['pii'] };
  const { key } = (await admin(gateway, 'POST', '/keys', body)).body;
  assert.match(await sentBy(gateway, key, '/v1/chat/completions'), /<EMAIL_1>/);
  for (const guards of [config.guards, {}]) {
    await gateway.reload({ ...config, guards });
    const refused = await sentBy(gateway, key, '/v1/chat/completions');
    assert.match(refused, /^503 .*The guard 'pii' of this caller is not set up/);
    assert.equal((await ask(gateway, 'smart')).status, 200);
  }
});

test('commands set the guards of keys and accounts, and all else of a key', async (t) => {
  const gateway = await startGateway(t, config);
  const cwd = temporaryFolder(t);
  const run = (...args: string[]) =>
    runCommand([...args, '--url', gateway.url], { env: { CULVERT_ADMIN_KEY: adminKey }, cwd });
  const made = await run('keys', 'create', '--account', 'acme', '--name', 'a', '--guards', 'fixed', '--json');
  assert.equal(made.code, 0, made.stderr);
  assert.deepEqual((JSON.parse(made.stdout) as Shown).guards, ['fixed']);
  const shown = await run('keys', 'guards', 'acme/a');
  assert.deepEqual((JSON.parse(shown.stdout) as Shown).guards, ['fixed']);
  const none = await run('keys', 'guards', 'acme/a', 'none');
  assert.equal(none.code, 0, none.stderr);
  assert.deepEqual((JSON.parse(none.stdout) as Shown).guards, []);
  const limits = 'budget.month=50,windows.5h=10,rpm=9';
  const changed = await run('keys', 'change', 'acme/a', '--name', 'b', '--limits', limits, '--guards', 'fixed');
  assert.equal(changed.code, 0, changed.stderr);
  const again = await run('keys', 'change', 'acme/b', '--limits', 'rpm=none,windows.5h=12', '--models', 'smart,fast');
  const { name, models, limits: own, guards } = JSON.parse(again.stdout) as Record<string, unknown>;
  assert.deepEqual(
    [name, models, own, guards],
    ['b', ['smart', 'fast'], { budget: { month: 50 }, windows: { '5h': 12 } }, ['fixed']],
  );
  const wrong = await run('keys', 'change', 'acme/b', '--limits', 'budget=much');
  assert.match(wrong.stderr, /limits\.budget: expected off or an object with 5h, week, month/);
  const account = await run('accounts', 'guards', 'acme', 'fixed');
  assert.equal(account.code, 0, account.stderr);
  assert.deepEqual((JSON.parse(account.stdout) as Shown).guards, ['fixed']);
});
