import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { type Ran, runCommand, startProcess, temporaryFolder } from '../start-process.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

type Row = Record<string, unknown>;

const upstreamKey = 'sk-upstream-of-the-cli-0123';

async function world(
  t: TestContext,
): Promise<{ cwd: string; upstream: Upstream; run(...args: string[]): Promise<Ran> }> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'culvert.yaml'), stringify({ autodetect: 'off' }));
  const run = (...args: string[]) => runCommand(args, { cwd, env: { ACME_KEY: upstreamKey } });
  return { cwd, upstream, run };
}

async function json(ran: Promise<Ran>): Promise<Row> {
  const { code, stdout, stderr } = await ran;
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Row;
}

async function ask(url: string, key: string, model: string): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  await response.text();
  return response.status;
}

describe('setting up by commands, run as programs', { concurrency: true }, () => {
  test('providers and models are set up on a command line without a server, and a start serves them', async (t) => {
    const { cwd, upstream, run } = await world(t);
    const add = [
      'providers',
      'add',
      'acme',
      '--type',
      'openai',
      '--base-url',
      `${upstream.url}/v1`,
      '--key-env',
      'ACME_KEY',
    ];
    upstream.script('/v1/models', ['status=401;message=No such key.']);
    const refused = await run(...add);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Nothing was stored \(bad credential\): .*No such key\./);
    const made = await json(run(...add));
    assert.deepEqual([made.name, made.source], ['acme', 'kept']);
    assert.equal(
      (await json(run('models', 'add', 'smart', '--targets', 'acme/mock/ok', '--cost', '2'))).source,
      'kept',
    );
    const listed = await run('providers', 'list', '--json');
    assert.ok(!listed.stdout.includes(upstreamKey));
    const own = await json(run('models', '--json'));
    assert.ok(
      (own.data as Row[]).some(({ id }) => id === 'smart'),
      'what a start would serve',
    );
    const server = await startProcess(t, { cwd });
    await server.said(/sk-cv-|api\.key/);
    const key = readFileSync(join(cwd, '.culvert', 'api.key'), 'utf8').trim();
    assert.equal(await ask(server.url, key, 'smart'), 200);
    const tested = await json(run('providers', 'test', 'acme'));
    assert.equal(tested.ok, true);
    const used = await run('providers', 'remove', 'acme');
    assert.match(used.stderr, /would stop working without it: smart/);
    await json(run('models', 'remove', 'smart'));
    await json(run('providers', 'remove', 'acme'));
    assert.deepEqual(
      ((await json(run('providers', 'list'))).data as Row[]).filter(({ source }) => source === 'kept'),
      [],
    );
  });

  test('the key of a provider is replaced by one that works, and stays where the new one is refused', async (t) => {
    const { cwd, upstream, run } = await world(t);
    const base = `${upstream.url}/v1`;
    await json(run('providers', 'add', 'acme', '--type', 'openai', '--base-url', base, '--key-env', 'ACME_KEY'));
    const file = join(cwd, 'new.key');
    writeFileSync(file, 'upstream-key-of-today-5678\n');
    const hintsOf = async () => {
      const { data } = await json(run('providers', 'list'));
      const acme = (data as { name: string; credentials: Row[] }[]).find(({ name }) => name === 'acme')!;
      return acme.credentials.map(({ hint }) => hint);
    };
    upstream.script('/v1/models', ['status=401;message=No such key.']);
    const [before] = await hintsOf();
    const refused = await run('providers', 'rotate', 'acme', '--key-file', file);
    assert.match(refused.stderr, /Nothing was stored \(bad credential\): .*No such key\./);
    assert.deepEqual([refused.code, await hintsOf()], [1, [before]]);
    await json(run('providers', 'rotate', 'acme', '--key-file', file));
    assert.deepEqual(await hintsOf(), ['…5678']);
    await json(run('providers', 'test', 'acme'));
    assert.equal(upstream.requests().at(-1)?.headers.authorization, 'Bearer upstream-key-of-today-5678');
    assert.match((await run('providers', 'rotate', 'none', '--key-file', file)).stderr, /no provider 'none'/);
  });

  test('a rotated secret opens what is kept, before and after a restart; the old one does not any more', async (t) => {
    const { cwd, upstream, run } = await world(t);
    await json(
      run('providers', 'add', 'acme', '--type', 'openai', '--base-url', `${upstream.url}/v1`, '--key-env', 'ACME_KEY'),
    );
    const file = join(cwd, '.culvert', 'secret');
    const first = readFileSync(file, 'utf8');
    const server = await startProcess(t, { cwd });
    await server.said(/sk-cv-|api\.key/);
    const key = readFileSync(join(cwd, '.culvert', 'api.key'), 'utf8').trim();
    const rotated = await json(run('secret', 'rotate'));
    assert.deepEqual([rotated.source, rotated.resealed, rotated.earlier], ['data folder', 1, 'remembered']);
    assert.notEqual(readFileSync(file, 'utf8'), first);
    // Until the provider's models are known it is 503.
    for (let tries = 0; tries < 100 && (await ask(server.url, key, 'acme/mock/ok')) === 503; tries += 1)
      await pause(50);
    assert.equal(await ask(server.url, key, 'acme/mock/ok'), 200);
    const forgotten = await json(run('secret', 'rotate', '--forget'));
    assert.deepEqual([forgotten.left, forgotten.earlier], [[], 'forgotten']);
    assert.ok(!existsSync(join(cwd, '.culvert', 'secret.earlier')));
    await server.stop();
    const again = await startProcess(t, { cwd });
    upstream.clear();
    assert.equal(await ask(again.url, key, 'acme/mock/ok'), 200);
    assert.equal(
      upstream.requests().find(({ path }) => path.endsWith('/chat/completions'))?.headers.authorization,
      `Bearer ${upstreamKey}`,
    );
    await again.stop();
    writeFileSync(file, first);
    const problem = ((await json(run('providers', 'list'))).data as Row[]).find(({ name }) => name === 'acme')?.problem;
    assert.match(String(problem), /^credential k\w+ cannot be opened here, because another storage\.secret/);
  });

  test('a backup holds what is kept, and a server restored from it opens it', async (t) => {
    const { cwd, upstream, run } = await world(t);
    await json(
      run('providers', 'add', 'acme', '--type', 'openai', '--base-url', `${upstream.url}/v1`, '--key-env', 'ACME_KEY'),
    );
    const backup = join(cwd, 'backup.gz');
    assert.equal((await run('backup', backup)).code, 0);
    const other = temporaryFolder(t);
    writeFileSync(join(other, 'culvert.yaml'), stringify({ autodetect: 'off' }));
    const restored = await runCommand(['restore', backup], { cwd: other });
    assert.equal(restored.code, 0, restored.stderr);
    const tested = await json(runCommand(['providers', 'test', 'acme'], { cwd: other }));
    assert.equal(tested.ok, true);
    assert.equal(upstream.requests().at(-1)?.headers.authorization, `Bearer ${upstreamKey}`);
  });

  test('what is exported starts a server that is the same, elsewhere, with its secrets in variables', async (t) => {
    const { cwd, upstream, run } = await world(t);
    await json(
      run('providers', 'add', 'acme', '--type', 'openai', '--base-url', `${upstream.url}/v1`, '--key-env', 'ACME_KEY'),
    );
    await json(run('models', 'add', 'smart', '--targets', 'acme/mock/ok'));
    const admin = await startProcess(t, { cwd });
    const authorization = `Bearer ${readFileSync(join(cwd, '.culvert', 'admin.key'), 'utf8').trim()}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const call = (path: string, method: string, body: object) =>
      fetch(`${admin.url}/admin/v1${path}`, { method, headers, body: JSON.stringify(body) });
    assert.equal((await call('/plans/pro', 'PUT', { windows: { '5h': 7 } })).status, 200);
    assert.equal((await call('/accounts', 'POST', { id: 'team', name: 'The team', plan: 'pro' })).status, 201);
    assert.equal((await call('/keys', 'POST', { account: 'team', name: 'laptop' })).status, 201);
    await admin.stop();
    const { code, stdout, stderr } = await run('config', 'export');
    assert.equal(code, 0, stderr);
    assert.ok(!stdout.includes(upstreamKey));
    const [, variable] = /^# Set these variables first: (ACME_\w+_API_KEY)$/m.exec(stdout) ?? [];
    assert.ok(variable, stdout);
    const other = temporaryFolder(t);
    writeFileSync(join(other, 'culvert.yaml'), stdout);
    const env = { [variable]: upstreamKey };
    const shown = async (at: string, more: Record<string, string>) => {
      const { data } = await json(runCommand(['models', '--json'], { cwd: at, env: more }));
      return (data as Row[]).map(({ id }) => id);
    };
    const server = await startProcess(t, { cwd: other, env });
    await server.said(/sk-cv-|api\.key/);
    const key = readFileSync(join(other, '.culvert', 'api.key'), 'utf8').trim();
    assert.equal(await ask(server.url, key, 'smart'), 200);
    assert.equal(await ask(server.url, key, 'acme/mock/ok'), 200, 'models of its list too');
    const { data } = await json(runCommand(['accounts', 'list', '--json'], { cwd: other, env }));
    const team = (data as Row[]).find(({ id }) => id === 'team');
    assert.deepEqual([team?.name, team?.plan, team?.status], ['The team', 'pro', 'active']);
    assert.match(stdout, /^# This file leaves out \w+ keys? made at run time/m);
    await server.stop();
    assert.ok((await shown(cwd, {})).includes('smart'));
  });
});
