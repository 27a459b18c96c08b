import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { CliParts } from '../../src/cli/parts.ts';
import { createProgram } from '../../src/cli/program.ts';
import { findEspeak } from '../../src/engines/espeak.ts';
import { modelFacts } from '../../src/formats/providers/model-facts.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { cleanEnv, culvertBin, launch, runCommand, temporaryFolder } from '../start-process.ts';

// They mostly wait for child processes.
describe('commands, run as programs', { concurrency: true }, () => {
  test('help names every command', async (t) => {
    const cwd = temporaryFolder(t);
    const help = await runCommand(['--help'], { cwd });
    assert.equal(help.code, 0);
    for (const wanted of ['start', 'init', 'check', 'explain', 'mock', 'models', 'keys', 'chat', 'doctor', 'usage'])
      assert.match(help.stdout, new RegExp(`^  ${wanted} `, 'm'));
    const create = await runCommand(['keys', 'create', '--help'], { cwd });
    assert.equal(create.code, 0);
    assert.match(create.stdout, /Example:\n {2}KEY=\$\(culvert keys create/);
  });

  test('every command has an example in its help, and stands in docs/cli.md', async () => {
    const ignore = async () => undefined;
    const docs = readFileSync('docs/cli.md', 'utf8');
    const look = (command: Command, words: readonly string[]) => {
      const line = ['culvert', ...words].join(' ');
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
      assert.match(help, /Example:\n {2}\S/, line);
      if (command.commands.length === 0) assert.ok(docs.includes(line), `docs/cli.md does not show ${line}`);
      for (const each of command.commands) look(each, [...words, each.name()]);
    };
    look(await createProgram({ version: '0.0.0' } as CliParts, ignore, ignore, null), []);
  });

  test('a wrong call ends with 2 and says what was probably meant', async (t) => {
    const cwd = temporaryFolder(t);
    const wrong: [string[], RegExp][] = [
      [['chek'], /did you mean 'culvert check'/i],
      [['check', '--lvie'], /Did you mean --live/],
      [['keys', 'creat'], /Did you mean create/],
      [['keys', 'create', '--account', 'a'], /--name.*culvert keys create --help/s],
      [['start', '--port', '70000'], /port from 0 to 65535/],
      [['keys', 'create', '--account', 'a', '--name', 'n', '--expires', 'soon'], /2027-01-01, or 90d/],
      [['models', 'remove', 'x', '--url', 'nonsense'], /is not the URL of a server/],
      [['usage', 'recalculate', '--from', 'yesterday', '--apply'], /--from: expected a date such as 2027-01-01/],
      [['models', '--url', 'nonsense', 'remove', 'x'], /Write --url behind 'remove'/],
      [
        ['keys', 'create', '--account', 'a', '--name', 'n', '--budget', '5'],
        /'--limits' sets all limits, such as --limits budget/,
      ],
      [['models', '--url', 'nonsense'], /is not the URL of a server/],
      [['keys', 'list', '--url', 'nonsense'], /is not the URL of a server/],
      [['keys', 'rotate', 'x', '--grace', 'soon'], /such as 24h, or 0s/],
      [['bench', 'http://127.0.0.1:9', '--duration', '2h'], /at most 1h/],
      [['usage', '--group-by', 'colour'], /Allowed choices are day, model/],
      [['usage', '--from', 'yesterday'], /--from: expected a date such as 2027-01-01/],
      [['requests', 'list', '--limit', '0'], /whole number from 1 to 100000/],
    ];
    const runs = await Promise.all(wrong.map(([args]) => runCommand(args, { cwd })));
    for (const [index, { code, stdout, stderr }] of runs.entries()) {
      assert.equal(code, 2, stderr);
      assert.match(stderr, wrong[index]![1]);
      assert.equal(stdout, '');
    }
  });

  test('a file that is not there, and a folder that is not, are named in a sentence', async (t) => {
    const cwd = temporaryFolder(t);
    const wrong: [string[], string][] = [
      [['import', 'litellm', 'none.yaml'], 'There is no file none.yaml.'],
      [['explain', 'none.json'], 'There is no file none.json.'],
      [['init', 'none/culvert.yaml'], 'none/culvert.yaml cannot be written: its folder does not exist.'],
    ];
    for (const [args, sentence] of wrong)
      assert.deepEqual(await runCommand(args, { cwd }), { code: 1, stdout: '', stderr: `${sentence}\n` });
  });

  test('commands that other servers have lead to ours', async (t) => {
    const cwd = temporaryFolder(t);
    for (const [word, wanted] of [
      ['status', /There is no command 'status'.*culvert doctor/s],
      ['stop', /There is no command 'stop'.*SIGTERM/s],
      ['restart', /There is no command 'restart'.*culvert reload/s],
      ['version', /There is no command 'version'.*culvert --version/s],
      ['logs', /There is no command 'logs'.*standard output/s],
      ['validate', /There is no command 'validate'.*culvert check/s],
      ['serv', /There is no command 'serv'\. Did you mean '\S* ?\S*culvert\S* start'\? [^,]*$/s],
      ['constructor', /There is no command 'constructor'\. Commands: /s],
    ] as const) {
      const { code, stderr } = await runCommand([word], { cwd });
      assert.equal(code, 2);
      assert.match(stderr, wanted);
    }
    const { code, stderr } = await runCommand(['help', 'nope'], { cwd });
    assert.deepEqual([code, /There is no command 'nope'/.test(stderr)], [2, true]);
    const version = (await runCommand(['--version'], { cwd })).stdout;
    assert.equal((await runCommand(['start', '--version'], { cwd })).stdout, version);
    for (const word of ['serve', 'run']) {
      const { code, stdout } = await runCommand([word, '--help'], { cwd });
      assert.equal(code, 0);
      assert.match(stdout, /^Usage: \S* ?\S*culvert\S* start /);
    }
  });

  test('--help lists every command in a group', async (t) => {
    const { stdout } = await runCommand(['--help'], { cwd: temporaryFolder(t) });
    assert.doesNotMatch(stdout, /^Commands:$/m);
    for (const heading of ['Start and configure:', 'Ask models:', 'Keys and people:', 'Keep data:'])
      assert.ok(stdout.includes(`\n${heading}\n`), heading);
  });

  test('init writes a file that check accepts, and never writes over one', async (t) => {
    const cwd = temporaryFolder(t);
    const file = join(cwd, 'culvert.yaml');
    assert.equal((await runCommand(['init'], { cwd })).code, 0);
    const written = readFileSync(file, 'utf8');
    const check = await runCommand(['check'], { cwd });
    assert.equal(check.code, 0, check.stderr);
    // The number of simulated capabilities depends on this machine's installations.
    assert.match(check.stdout, /^OK: culvert\.yaml \(0 providers, \d+ models, 0 keys\)\n$/);
    const [, schema] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(written)!;
    assert.equal(readFileSync(join(cwd, schema!), 'utf8'), readFileSync('docs/culvert.schema.json', 'utf8'));
    const named = [...written.matchAll(/(?:claude\/|openai\/|model: )((?:claude|gpt)-[\w.-]+)/g)].map(([, id]) => id!);
    assert.equal(named.length, 3);
    for (const id of named) assert.notEqual(modelFacts(id), null, `${id} is a model that its vendor has`);
    writeFileSync(file, `${written}\n# mine\n`);
    const again = await runCommand(['init'], { cwd });
    assert.equal(again.code, 1);
    assert.match(again.stderr, /culvert\.yaml already exists/);
    assert.equal(readFileSync(file, 'utf8'), `${written}\n# mine\n`);
  });

  test('check tells every error with its place, as text and as JSON, and ends with 1', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(
      join(cwd, 'mine.yaml'),
      'providers:\n  openai:\n    type: openai\n    api_key: k\n    timeouts: { first_token: 30 }\nmodls: {}\n',
    );
    const check = await runCommand(['check', '--config', 'mine.yaml'], { cwd });
    assert.equal(check.code, 1);
    assert.match(check.stderr, /^mine\.yaml:5:\d+ providers\.openai\.timeouts\.first_token: expected a duration/m);
    assert.match(check.stderr, /^mine\.yaml:6:1 modls: .*did you mean 'models'/m);
    const named = await runCommand(['check', 'mine.yaml'], { cwd });
    assert.deepEqual(named, check, 'as init takes it');
    const json = await runCommand(['check', '--json'], { cwd, env: { CULVERT_CONFIG: 'mine.yaml' } });
    assert.equal(json.code, 1);
    const { ok, errors } = JSON.parse(json.stdout) as { ok: boolean; errors: { line: number; path: string }[] };
    assert.equal(ok, false);
    assert.deepEqual(
      errors.map(({ line, path }) => [line, path]),
      [
        [5, 'providers.openai.timeouts.first_token'],
        [6, 'modls'],
      ],
    );
  });

  test('check --schema prints the schema that editors use', async (t) => {
    const { stdout } = await runCommand(['check', '--schema'], { cwd: temporaryFolder(t) });
    assert.deepEqual(JSON.parse(stdout), JSON.parse(readFileSync('docs/culvert.schema.json', 'utf8')));
  });

  test('check counts what it found, and makes no data folder', async (t) => {
    const cwd = temporaryFolder(t);
    const config = {
      providers: { up: { type: 'openai', api_key: 'canary-secret-1' } },
      models: { one: { targets: ['up/a'] }, two: { targets: ['up/b'] } },
      keys: [{ key: 'sk-cv-canary-secret-2', account: 'dev', name: 'n' }],
    };
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { code, stdout, stderr } = await runCommand(['check'], { cwd });
    assert.equal(code, 0, stderr);
    assert.equal(stdout, 'OK: culvert.yaml (1 provider, 2 models, 1 key)\n', 'the models of the file');
    assert.doesNotMatch(stdout + stderr, /canary/);
    assert.ok(!existsSync(join(cwd, '.culvert')));
  });

  test('check warns, with the line, of what replicas would not share', { skip: postgresMissing }, async (t) => {
    const cwd = temporaryFolder(t);
    const url = (await startPostgres(t)).newDatabase();
    const secret = 'canary-secret-of-32-bytes-or-more';
    const config = { storage: { database: url, state: 'redis://h', secret }, vectors: { engine: 'embedded' } };
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { code, stdout, stderr } = await runCommand(['check'], { cwd });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^warning: culvert\.yaml:\d+:\d+ vectors\.engine: replicas do not share embedded vectors/m);
    assert.doesNotMatch(stdout + stderr, /canary/);
  });

  test('keys create shows the secret once, alone on standard output; keys list shows no secret', async (t) => {
    const startedMs = Date.now();
    const cwd = temporaryFolder(t);
    const made = await runCommand(
      ['keys', 'create', '--account', 'team', '--name', 'ci', '--expires', '90d', '--models', 'a, b-*'],
      { cwd },
    );
    assert.equal(made.code, 0, made.stderr);
    const secret = made.stdout.trim();
    assert.match(made.stdout, /^sk-cv-[A-Za-z0-9]{12}-[A-Za-z0-9]{43}\n$/);
    assert.match(made.stderr, /account 'team', plan 'default'/);
    for (const file of ['culvert.db', 'culvert.db-wal']) {
      const path = join(cwd, '.culvert', file);
      if (existsSync(path)) assert.ok(!readFileSync(path, 'latin1').includes(secret));
    }
    assert.equal(statSync(join(cwd, '.culvert')).mode & 0o077, 0);

    const list = await runCommand(['keys', 'list'], { cwd });
    assert.ok(!list.stdout.includes(secret));
    const { data } = JSON.parse(list.stdout) as { data: Record<string, unknown>[] };
    assert.equal(data.length, 1);
    const { id, account, name, plan, status, from, models, expires } = data[0]!;
    assert.deepEqual(
      { id, account, name, plan, status, from, models },
      {
        id: secret.slice(6, 18),
        account: 'team',
        name: 'ci',
        plan: 'default',
        status: 'active',
        from: 'admin api',
        models: ['a', 'b-*'],
      },
    );
    const ninetyDaysLaterMs = Date.parse(String(expires)) - 90 * 86_400_000;
    assert.ok(ninetyDaysLaterMs >= startedMs - 1_000 && ninetyDaysLaterMs <= Date.now() + 1_000, String(expires));
  });

  test('keys create refuses in one sentence: an unknown plan, a used name, a declared name, a plan an account does not have', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(
      join(cwd, 'culvert.yaml'),
      stringify({
        plans: { pro: { windows: 'off', rpm: 'off' } },
        accounts: { paying: { plan: 'pro' } },
        keys: [{ key: 'sk-cv-declared-0001', account: 'paying', name: 'declared' }],
      }),
    );
    const create = (account: string, name: string, ...more: string[]) =>
      runCommand(['keys', 'create', '--account', account, '--name', name, ...more], { cwd });
    assert.equal((await create('paying', 'one')).code, 0);
    const refusals = await Promise.all([
      create('new', 'one', '--plan', 'prp'),
      create('paying', 'one'),
      create('paying', 'declared'),
      create('paying', 'two', '--plan', 'default'),
      create('a/b', 'one'),
    ]);
    const sentences = [
      /no plan 'prp' \(did you mean 'pro'\?\)/,
      /named 'one' exists/,
      /named 'declared' exists/,
      /has plan 'pro'/,
      /^account: /,
    ];
    for (const [index, { code, stdout, stderr }] of refusals.entries()) {
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, sentences[index]!);
      assert.equal(stderr.trim().split('\n').length, 1);
    }
  });

  test('models without a server lists the configuration, limited to a key that is named', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(
      join(cwd, 'culvert.yaml'),
      stringify({
        providers: { up: { type: 'openai', api_key: 'k' } },
        models: { one: { targets: ['up/a'] }, two: { targets: ['up/b'] } },
        keys: [{ key: 'sk-cv-declared-0001', account: 'dev', name: 'n', models: ['two'] }],
      }),
    );
    const ids = async (...args: string[]) => {
      const { stdout } = await runCommand(['models', ...args], { cwd });
      return (JSON.parse(stdout) as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    const listed = await ids();
    assert.deepEqual(listed.slice(0, 3), ['one', 'two', 'culvert-lexical-1024']);
    assert.equal(listed.includes('espeak-ng'), findEspeak() !== null);
    assert.deepEqual(await ids('--key', 'dev/n'), ['two']);
  });

  test('mock answers as it is told, prints each request, and ends at a signal', async (t) => {
    const faults = await runCommand(['mock', '--faults'], { cwd: temporaryFolder(t) });
    assert.match(faults.stdout, /status=503/);
    const mock = launch(t, ['mock', '--port', '0', '--name', 'first']);
    await mock.said(/listens on http:\/\/\S+;/);
    const url = /listens on (http:\/\/\S+);/.exec(mock.stdout())![1]!;
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-mock': 'status=503;retry-after=2' },
      body: '{"model":"sim/chat","messages":[]}',
    });
    assert.deepEqual(
      [answer.status, answer.headers.get('retry-after'), answer.headers.get('x-mock-name')],
      [503, '2', 'first'],
    );
    await answer.text();
    await mock.said('POST /v1/chat/completions');
    mock.child.kill('SIGINT');
    assert.deepEqual(await mock.exited, { code: 0, signal: null });
  });

  test('mock names the port that is taken, and no database', async (t) => {
    const first = launch(t, ['mock', '--port', '0']);
    await first.said(/listens on http:\/\/\S+;/);
    const { port } = new URL(/listens on (http:\/\/\S+);/.exec(first.stdout())![1]!);
    const second = await runCommand(['mock', '--port', port], { cwd: temporaryFolder(t) });
    assert.deepEqual([second.code, second.stdout], [1, '']);
    assert.match(second.stderr, new RegExp(`^Another program uses port ${port} on 127\\.0\\.0\\.1\\. `));
    await first.stop();
  });

  test('a reader that has read enough ends a listing without a word', async (t) => {
    const command = launch(t, ['check', '--schema']);
    command.child.stdout?.destroy();
    assert.deepEqual(await command.exited, { code: 0, signal: null });
    assert.equal(command.stderr(), '');
  });

  const noFullDevice = existsSync('/dev/full') ? false : 'there is no /dev/full';
  test('output that a full disk does not take is no success', { skip: noFullDevice }, async (t) => {
    const cwd = temporaryFolder(t);
    for (const args of [
      ['check', '--schema'],
      ['keys', 'create', '--account', 'a', '--name', 'n'],
      ['requests', 'export'],
    ]) {
      const full = openSync('/dev/full', 'w');
      const child = spawn(process.execPath, [culvertBin, ...args], {
        cwd,
        env: cleanEnv(),
        stdio: ['ignore', full, 'pipe'],
      });
      closeSync(full);
      let stderr = '';
      child.stderr!.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      const [code] = await once(child, 'close');
      assert.equal(code, 1, args.join(' '));
      assert.match(stderr, /The output could not be written \(ENOSPC\)/);
    }
  });

  test('a key whose secret reaches nobody is revoked', { skip: noFullDevice }, async (t) => {
    const cwd = temporaryFolder(t);
    const full = openSync('/dev/full', 'w');
    t.after(() => closeSync(full));
    for (const [name, stdout] of [
      ['full', full],
      ['closed', 'pipe'],
    ] as const) {
      const args = [culvertBin, 'keys', 'create', '--account', 'a', '--name', name];
      const child = spawn(process.execPath, args, { cwd, env: cleanEnv(), stdio: ['ignore', stdout, 'pipe'] });
      child.stdout?.destroy();
      const stderr = textOf(child.stderr!);
      assert.deepEqual(await once(child, 'close'), [1, null]);
      assert.match(await stderr, /could not be written \(\w+\)\. Nobody has the secret, so the key was revoked\.\n$/);
    }
    const { stdout } = await runCommand(['keys', 'list', '--json'], { cwd });
    const { data } = JSON.parse(stdout) as { data: { name: string; status: string }[] };
    assert.deepEqual(data.map(({ name, status }) => `${name} ${status}`).sort(), ['closed revoked', 'full revoked']);
  });

  test('a time that no date can name is a wrong call, not a crash', async (t) => {
    const cwd = temporaryFolder(t);
    for (const args of [
      ['keys', 'create', '--account', 'a', '--name', 'n', '--expires', '999999999d'],
      ['usage', '--from', '999999999d'],
      ['requests', 'list', '--since', '100000000d'],
    ]) {
      const { code, stderr } = await runCommand(args, { cwd });
      assert.deepEqual([code, /expected a date such as 2027-01-01, or 90d/.test(stderr)], [2, true], stderr);
    }
  });
});

test('check warns of an embedding model whose provider makes no embeddings', async (t) => {
  const cwd = temporaryFolder(t);
  const claude = { type: 'anthropic', api_key: 'k' };
  writeFileSync(
    join(cwd, 'culvert.yaml'),
    stringify({ providers: { claude }, models: { e: { type: 'embedding', targets: ['claude/claude-sonnet-4-5'] } } }),
  );
  const { code, stderr } = await runCommand(['check'], { cwd });
  assert.equal(code, 0);
  assert.equal(stderr, 'warning: models.e.targets[0]: claude (anthropic) has no embeddings\n');
});

test('check names the models that nobody has a price of', async (t) => {
  const cwd = temporaryFolder(t);
  const claude = { type: 'anthropic', api_key: 'k' };
  const models = {
    own: { targets: ['claude/my-own'] },
    known: { targets: ['claude/claude-sonnet-4-5'] },
    deployed: { targets: [{ provider: 'claude', model: 'my-deployment', priced_as: 'claude-sonnet-4-5' }] },
  };
  writeFileSync(join(cwd, 'culvert.yaml'), stringify({ providers: { claude }, models }));
  const { code, stderr } = await runCommand(['check'], { cwd });
  assert.equal(code, 0);
  assert.match(stderr, /^warning: no price is known of claude\/my-own: usage and budgets leave out their USD\./);
  const { stdout } = await runCommand(['check', '--json'], { cwd });
  assert.deepEqual(JSON.parse(stdout).unpriced, ['claude/my-own']);
});
