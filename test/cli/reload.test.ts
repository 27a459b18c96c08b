import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { runCommand, startProcess, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

const key = 'sk-cv-reload-test-1';
const admin = { key: 'sk-cv-admin-reload-test-0001' };

test('a changed file and SIGHUP reload: a new alias is there, the running stream ends whole, an invalid file changes nothing and says why', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const cwd = temporaryFolder(t);
  const file = join(cwd, 'culvert.yaml');
  const configOf = (...aliases: string[]) =>
    stringify({
      server: { port: 0 },
      providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
      models: Object.fromEntries(aliases.map((alias) => [alias, { targets: ['up/mock/ok'] }])),
      keys: [{ key, account: 'dev', name: 'test' }],
      admin,
      autodetect: 'off',
    });
  writeFileSync(file, configOf('one'));
  const gateway = await startProcess(t, { cwd, args: ['--config', 'culvert.yaml'] });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const models = async () => {
    const list = await fetch(`${gateway.url}/v1/models`, { headers });
    const { data } = (await list.json()) as { data: { id: string; model_type: string }[] };
    // Embedding models are there without being configured, as soon as the provider's list is heard.
    return data.filter(({ model_type }) => model_type === 'chat').map(({ id }) => id);
  };
  assert.deepEqual(await models(), ['one']);

  upstream.script('/v1/chat/completions', ['chunks=30;interval=40ms']);
  const body = JSON.stringify({ model: 'one', stream: true, messages: [{ role: 'user', content: 'Hi' }] });
  const stream = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body });
  const streamed = stream.text();

  writeFileSync(file, configOf('one', 'two'));
  await gateway.said('configuration reloaded (the file changed)');
  assert.deepEqual(await models(), ['one', 'two']);

  // A file that is only touched is read again, and the audit log does not say so.
  writeFileSync(file, configOf('one', 'two'));
  await until('the file is read again', () => gateway.stdout().match(/reloaded \(the file changed\)/g)?.length === 2);

  writeFileSync(file, configOf('three').replace('targets', 'tragets'));
  await gateway.said('not reloaded (the file changed)');
  assert.equal((await reloadsOf(gateway.url)).length, 1);
  assert.match(gateway.stdout(), /culvert\.yaml:\d+:\d+ models\.three[^"]*did you mean 'targets'/);
  assert.deepEqual(await models(), ['one', 'two']);
  // Commands go on asking the server, which has the configuration before. Without it, the file's faults end them.
  const made = await runCommand(['keys', 'create', '--account', 'acme', '--name', 'laptop'], { cwd });
  assert.deepEqual([made.code, made.stdout.slice(0, 6)], [0, 'sk-cv-']);
  assert.match(made.stderr, /^warning: culvert\.yaml has errors; culvert check lists them\./);
  for (const command of [
    ['backup', 'all.gz'],
    ['migrate', '--check'],
    ['backup', 'again.gz', '--json'],
  ]) {
    const { code, stderr } = await runCommand(command, { cwd });
    assert.deepEqual([code, /^warning: culvert\.yaml has errors/.test(stderr)], [0, true], stderr);
  }
  // The defaults would be this folder's stores, whatever file was meant.
  writeFileSync(join(cwd, 'misspelt.yaml'), stringify({ storge: { data_dir: './other' } }));
  writeFileSync(join(cwd, 'part.yaml'), stringify({ storage: { data_dir: './other' } }));
  writeFileSync(join(cwd, 'including.yaml'), stringify({ include: ['part.yaml'] }));
  for (const name of ['missing', 'misspelt', 'including']) {
    const { code, stderr } = await runCommand(['backup', `${name}.gz`, '--config', `${name}.yaml`], { cwd });
    assert.deepEqual([code, existsSync(join(cwd, `${name}.gz`))], [1, false], stderr);
  }
  const elsewhere = temporaryFolder(t);
  writeFileSync(join(elsewhere, 'culvert.yaml'), configOf('three').replace('targets', 'tragets'));
  const refused = await runCommand(['keys', 'list'], { cwd: elsewhere });
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.match(refused.stderr, /models\.three/);

  // The same fault again, asked for by signal; then the mended file.
  gateway.child.kill('SIGHUP');
  await gateway.said('not reloaded (SIGHUP)');
  writeFileSync(file, configOf('two'));
  gateway.child.kill('SIGHUP');
  await gateway.said('configuration reloaded (SIGHUP)');
  assert.deepEqual(await models(), ['two']);

  // Its alias is gone, its stream is not.
  assert.match(await streamed, /data: \[DONE\]\n\n$/);

  const reloads = await reloadsOf(gateway.url);
  // The watch may see a file that a signal has read already.
  assert.deepEqual(
    new Set(reloads.map(({ actor, after }) => `${actor}: ${after.why}`)),
    new Set(['server: SIGHUP', 'server: the file changed']),
  );
});

/** Rows of the audit log about reloads. */
async function reloadsOf(url: string) {
  const headers = { authorization: `Bearer ${admin.key}` };
  const audit = await fetch(`${url}/admin/v1/audit?action=config.reload`, { headers });
  return ((await audit.json()) as { data: { actor: string; after: { why?: string } }[] }).data;
}

test('a reload names the settings that wait for the next start, until they are as before', async (t) => {
  const cwd = temporaryFolder(t);
  const write = (port: number) =>
    writeFileSync(join(cwd, 'culvert.yaml'), stringify({ server: { port }, admin, autodetect: 'off' }));
  write(0);
  const gateway = await startProcess(t, { cwd, args: [] });
  const reload = async () => {
    const headers = { authorization: `Bearer ${admin.key}` };
    const answer = await fetch(`${gateway.url}/admin/v1/config/reload`, { method: 'POST', headers });
    return answer.json();
  };
  write(1);
  assert.deepEqual(await reload(), { ok: true, errors: [], at_next_start: ['server.port'] });
  const command = await runCommand(['reload', '--url', gateway.url], { cwd });
  assert.equal(command.stdout, 'The configuration was reloaded.\n');
  assert.equal(command.stderr, 'warning: server.port changed: it takes effect at the next start.\n');
  write(0);
  assert.deepEqual(await reload(), { ok: true, errors: [], at_next_start: [] });
});

test('F40, F54: 100 reloads under load, rotating the provider key, lose no request', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const configOf = (reload: number) => ({
    ...overUpstreams(upstream.url),
    providers: { up1: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: `upstream-secret-${reload}` } },
  });
  const gateway = await startGateway(t, configOf(0));
  let reloading = true;
  let asked = 0;
  const statuses = new Map<number, number>();
  const caller = async (stream: boolean) => {
    while (reloading) {
      asked += 1;
      const json = { model: 'chat', stream, messages: [{ role: 'user', content: 'Hi' }] };
      const answer = await gateway.fetch('/v1/chat/completions', { json });
      const text = await answer.text();
      const whole = stream ? text.endsWith('data: [DONE]\n\n') : text.includes('"finish_reason":"stop"');
      const status = whole ? answer.status : -answer.status;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const callers = Array.from({ length: 8 }, (_, index) => caller(index % 2 === 0));
  for (let reload = 1; reload <= 100; reload++) await gateway.reload(configOf(reload));
  reloading = false;
  await Promise.all(callers);
  assert.deepEqual([...statuses], [[200, asked]]);
  const last = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'chat', messages: [{ role: 'user', content: 'Hi' }] },
  });
  assert.equal(last.status, 200);
  assert.equal(upstream.requests().at(-1)?.headers.authorization, 'Bearer upstream-secret-100');
});
