import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { stringify } from 'yaml';
import { chromiumMissing } from '../chromium.ts';
import { missingTool } from '../sound.ts';
import { runCommand, startProcess, temporaryFolder } from '../start-process.ts';
import { startAwkwardSite } from '../tools/awkward-site.ts';

/*
 * The one executable, as on a machine without Node. Other tests cover each endpoint's full answers; this one checks
 * that the program finds its threads, its child processes, its data and its pages.
 */

const skip = process.platform === 'linux' ? missingTool('strip') : false;
const place = temporaryFolder({ after });
const executable = join(place, 'culvert');
const cache = join(place, 'cache');
const tools = join(place, 'tools');
const env = { PATH: tools, CULVERT_CACHE_DIR: cache };
mkdirSync(tools);
// Chromium's launcher is a script that needs some.
for (const name of readdirSync('/usr/bin'))
  if (!/^(node|npm|npx)/.test(name)) symlinkSync(join('/usr/bin', name), join(tools, name));
if (skip === false) {
  const scripts = new URL('../../scripts/', import.meta.url);
  const { ensureBundle } = (await import(String(new URL('build.mjs', scripts)))) as { ensureBundle(): Promise<void> };
  const { buildExecutable } = (await import(String(new URL('build-executable.mjs', scripts)))) as {
    buildExecutable(file: string, dist: string): Promise<void>;
  };
  // As a release does. The test of the package makes a bundle from the start.
  await ensureBundle();
  await buildExecutable(executable, fileURLToPath(new URL('../../dist', import.meta.url)));
}
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const says = async () => {
  const { code, stdout, stderr } = await runCommand(['--version'], { executable, env, cwd: place });
  return { code, stdout, stderr };
};
const fine = { code: 0, stdout: `${version}\n`, stderr: '' };

test('the executable has at most 135 MB', { skip }, () => {
  assert.ok(statSync(executable).size <= 135_000_000, `${statSync(executable).size} bytes`);
});

test('it unpacks itself once, whole for each of those that start at the same time', { skip }, async () => {
  assert.deepEqual(await Promise.all([says(), says(), says()]), [fine, fine, fine]);
  const unpacked = readdirSync(cache);
  assert.equal(unpacked.length, 1);
  const before = statSync(join(cache, unpacked[0]!, 'package.json')).ino;
  assert.deepEqual(await says(), fine);
  assert.equal(statSync(join(cache, unpacked[0]!, 'package.json')).ino, before);
});

test('it holds what would have to be installed beside the npm package, where that is one package', {
  skip,
}, async () => {
  const { resolve } = createRequire(join(cache, readdirSync(cache)[0]!, 'package.json'));
  const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { peerDependencies: object };
  const { peersHeld } = (await import(String(new URL('../../scripts/sbom.mjs', import.meta.url)))) as {
    peersHeld(peers: object): string[];
  };
  for (const name of peersHeld(peerDependencies)) {
    assert.ok(resolve(name).startsWith(cache), name);
    await import(String(pathToFileURL(resolve(name))));
  }
});

test('what a crash cut short is unpacked again, and what one left behind is removed', { skip }, async () => {
  const [unpacked] = readdirSync(cache);
  const file = join(cache, unpacked!, 'dist', 'main.js');
  const { size } = statSync(file);
  truncateSync(file, 10);
  const left = join(cache, `${unpacked}.new-1-1`);
  mkdirSync(left);
  utimesSync(left, 1, 1);
  assert.deepEqual(await says(), fine);
  assert.equal(statSync(file).size, size);
  assert.deepEqual(readdirSync(cache), [unpacked]);
});

test('a cache that cannot be written is said in one line, with what to set', { skip }, async () => {
  const file = join(place, 'taken');
  writeFileSync(file, '');
  const { code, stderr } = await runCommand(['--version'], {
    executable,
    cwd: place,
    env: { ...env, CULVERT_CACHE_DIR: file },
  });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^culvert could not unpack itself into \S+taken\S+: ENOTDIR[^\n]* Set CULVERT_CACHE_DIR [^\n]+\n$/,
  );
});

test('it serves conversations, the dashboard, vectors and pages without a Node on the machine', { skip }, async (t) => {
  const app = `<div id="root"></div><script>root.innerHTML = '<p>Written by a script.</p>'</script>`;
  const site = await startAwkwardSite(t, {
    '/app': (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(app),
  });
  const key = 'sk-cv-test-key-0001';
  const cwd = temporaryFolder(t);
  writeFileSync(
    join(cwd, 'culvert.yaml'),
    stringify({
      server: { port: 0 },
      keys: [{ key, account: 'dev', name: 'test' }],
      fetch: { allow_private: [site.place] },
      tools: { scrape: { render_without_sandbox: true } },
      autodetect: 'off',
    }),
  );
  const gateway = await startProcess(t, { executable, env, cwd, args: [] });
  const ask = async (path: string, json: object) => {
    const answer = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(json),
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, `${path}: ${text}\n${gateway.stderr()}`);
    return text;
  };
  const messages = [{ role: 'user', content: 'Hello' }];
  assert.match(await ask('/v1/chat/completions', { model: 'sim/chat', messages }), /\[simulated\]/);
  assert.match(await (await fetch(`${gateway.url}/dashboard`)).text(), /<div id="app">/);
  await ask('/v1/vectors/collections', { name: 'docs', embedding_model: 'culvert-lexical-1024' });
  const points = [{ id: 1, payload: { text: 'Bread is made of flour.' } }];
  await ask('/v1/vectors/collections/docs/points', { points });
  const search = { text: 'how bread is baked', with_payload: true };
  assert.match(await ask('/v1/vectors/collections/docs/points/search', search), /flour/);
  assert.match(await ask('/v1/tools/scrape', { url: `${site.url}/article` }), /# An article/);
  if (chromiumMissing === false)
    assert.match(await ask('/v1/tools/scrape', { url: `${site.url}/app` }), /Written by a script/);
  assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
});

test('a server that runs deletes versions that nobody has used for a week, and no others', { skip }, async (t) => {
  const ownCache = join(temporaryFolder(t), 'cache');
  const [unused, used, other] = ['0.0.1-0123456789abcdef', '0.0.2-0123456789abcdef', 'compiled'];
  for (const name of [unused, used, other]) {
    mkdirSync(join(ownCache, name, 'dist'), { recursive: true });
    if (name !== used) utimesSync(join(ownCache, name), 1, 1);
  }
  const own = { ...env, CULVERT_CACHE_DIR: ownCache };
  const gateway = await startProcess(t, { executable, env: own, cwd: temporaryFolder(t) });
  while (readdirSync(ownCache).some((name) => name.startsWith(unused))) await pause(50);
  const [mine] = readdirSync(cache);
  assert.deepEqual(readdirSync(ownCache).sort(), [used, mine, other].sort());
  await gateway.stop();
  // A start marks its version as used, however long ago it was unpacked.
  utimesSync(join(ownCache, mine!), 1, 1);
  assert.deepEqual(await runCommand(['--version'], { executable, env: own, cwd: place }), fine);
  assert.ok(statSync(join(ownCache, mine!)).mtimeMs > 1_000);
});

test('it runs the process of added models', { skip }, async () => {
  const [unpacked] = readdirSync(cache);
  const host = fork(join(cache, unpacked!, 'dist', 'engine-host.js'), {
    execPath: executable,
    env: { PATH: tools },
    execArgv: [],
    stdio: 'ignore',
  });
  const gone = once(host, 'exit');
  const load = { extra: 'speech', model: 'kokoro-82m', runtime: join(place, 'nowhere'), files: place };
  host.send({ kind: 'load', load });
  const [told] = (await once(host, 'message')) as [{ kind: string; message: string }];
  assert.equal(told.kind, 'not-loaded');
  host.disconnect();
  assert.deepEqual(await gone, [0, null]);
});
