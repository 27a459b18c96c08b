import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanEnv, temporaryFolder } from '../start-process.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

describe('what a start in a clone installs and builds', { concurrency: true }, () => {
  test('each command installs what it needs and no more, once, and two of them never at once', async (t) => {
    const clone = temporaryFolder(t);
    for (const file of ['scripts/setup.mjs', 'package.json']) cpSync(join(root, file), join(clone, file));
    writeFileSync(join(clone, 'package-lock.json'), '{}');
    const npm = fakeNpm(clone);
    const setUp = (level: string) => run(clone, [join(clone, 'scripts', 'setup.mjs'), level], npm.env);

    await setUp('start');
    assert.deepEqual(npm.calls(), ['ci --omit=dev --cpu=none'], 'this Node runs it, so none is installed');
    await setUp('start');
    assert.equal(npm.calls().length, 1, 'it is installed');

    await Promise.all([setUp('web'), setUp('web'), setUp('web')]);
    assert.deepEqual(npm.calls().slice(1), ['install --no-save --workspace=web --include-workspace-root']);
    await setUp('all');
    assert.deepEqual(npm.calls().slice(2), ['install --no-save']);
    for (const level of ['start', 'web', 'all']) await setUp(level);
    assert.equal(npm.calls().length, 3, 'all has what the others need');

    writeFileSync(join(clone, 'package-lock.json'), '{ }');
    await setUp('start');
    assert.deepEqual(npm.calls().slice(3), ['install --no-save --omit=dev --cpu=none'], 'the lockfile has changed');
    assert.equal(npm.atOnce(), false);
  });

  test('a start removes nothing that npm ci has installed, and not the Node that runs it', async (t) => {
    const clone = temporaryFolder(t);
    for (const file of ['scripts/setup.mjs', 'package.json']) cpSync(join(root, file), join(clone, file));
    const packages = {
      '': {},
      'node_modules/a': { version: '1.0.0' },
      'node_modules/b': { version: '2.0.0', dev: true },
    };
    const lockfile = (of: object) => JSON.stringify({ packages: of });
    writeFileSync(join(clone, 'package-lock.json'), lockfile(packages));
    const npm = fakeNpm(clone);
    const modules = join(clone, 'node_modules');
    mkdirSync(join(modules, 'node', 'bin'), { recursive: true });
    writeFileSync(join(modules, '.package-lock.json'), lockfile(packages));
    const setUp = (node?: string) => run(clone, [join(clone, 'scripts', 'setup.mjs'), 'start'], npm.env, node);
    await setUp();
    assert.deepEqual(npm.calls(), [], 'npm ci had installed all of it');

    const packaged = join(modules, 'node', 'bin', 'node');
    cpSync(process.execPath, packaged);
    writeFileSync(join(clone, 'package-lock.json'), lockfile({ ...packages, 'node_modules/c': { version: '1.0.0' } }));
    await setUp(packaged);
    assert.deepEqual(npm.calls(), ['install --no-save --omit=dev'], 'the Node of the packages stays');
  });

  test('an installation that its process left behind holds nobody up', async (t) => {
    const clone = temporaryFolder(t);
    for (const file of ['scripts/setup.mjs', 'package.json']) cpSync(join(root, file), join(clone, file));
    writeFileSync(join(clone, 'package-lock.json'), '{}');
    const npm = fakeNpm(clone, 'sleep 600');
    const first = spawn(process.execPath, [join(clone, 'scripts', 'setup.mjs'), 'start'], {
      env: npm.env,
      detached: true,
      stdio: 'ignore',
    });
    while (npm.calls().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    process.kill(-first.pid!, 'SIGKILL');
    await once(first, 'exit');
    const after = fakeNpm(clone);
    await run(clone, [join(clone, 'scripts', 'setup.mjs'), 'start'], after.env);
    assert.equal(npm.calls().length, 2);
  });

  test('a start serves before the dashboard is built, which says so until it is', async (t) => {
    const clone = temporaryFolder(t);
    for (const entry of [
      'bin',
      'docs',
      'scripts',
      'src',
      'web/src',
      'web/index.html',
      'package.json',
      'package-lock.json',
    ])
      cpSync(join(root, entry), join(clone, entry), { recursive: true });
    // The packages are links, but not the folder itself: the progress of the build is in its cache.
    mkdirSync(join(clone, 'node_modules'));
    for (const name of readdirSync(join(root, 'node_modules')).filter((one) => one !== '.cache'))
      symlinkSync(join(root, 'node_modules', name), join(clone, 'node_modules', name));
    const go = join(clone, 'go');
    writeFileSync(join(clone, 'scripts', 'build-web.mjs'), waitsAndBuilds(go));

    const gateway = spawn(process.execPath, [join(clone, 'scripts', 'run.mjs'), '--web', 'start', '--port', '0'], {
      cwd: clone,
      env: cleanEnv({ CULVERT_DATA_DIR: join(clone, 'data') }),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => gateway.kill('SIGKILL'));
    const url = await addressIn(gateway.stdout.setEncoding('utf8'));
    const dashboard = () => fetch(`${url}/dashboard/`);
    const during = await dashboard();
    assert.equal(during.status, 503);
    assert.match(await during.text(), /is being built/);
    assert.ok(Number(during.headers.get('refresh')) > 0, 'a browser looks again');

    writeFileSync(go, '');
    while ((await dashboard()).status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(await (await dashboard()).text(), 'built');
    gateway.kill('SIGTERM');
    await once(gateway, 'exit');
  });
});

/** An npm that writes down how it is called, whether another one runs meanwhile, and what npm leaves behind. */
function fakeNpm(clone: string, work = 'sleep 0.3') {
  const bin = join(clone, 'fake-bin');
  const log = join(clone, 'npm-calls');
  mkdirSync(bin, { recursive: true });
  appendFileSync(log, '');
  writeFileSync(
    join(bin, 'npm'),
    `#!/bin/sh
echo "$@" >> ${log}
mkdir ${clone}/busy || touch ${clone}/at-once
mkdir -p ${clone}/node_modules/.bin
${work}
ln -sf ${process.execPath} ${clone}/node_modules/.bin/node
touch ${clone}/node_modules/.package-lock.json
rmdir ${clone}/busy
`,
    { mode: 0o755 },
  );
  const always = / --ignore-scripts --loglevel=error --no-audit --no-fund$/;
  return {
    env: cleanEnv({ PATH: `${bin}:${process.env.PATH}` }),
    atOnce: () => existsSync(join(clone, 'at-once')),
    calls: () =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.replace(always, '')),
  };
}

async function run(
  cwd: string,
  args: readonly string[],
  env: Record<string, string>,
  node = process.execPath,
): Promise<void> {
  const child = spawn(node, args, { cwd, env, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
}

/** Stands for the build, which takes half a minute: waits for a file, then writes a page. */
function waitsAndBuilds(go: string): string {
  return `import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'web', 'dist');
while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 20));
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'index.html'), 'built');
`;
}

async function addressIn(output: AsyncIterable<string>): Promise<string> {
  let said = '';
  for await (const text of output) {
    said += text;
    const [, url] = /listens on (http:\/\/[^\s,]+)/.exec(said) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`It has ended:\n${said}`);
}
