import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { loggedIn, logIn } from '../browser-login.ts';
import { cleanEnv, culvertBin, runCommand, startProcess, temporaryFolder } from '../start-process.ts';

const noTerminal = spawnSync('script', ['--version']).error === undefined ? false : 'no script(1) here';

/** Address and token of a login link. */
function linkIn(text: string): { url: string; token: string } {
  const [, url, token] = /(http:\/\/127\.0\.0\.1:\d+)\/dashboard#token=([\w-]{43})/.exec(text) ?? [];
  assert.ok(url !== undefined && token !== undefined, text);
  return { url, token };
}

test('a start prints a link on a terminal that logs in once', { skip: noTerminal }, async (t) => {
  const cwd = temporaryFolder(t);
  const child = spawn('script', ['-qefc', `exec ${process.execPath} ${culvertBin} start --port 0`, '/dev/null'], {
    cwd,
    env: cleanEnv({ TERM: 'dumb', CULVERT_AUTODETECT: '1' }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = new Promise((resolve) => child.on('close', resolve));
  t.after(async () => {
    child.kill('SIGTERM');
    await gone;
  });
  let printed = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      if (/"Hello"/.test(printed)) resolve();
    });
    child.on('close', () => reject(new Error(printed)));
  });
  const { url, token } = linkIn(printed);
  const browser = await loggedIn({ url }, { token });
  assert.deepEqual([browser.session.kind, browser.session.role, browser.session.login], ['operator', 'owner', 'token']);
  assert.equal((await browser.fetch('/admin/v1/accounts')).status, 200);
  assert.equal((await logIn({ url }, { token })).status, 401, 'once');
});

test('what a machine reads of a start has no login; culvert dashboard makes one', async (t) => {
  const cwd = temporaryFolder(t);
  const server = await startProcess(t, { cwd });
  await server.said(/curl .*\n(.*\n){3}/);
  assert.match(server.stdout(), /^Dashboard: http:\/\/\S+\/dashboard: culvert dashboard prints a link that logs in$/m);
  assert.doesNotMatch(server.stdout(), /token/);
  const made = await runCommand(['dashboard'], { cwd });
  assert.equal(made.code, 0, made.stderr);
  const { url, token } = linkIn(made.stdout);
  assert.equal(url, server.url);
  assert.equal((await loggedIn({ url }, { token })).session.login, 'token');
  const json = await runCommand(['dashboard', '--json'], { cwd });
  linkIn((JSON.parse(json.stdout) as { url: string }).url);
});
