import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import {
  cleanEnv,
  closedPort,
  culvertBin,
  launch,
  runCommand,
  startProcess,
  temporaryFolder,
} from '../start-process.ts';

const secret = /sk-cv-[A-Za-z0-9-]+/;
const own = 'sk-cv-own-key-0001';
const admin = 'sk-cv-admin-own-key-0001';

const modelsBy = (url: string, key: string) =>
  fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });

/**
 * What `script` (of util-linux) says: a terminal of 80 columns around a shell's command. Ctrl-C is pressed once the
 * command has written `stopAt`.
 */
function onTerminal(command: string, cwd: string, stopAt?: string) {
  const args = ['-qec', `stty cols 80; ${command}`, '/dev/null'];
  const running = promisify(execFile)('script', args, { cwd, env: cleanEnv(), timeout: 60_000 });
  const { stdin, stdout } = running.child;
  let written = '';
  stdout!.on('data', (text: string) => {
    const isEarlier = stopAt === undefined || written.includes(stopAt);
    written += text;
    if (!isEarlier && written.includes(stopAt)) stdin!.write('\x03');
  });
  return running;
}
const scriptMissing = existsSync('/usr/bin/script') ? false : 'no script (util-linux) here';

// They mostly wait for child processes. What a newcomer meets within minutes of a first start, without a file:
describe('first minutes', { concurrency: 3 }, () => {
  test("a first start's own key has no limits: 90 requests at once pass, and usage says that none is set", async (t) => {
    const cwd = temporaryFolder(t);
    const gateway = await startProcess(t, { cwd });
    await gateway.said(/curl .*\n(.*\n){3}/);
    const key = readFileSync(join(cwd, '.culvert/api.key'), 'utf8').trim();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] });
    const ask = () => fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body });
    const answers = await Promise.all(Array.from({ length: 90 }, ask));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(answers[0]!.headers.get('x-ratelimit-limit-requests'), null);
    const usage = await (await fetch(`${gateway.url}/v1/usage`, { headers })).json();
    const { rpm, windows } = usage as { rpm: { allowed: null }; windows: Record<string, { allowed: null }> };
    const allowed = [rpm, ...Object.values(windows)].map((limit) => limit.allowed);
    assert.deepEqual([...new Set(allowed)], [null]);
    await gateway.stop();
    const lines = gateway
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { level: string; msg: string });
    assert.equal(lines.filter(({ level, msg }) => level === 'info' && msg === 'request').length, 90);
    assert.deepEqual(
      lines.filter(({ level }) => !/^[a-z]+$/.test(level)),
      [],
      'levels are words',
    );
  });

  test('where stdout is no terminal no key is printed, but the files that hold them; commands find the key there', async (t) => {
    const cwd = temporaryFolder(t);
    const gateway = await startProcess(t, { cwd });
    await gateway.said(/curl .*\n(.*\n){3}/);
    const printed = gateway.stdout() + gateway.stderr();
    assert.doesNotMatch(printed, secret);
    assert.match(printed, /^Admin key.*: in \.culvert\/admin\.key$/m);
    assert.match(printed, /^API key: in \.culvert\/api\.key$/m);
    assert.match(printed, /Bearer \$\(cat \.culvert\/api\.key\)/);
    assert.equal(statSync(join(cwd, '.culvert/api.key')).mode & 0o077, 0);
    const asked = await runCommand(['chat', 'Hello'], { cwd });
    assert.match(asked.stdout, /^\[simulated\]/, asked.stderr);
    const listed = await runCommand(['models'], { cwd });
    assert.equal(listed.stderr, '', 'the server was asked');
    // Another server gets another key, or none.
    const elsewhere = await runCommand(['chat', 'Hello', '--url', 'http://127.0.0.1:9'], { cwd });
    assert.match(elsewhere.stderr, /No key is set/);
    const ofAnother = await runCommand(['models', '--url', 'http://127.0.0.1:9'], { cwd });
    assert.deepEqual(
      [ofAnother.code, ofAnother.stdout],
      [1, ''],
      'the models of this machine are not those of that one',
    );
    assert.match(ofAnother.stderr, /No key is set/);
  });

  test('a container needs no file: address, port, data folder and both keys come from the environment, at the first start on 0.0.0.0 too', async (t) => {
    const cwd = temporaryFolder(t);
    const env = {
      CULVERT_HOST: '0.0.0.0',
      PORT: '0',
      CULVERT_DATA_DIR: join(cwd, 'data'),
      CULVERT_API_KEY: own,
      CULVERT_ADMIN_KEY: admin,
    };
    const gateway = await startProcess(t, { cwd, env, args: [] });
    assert.match(gateway.stdout(), /listens on http:\S+, and on every other address of this machine$/m);
    assert.equal((await modelsBy(gateway.url, own)).status, 200);
    assert.equal((await modelsBy(gateway.url, 'sk-cv-other-key-01')).status, 401);
    const keys = await fetch(`${gateway.url}/admin/v1/keys`, { headers: { authorization: `Bearer ${admin}` } });
    const { data } = (await keys.json()) as { data: { account: string; name: string; from: string }[] };
    assert.deepEqual(
      data.map(({ account, name, from }) => [account, name, from]),
      [['default', 'first', 'configuration']],
    );
    assert.ok(existsSync(join(cwd, 'data', 'culvert.db')) && !existsSync(join(cwd, '.culvert')));
    await gateway.said(/^search /m);
    const checked = await runCommand(['check'], { cwd, env });
    const source = 'no file, CULVERT_HOST, PORT, CULVERT_DATA_DIR, CULVERT_ADMIN_KEY, CULVERT_API_KEY';
    assert.match(checked.stdout, new RegExp(`^OK: ${source} \\(0 providers, \\d+ models, 1 key\\)`));
    assert.doesNotMatch(gateway.stdout() + gateway.stderr(), secret);
    const chat = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    assert.equal(chat.status, 404);
    assert.match(await chat.text(), /simulator is off.*OPENAI_API_KEY, or CULVERT_SIMULATOR=on/);
    await gateway.said(/^chat +missing +no provider yet, and the simulator is off.*CULVERT_SIMULATOR=on/m);
  });

  test('CULVERT_SIMULATOR=on has a container answer without a provider, CULVERT_SIMULATOR=off nobody', async (t) => {
    for (const [value, status] of [
      ['on', 200],
      ['off', 404],
    ] as const) {
      const env = {
        CULVERT_SIMULATOR: value,
        CULVERT_API_KEY: own,
        CULVERT_ADMIN_KEY: admin,
        CULVERT_HOST: value === 'on' ? '0.0.0.0' : '127.0.0.1',
        PORT: '0',
      };
      const gateway = await startProcess(t, { env, args: [] });
      const chat = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] }),
      });
      assert.equal(chat.status, status, await chat.text());
    }
  });

  test('what a variable may not be is said of the variable, and what the file says counts before it', async (t) => {
    for (const [env, said] of [
      [{ PORT: 'http' }, /^environment PORT: expected a (whole )?number/m],
      [{ PORT: '70000' }, /^environment PORT: /m],
      [{ CULVERT_API_KEY: 'secret-1' }, /^environment CULVERT_API_KEY: expected sk-cv-/m],
      [{ CULVERT_API_KEY: admin }, /^environment CULVERT_API_KEY: sk-cv-admin- is for the admin key/m],
      [{ CULVERT_ADMIN_KEY: 'short' }, /^environment CULVERT_ADMIN_KEY: /m],
      [{ CULVERT_SIMULATOR: 'yes' }, /^environment CULVERT_SIMULATOR: expected one of auto, off, on/m],
    ] as const) {
      const refused = launch(t, ['start'], { env });
      assert.equal((await refused.exited).code, 1);
      assert.match(refused.stderr(), said);
      assert.doesNotMatch(refused.stderr(), /secret-1|own-key/);
    }
    const cwd = temporaryFolder(t);
    const file = 'server: { port: 0 }\nkeys: [{ key: sk-cv-of-the-file-1 }]\n';
    writeFileSync(join(cwd, 'culvert.yaml'), file);
    const gateway = await startProcess(t, { cwd, args: [], env: { PORT: '1', CULVERT_API_KEY: own } });
    assert.equal((await modelsBy(gateway.url, 'sk-cv-of-the-file-1')).status, 200);
    assert.equal((await modelsBy(gateway.url, own)).status, 401);
  });

  test("a client's variable opens nothing that was revoked, and changes nobody's name or plan", async (t) => {
    const cwd = temporaryFolder(t);
    const make = async (account: string) =>
      (await runCommand(['keys', 'create', '--account', account, '--name', 'laptop'], { cwd })).stdout.trim();
    const [revoked, kept] = [await make('old'), await make('me')];
    assert.equal((await runCommand(['keys', 'revoke', 'old/laptop'], { cwd })).code, 0);
    const first = await startProcess(t, { cwd, env: { CULVERT_API_KEY: revoked } });
    assert.equal((await modelsBy(first.url, revoked)).status, 401);
    await first.stop();
    const second = await startProcess(t, { cwd, env: { CULVERT_API_KEY: kept } });
    const usage = await fetch(`${second.url}/v1/usage`, { headers: { authorization: `Bearer ${kept}` } });
    assert.equal(((await usage.json()) as { account: string }).account, 'me');
  });

  test('on a terminal the key is shown, and no line of a table is wider than it', {
    skip: scriptMissing,
  }, async (t) => {
    const cwd = temporaryFolder(t);
    const program = `${process.execPath} ${culvertBin}`;
    const shown = await onTerminal(`trap : INT; ${program} start --port 0 || true`, cwd, 'Try it');
    assert.match(shown.stdout, /^API key \(kept in \.culvert\/api\.key\):\r\n {2}sk-cv-\S+\r$/m);
    const table = shown.stdout.slice(shown.stdout.indexOf('capability'), shown.stdout.indexOf('Dashboard'));
    // A developer's own server may have the usual port.
    const doctor = await onTerminal(`PORT=${await closedPort()} ${program} doctor --quiet`, cwd);
    const keys = await onTerminal(`${program} keys list --quiet`, cwd);
    for (const line of `${table}\r\n${doctor.stdout}\r\n${keys.stdout}`.split('\r\n')) {
      assert.ok(line.length <= 80, line);
    }
    assert.match(doctor.stdout, /^warning {2}chat/m);
    assert.match(keys.stdout, /^default {2}first/m);
  });

  test('in a clone every hint begins with npm run culvert --, as do the lines of help', async (t) => {
    const cwd = temporaryFolder(t);
    const env = { npm_package_name: 'culvert-gateway', npm_lifecycle_event: 'culvert' };
    const mistyped = await runCommand(['keyz'], { cwd, env, alone: true });
    assert.match(mistyped.stderr, /Did you mean 'npm run culvert -- keys'\?/);
    const asked = await runCommand(['chat', 'Hi'], { cwd, env, alone: true });
    assert.match(asked.stderr, /Start one with npm run culvert -- start/);
    const help = await runCommand(['keys', 'create', '--help'], { cwd, env, alone: true });
    assert.match(help.stdout, /^Usage: npm run culvert -- keys create /);
    assert.match(help.stdout, /KEY=\$\(npm run -s culvert -- keys create /, "npm's own lines are no part of the key");
    const start = await startProcess(t, { cwd, env: { ...env, npm_lifecycle_event: 'start' } });
    await start.said(/curl/);
    assert.match(start.stdout(), /npm run culvert -- init/);
    for (const text of [mistyped.stderr, asked.stderr, help.stdout, start.stdout()]) {
      assert.doesNotMatch(text.replaceAll('npm run culvert -- ', ''), /\bculvert (init|keys|start|add|chat) /);
    }
  });
});
