import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { closedPort, runCommand, startProcess, temporaryFolder } from '../start-process.ts';

interface Finding {
  check: string;
  state: 'ok' | 'warning' | 'problem';
  message: string;
  fix: string | null;
}

async function doctorIn(cwd: string, ...args: string[]) {
  const { code, stdout, stderr } = await runCommand(['doctor', ...args], { cwd });
  assert.equal(stderr, '');
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  return { code, ok, find: (check: string) => findings.find((finding) => finding.check === check)!, findings };
}

const free = 'server: { port: 0 }\nautodetect: off\n';

describe('what looks after an installation, run as programs', { concurrency: true }, () => {
  test('doctor finds a new folder well, changes nothing, and says what is still to come', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), free);
    const { code, ok, find, findings } = await doctorIn(cwd);
    assert.deepEqual([code, ok], [0, true], JSON.stringify(findings));
    assert.match(find('data folder').message, /created at the first start/);
    assert.equal(find('providers').state, 'warning');
    for (const [name, fix] of [
      ['transcription', /culvert add transcription/],
      ['images', /sd-server/],
    ] as const) {
      assert.match(find(name).message, /^simulated: /);
      assert.match(find(name).fix!, fix);
    }
    assert.match(find('speech').message, /^(simulated|local): /);
    assert.ok(findings.every(({ state, fix }) => (state === 'ok') === (fix === null)));
    assert.deepEqual(readdirSync(cwd), ['culvert.yaml']);
  });

  test('doctor names errors of the configuration, and ends with 1', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), 'servr: {}\n');
    const { code, ok, find } = await doctorIn(cwd);
    assert.deepEqual([code, ok], [1, false]);
    assert.match(find('config').message, /culvert\.yaml:1:1 servr: .*did you mean 'server'/);
  });

  test('doctor says what is wrong with a data folder that is none, rather than fail on it', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), `${free}storage: { data_dir: ./data }\n`);
    writeFileSync(join(cwd, 'data'), '');
    const { code, ok, find } = await doctorIn(cwd);
    assert.deepEqual([code, ok], [1, false]);
    assert.match(find('data folder').message, /data is a file$/);
    assert.equal(find('disk').state === 'problem', false);
  });

  test('a secret that was cut short keeps the server from starting, in one sentence', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), free);
    mkdirSync(join(cwd, '.culvert'), { mode: 0o700 });
    writeFileSync(join(cwd, '.culvert', 'secret'), 'short\n', { mode: 0o600 });
    assert.match((await doctorIn(cwd)).find('storage secret').message, /is cut short$/);
    const { code, stderr } = await runCommand(['start'], { cwd });
    assert.equal(code, 1);
    assert.match(stderr, /^\S*secret holds fewer than 32 bytes\. Put the earlier file back[^\n]*\.\n$/);
    assert.equal(existsSync(join(cwd, '.culvert', 'lock')), false);
  });

  test('doctor says what the server that runs runs into: a provider that is down', async (t) => {
    const cwd = temporaryFolder(t);
    const gone = `http://127.0.0.1:${await closedPort()}/v1`;
    const providers = `providers: { gone: { type: openai, base_url: '${gone}', api_key: none } }\n`;
    writeFileSync(join(cwd, 'culvert.yaml'), `${free}${providers}models: { lost: { targets: [gone/m] } }\n`);
    const server = await startProcess(t, { cwd });
    await server.said(/sk-cv-|api\.key/);
    assert.equal((await doctorIn(cwd)).find('provider gone').state, 'ok', 'nobody has asked it yet');
    const authorization = `Bearer ${readFileSync(join(cwd, '.culvert', 'api.key'), 'utf8').trim()}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'lost', messages: [{ role: 'user', content: 'Hello' }] });
    for (let at = 0; at < 4; at += 1) {
      await (await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body })).text();
    }
    const { code, findings } = await doctorIn(cwd);
    assert.equal(code, 1);
    const told = findings.filter(({ check }) => check === 'provider gone' || check === 'model lost');
    assert.deepEqual(
      told.map(({ state }) => state),
      ['problem', 'problem'],
    );
    assert.match(told[0]!.message, /^The provider gone is down: unreachable/);
  });

  test('doctor says of the server that runs which sink takes no records', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'file'), '');
    const sink = `{ name: lake, folder: ${join(cwd, 'file')}, every: 100ms }`;
    writeFileSync(join(cwd, 'culvert.yaml'), `${free}telemetry: { sinks: [${sink}] }\n`);
    const server = await startProcess(t, { cwd });
    await server.said(/sk-cv-|api\.key/);
    assert.equal((await runCommand(['chat', 'Hello'], { cwd })).code, 0);
    await server.said(/the sink lake accepts no records/);
    const { find } = await doctorIn(cwd);
    assert.equal(find('sink lake').state, 'warning');
    assert.match(find('sink lake').message, /^takes no records, its oldest record has waited for \d+ s: .*ENOTDIR/);
  });

  test('doctor finds what a start would refuse: a bucket without keys', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), `${free}telemetry: { sinks: [{ name: lake, s3: s3://records }] }\n`);
    const { code, find } = await doctorIn(cwd);
    const start = await runCommand(['start'], { cwd });
    assert.deepEqual([code, start.code], [1, 1]);
    assert.match(start.stderr, /^telemetry\.sinks lake is s3:\/\/records, but there are no keys for it\. /);
    assert.deepEqual([find('start').state, find('start').message], ['problem', `${start.stderr.trim()}.`]);
  });

  test('doctor knows the server that runs, and a database or state that is gone', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), free);
    const server = await startProcess(t, { cwd });
    const running = await doctorIn(cwd);
    assert.equal(running.code, 0, JSON.stringify(running.findings));
    assert.ok(running.find('server').message.includes(server.url));
    assert.equal(running.find('schema').message, 'up to date');
    await server.stop();
    writeFileSync(
      join(cwd, 'gone.yaml'),
      `${free}storage:
  database: postgres://u:canary-password@127.0.0.1:9/none
  state: redis://:canary-password@127.0.0.1:9
  secret: canary-secret-of-more-than-32-bytes\n`,
    );
    const gone = await doctorIn(cwd, '--config', 'gone.yaml');
    assert.equal(gone.code, 1);
    assert.deepEqual([gone.find('database').state, gone.find('counters').state], ['problem', 'problem']);
    assert.doesNotMatch(JSON.stringify(gone.findings), /canary/);
  });

  test('migrate --check ends with 1 until migrate has run', async (t) => {
    const cwd = temporaryFolder(t);
    const check = await runCommand(['migrate', '--check'], { cwd });
    assert.equal(check.code, 1, check.stderr);
    assert.ok(!existsSync(join(cwd, '.culvert')));
    const migrated = await runCommand(['migrate'], { cwd });
    assert.equal(migrated.code, 0, migrated.stderr);
    const { data } = JSON.parse(migrated.stdout) as { data: { database: string; applied: string[] }[] };
    assert.ok(data.every(({ applied }) => applied.length > 0));
    assert.equal((await runCommand(['migrate', '--check'], { cwd })).code, 0);
  });

  test('a backup of a running server brings keys, audit trail and usage into another folder', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), free);
    const server = await startProcess(t, { cwd });
    const culvert = async (args: string[], folder = cwd) => {
      const ran = await runCommand(args, { cwd: folder });
      assert.equal(ran.code, 0, `${args.join(' ')}: ${ran.stderr}`);
      return ran.stdout;
    };
    const key = (await culvert(['keys', 'create', '--account', 'acme', '--name', 'ci'])).trim();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] });
    for (let count = 0; count < 3; count++)
      await (await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body })).text();
    const file = join(cwd, 'backup.gz');
    const { rows } = JSON.parse(await culvert(['backup', file, '--json'])) as { rows: number };
    assert.ok(rows > 5);
    assert.equal(statSync(file).mode & 0o077, 0);
    assert.ok(!readFileSync(file).includes(key));

    const held = await runCommand(['restore', file, '--yes'], { cwd });
    assert.equal(held.code, 1);
    assert.match(held.stderr, /is using /);

    const other = temporaryFolder(t);
    writeFileSync(join(other, 'culvert.yaml'), free);
    await culvert(['restore', file], other);
    const seen = async (folder: string) => ({
      keys: await culvert(['keys', 'list'], folder),
      audit: await culvert(['audit'], folder),
      usage: await culvert(['usage', '--group-by', 'key'], folder),
      requests: await culvert(['requests', 'list'], folder),
    });
    assert.deepEqual(await seen(other), await seen(cwd));
    const restored = await startProcess(t, { cwd: other });
    const models = await fetch(`${restored.url}/v1/models`, { headers });
    assert.equal(models.status, 200, 'the key works in its new place');
  });

  test('a restore over databases needs --yes, and keeps what was there; a damaged file changes nothing', async (t) => {
    const cwd = temporaryFolder(t);
    const file = join(cwd, 'backup.gz');
    const culvert = (...args: string[]) => runCommand(args, { cwd });
    assert.equal((await culvert('keys', 'create', '--account', 'one', '--name', 'first')).code, 0);
    assert.equal((await culvert('backup', file)).code, 0);
    assert.equal((await culvert('keys', 'create', '--account', 'two', '--name', 'second')).code, 0);
    const listed = async () => {
      const { stdout } = await culvert('keys', 'list');
      return (JSON.parse(stdout) as { data: { account: string }[] }).data.map(({ account }) => account);
    };
    const unasked = await culvert('restore', file);
    assert.equal(unasked.code, 1);
    assert.match(unasked.stderr, /holds databases already.*--yes/);
    writeFileSync(join(cwd, 'cut.gz'), readFileSync(file).subarray(0, -30));
    const cut = await culvert('restore', 'cut.gz', '--yes');
    assert.equal(cut.code, 1);
    assert.match(cut.stderr, /cut short or damaged/);
    assert.deepEqual(await listed(), ['one', 'two']);
    assert.equal((await culvert('restore', file, '--yes')).code, 0);
    assert.deepEqual(await listed(), ['one']);
    assert.ok(readdirSync(join(cwd, '.culvert')).some((name) => name.startsWith('culvert.db.before-restore-')));
    writeFileSync(join(cwd, 'precious.yaml'), 'mine: 1\n');
    const precious = await culvert('backup', 'precious.yaml');
    assert.equal(precious.code, 1);
    assert.match(precious.stderr, /is not a backup, so it was left as it is/);
  });
});
