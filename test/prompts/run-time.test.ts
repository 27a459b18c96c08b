import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';

/* Prompts that are set up while Culvert runs. */

const upstream = await startQuietUpstream();
after(upstream.close);
const config = {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: { smart: { targets: ['up/m'] } },
  prompts: { fixed: { model: 'smart', messages: [{ role: 'system', content: 'of the file' }] } },
};
interface Shown {
  labels: Record<string, number>;
  source: string;
  version: number;
  versions: { number: number; labels: string[]; messages: { content: string }[] }[];
  error?: { message: string; param: string | null };
  data?: { name: string }[];
}

const admin = callAdmin<Shown>;

async function sent(gateway: TestGateway, model: string): Promise<string> {
  upstream.bodies.length = 0;
  const json = { model, messages: [{ role: 'user', content: 'x' }], prompt: { variables: {} } };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  const text = await response.text();
  return response.status === 200 ? upstream.bodies[0]! : text;
}

/** What a file would take for a variable. */
const ofFile = ['text one $', '{HOME}'].join('');
const system = (content: string) => ({ messages: [{ role: 'system', content }] });

test('versions, labels and a roll-back are used by the next request, and stay over a restart of the configuration', async (t) => {
  const gateway = await startGateway(t, config);
  const call = (method: string, path: string, body?: unknown) => admin(gateway, method, path, body);
  const made = await call('POST', '/prompts', { name: 'reply', model: 'smart', ...system(ofFile) });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal(made.body.versions[0]!.number, 1);
  assert.ok((await sent(gateway, 'prompt/reply')).includes(ofFile));

  const live = await call('POST', '/prompts/reply/labels', { label: 'production', version: 1 });
  assert.deepEqual(live.body.labels, { production: 1 });
  const draft = await call('POST', '/prompts/reply/versions', { model: 'smart', ...system('text two') });
  assert.deepEqual(
    draft.body.versions.map(({ number, labels }) => [number, labels]),
    [
      [2, []],
      [1, ['production']],
    ],
  );
  assert.match(await sent(gateway, 'prompt/reply'), /text one/);
  assert.match(await sent(gateway, 'prompt/reply@2'), /text two/);
  await call('POST', '/prompts/reply/labels', { label: 'production', version: 2 });
  assert.match(await sent(gateway, 'prompt/reply'), /text two/);
  await call('POST', '/prompts/reply/labels', { label: 'production', version: 1 });
  assert.match(await sent(gateway, 'prompt/reply@production'), /text one/);
  await gateway.reload(config);
  assert.match(await sent(gateway, 'prompt/reply@production'), /text one/);
  const third = await call('POST', '/prompts/reply/versions', {
    model: 'smart',
    labels: ['production'],
    ...system('text three'),
  });
  assert.equal(third.body.labels.production, 3);
  assert.match(await sent(gateway, 'prompt/reply'), /text three/);

  const list = await call('GET', '/prompts');
  assert.deepEqual(
    list.body.data!.map(({ name }) => name),
    ['fixed', 'reply'],
  );
  assert.equal((await call('DELETE', '/prompts/reply')).status, 200);
  assert.match(await sent(gateway, 'prompt/reply'), /There is no prompt 'reply'/);
});

test('what does not fit is refused by its field, and nothing changes', async (t) => {
  const gateway = await startGateway(t, config);
  const call = (method: string, path: string, body?: unknown) => admin(gateway, method, path, body);
  const refusals: [string, string, unknown, number, RegExp][] = [
    ['POST', '/prompts', { name: 'odd', ...system('{{tone}}') }, 400, /\{\{tone\}\} is no variable/],
    [
      'POST',
      '/prompts',
      { name: 'odd', model: 'smat', ...system('x') },
      400,
      /model: there is no such model \(did you mean 'smart'/,
    ],
    ['POST', '/prompts', { name: 'odd' }, 400, /either messages or versions/],
    ['POST', '/prompts', { name: 'fixed', ...system('x') }, 409, /prompts\.fixed is set in/],
    ['POST', '/prompts/fixed/versions', system('x'), 409, /prompts\.fixed is set in/],
    ['POST', '/prompts/none/versions', system('x'), 404, /no prompt 'none'/],
    ['DELETE', '/prompts/none', undefined, 404, /no prompt 'none'/],
  ];
  for (const [method, path, body, status, message] of refusals) {
    const refused = await call(method, path, body);
    assert.equal(refused.status, status, JSON.stringify(refused.body));
    assert.match(refused.body.error!.message, message);
  }
  await call('POST', '/prompts', { name: 'reply', ...system('one') });
  const label = await call('POST', '/prompts/reply/labels', { label: 'production', version: 9 });
  assert.equal(label.status, 400);
  assert.match(label.body.error!.message, /labels\.production: there is no such version, only 1/);
  const changed = await call('PATCH', '/prompts/reply', { versions: { 1: system('other') } });
  assert.equal(changed.status, 400);
  assert.match(changed.body.error!.message, /versions\.1: a version does not change/);
  const used = await call('POST', '/models', { id: 'own', targets: ['up/m'] });
  assert.equal(used.status, 201);
  await call('POST', '/prompts', { name: 'of-own', model: 'own', ...system('x') });
  const needed = await call('DELETE', '/models/own');
  assert.equal(needed.status, 409);
  assert.match(needed.body.error!.message, /of-own/);
});

test('commands create, label and remove prompts', async (t) => {
  const gateway = await startGateway(t, config);
  const cwd = temporaryFolder(t);
  const run = (...args: string[]) =>
    runCommand(['prompts', ...args, '--url', gateway.url], { env: { CULVERT_ADMIN_KEY: adminKey }, cwd });
  const added = await run(
    'add',
    'reply',
    '--system',
    'Reply in a {{tone}} tone.',
    '--variables',
    'tone',
    '--model',
    'smart',
  );
  assert.equal(added.code, 0, added.stderr);
  const next = await run('version', 'reply', '--system', 'Be brief.', '--model', 'smart', '--labels', 'next');
  assert.equal(next.code, 0, next.stderr);
  assert.equal((JSON.parse(next.stdout) as Shown).versions[0]!.number, 2);
  assert.equal((await run('label', 'reply', '--label', 'production', '--to', '1')).code, 0);
  const list = await run('list');
  const [, shown] = (JSON.parse(list.stdout) as { data: Shown[] }).data;
  assert.deepEqual(shown!.labels, { next: 2, production: 1 });
  assert.match((await run('show', 'reply')).stdout, /Be brief/);
  assert.equal((await run('remove', 'reply')).code, 0);
});
