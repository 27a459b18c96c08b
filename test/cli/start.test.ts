import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { cleanEnv, closedPort, launch, runCommand, startProcess, temporaryFolder } from '../start-process.ts';

const userKey = /^sk-cv-(?!admin)[A-Za-z0-9]{12}-[A-Za-z0-9]{43}\n$/;
const adminKey = /^sk-cv-admin-[A-Za-z0-9]{43}\n$/;

// They mostly wait for child processes.
describe('culvert start', { concurrency: true }, () => {
  test('a first start without configuration keeps each key in a file, and its curl answers when pasted, labelled as simulated', async (t) => {
    const cwd = temporaryFolder(t);
    const first = await startProcess(t, { cwd });
    await first.said(/curl .*\n(.*\n){3}/);
    const printed = first.stdout();
    assert.match(first.url, /^http:\/\/127\.0\.0\.1:/, 'nobody else can reach it');
    assert.match(readFileSync(join(cwd, '.culvert/admin.key'), 'utf8'), adminKey);
    assert.match(readFileSync(join(cwd, '.culvert/api.key'), 'utf8'), userKey);
    assert.match(printed, /chat +simulated/);

    const curl = printed.slice(printed.indexOf('  curl ')).replaceAll('curl ', 'curl -s -i ');
    const { stdout } = await promisify(execFile)('sh', ['-c', curl], { cwd, env: cleanEnv() });
    assert.match(stdout, /^HTTP\/1\.1 200 /);
    assert.match(stdout, /x-culvert-simulated: true/i);
    assert.match(stdout, /"content":"\[simulated\]/);
    assert.deepEqual(await first.stop(), { code: 0, signal: null });

    const second = await startProcess(t, { cwd });
    await second.said(/curl .*\n(.*\n){3}/);
    assert.doesNotMatch(second.stdout(), /sk-cv-/);
    const later = second.stdout();
    assert.match(later, /^Admin key.*: in \.culvert\/admin\.key$/m, 'who missed them at the first start finds them');
    const again = later.slice(later.indexOf('  curl ')).replaceAll('curl ', 'curl -s -i ');
    const pasted = await promisify(execFile)('sh', ['-c', again], { cwd, env: cleanEnv() });
    assert.match(pasted.stdout, /^HTTP\/1\.1 200 /, 'the first key is found again');
    assert.deepEqual(await second.stop(), { code: 0, signal: null });
  });

  for (const processes of [1, 2])
    test(`whoever waits for /readyz finds the first key, and it opens the server (processes: ${processes})`, async (t) => {
      const cwd = temporaryFolder(t);
      const port = await closedPort();
      writeFileSync(join(cwd, 'culvert.yaml'), stringify({ server: { port, processes }, autodetect: 'off' }));
      launch(t, ['start'], { cwd });
      const url = `http://127.0.0.1:${port}`;
      // Without a pause, and of any worker: the key was there some milliseconds later.
      const ready = { headers: { connection: 'close' } };
      while ((await fetch(`${url}/readyz`, ready).catch(() => null))?.status !== 200);
      const authorization = `Bearer ${readFileSync(join(cwd, '.culvert/api.key'), 'utf8').trim()}`;
      assert.equal((await fetch(`${url}/v1/models`, { headers: { authorization } })).status, 200);
    });

  test('S12: no secret stands in any command line, and files with secrets are for their owner alone', async (t) => {
    const cwd = temporaryFolder(t);
    const provider = 'sk-provider-canary-0001';
    const baseUrl = `http://127.0.0.1:${await closedPort()}/v1`;
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own reference.
    const providers = { up: { type: 'openai', base_url: baseUrl, api_key: '${UP_KEY}' } };
    writeFileSync(
      join(cwd, 'culvert.yaml'),
      stringify({ server: { port: 0 }, providers, models: { m: { targets: ['up/m'] } } }),
    );
    const gateway = await startProcess(t, { cwd, args: [], env: { UP_KEY: provider } });
    await gateway.said(/curl .*\n(.*\n){3}/);
    const kept = ['admin.key', 'api.key'].map((name) => readFileSync(join(cwd, '.culvert', name), 'utf8').trim());
    const secrets = [provider, ...kept];
    assert.equal(new Set(secrets).size, 3);
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      let line = '';
      try {
        line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        continue; // It ended meanwhile.
      }
      for (const secret of secrets) assert.ok(!line.includes(secret), `a secret stands in the command line of ${pid}`);
    }
    assert.equal(statSync(join(cwd, '.culvert')).mode & 0o077, 0);
  });

  test('a second server on the same data folder refuses, naming the process and the URL of the first', async (t) => {
    const cwd = temporaryFolder(t);
    const first = await startProcess(t, { cwd });
    const second = launch(t, ['start', '--port', '0'], { cwd });
    assert.equal((await second.exited).code, 1);
    assert.ok(second.stderr().includes(`process ${first.child.pid}, ${first.url}`), second.stderr());
  });

  test('a taken port is a sentence that names it', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    t.after(() => other.close());
    const { port } = other.address() as { port: number };
    const gateway = launch(t, ['start', '--port', String(port)]);
    assert.equal((await gateway.exited).code, 1);
    assert.equal(
      gateway.stderr(),
      `Another program uses port ${port} on 127.0.0.1. Stop it, or choose another port: --port, PORT or server.port.\n`,
    );
  });

  test('S15: where others can reach it, a start without a key refuses with the command that makes one, which then helps', async (t) => {
    const cwd = temporaryFolder(t);
    const args = ['--host', '0.0.0.0', '--port', '0'];
    const refused = launch(t, ['start', ...args], { cwd });
    assert.equal((await refused.exited).code, 1);
    const command = /culvert (keys create .*)$/m.exec(refused.stderr())?.[1];
    assert.ok(command, refused.stderr());
    const made = await runCommand(command.trim().split(' '), { cwd });
    assert.equal(made.code, 0, made.stderr);

    const gateway = await startProcess(t, { cwd, args });
    const models = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${made.stdout.trim()}` },
    });
    assert.equal(models.status, 200);
    assert.doesNotMatch(gateway.stdout(), /sk-cv-/);
  });

  test('a data folder that cannot be used is a sentence that names the file, for every command', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'taken'), '');
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'data', 'culvert.db'), 'no database, '.repeat(400));
    const commands = [
      ['start', '--port', '0'],
      ['keys', 'list'],
      ['keys', 'create', '--account', 'a', '--name', 'b'],
    ];
    for (const [dataDir, file] of [
      ['taken', 'taken'],
      ['data', 'culvert.db'],
    ] as const) {
      writeFileSync(join(cwd, 'culvert.yaml'), stringify({ storage: { data_dir: dataDir } }));
      for (const command of commands) {
        if (dataDir === 'taken' && command[1] === 'list') continue; // No key is there, and nothing is made for a look.
        const { code, stderr } = await runCommand(command, { cwd });
        assert.equal(code, 1);
        assert.match(stderr, new RegExp(`^The data folder cannot be used: \\S*${file}: .*storage\\.data_dir.*\n$`));
      }
    }
  });

  test('npm passes options and signals to the gateway, without a word that only some shells know', {
    timeout: 30_000,
  }, async (t) => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
    assert.deepEqual([scripts.start, scripts.culvert], ['node scripts/run.mjs --web start', 'node scripts/run.mjs']);
    // Not `npm start`, which may build the dashboard.
    const npm = spawn('npm', ['run', '--silent', 'culvert', '--', 'start', '--port', '0'], {
      env: cleanEnv({ CULVERT_DATA_DIR: temporaryFolder(t) }),
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    t.after(() => {
      try {
        process.kill(-npm.pid!, 'SIGKILL');
      } catch {} // They have ended.
    });
    let said = '';
    for await (const text of npm.stdout.setEncoding('utf8')) {
      if (!said.includes('listens on') && (said + text).includes('listens on')) npm.kill('SIGTERM');
      said += text;
    }
    assert.match(said, /listens on http:\/\/127\.0\.0\.1:(?!4141\n)\d+.*SIGTERM: running requests finish/s);
  });

  test('an invalid configuration starts nothing, and every error has its place', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), 'server:\n  port: many\nprovders: {}\n');
    const gateway = launch(t, ['start'], { cwd });
    assert.equal((await gateway.exited).code, 1);
    assert.match(gateway.stderr(), /^culvert\.yaml:2:3 server\.port: /m);
    assert.match(gateway.stderr(), /^culvert\.yaml:3:1 .*did you mean 'providers'/m);
  });
});
