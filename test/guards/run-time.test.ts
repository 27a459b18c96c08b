import assert from 'node:assert/strict';
import { after, test } from 'node:test';
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
  used_by: { server: boolean; models: string[]; plans: string[] };
  data: Shown[];
  error?: { message: string; param: string | null };
}

async function admin(gateway: TestGateway, method: string, path: string, body?: unknown) {
  const response = await gateway.fetch(`/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}` },
    ...(body !== undefined && { json: body, method }),
  });
  return { status: response.status, body: (await response.json()) as Shown };
}

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
