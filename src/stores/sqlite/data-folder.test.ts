import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  ensureAdminKey,
  ensureSecret,
  forgetEarlierSecrets,
  openDataFolder,
  presentSecrets,
  renewSecret,
  secretMark,
  secretsOf,
} from './data-folder.ts';
import { lockDataFolder, lockOwner } from './data-folder-lock.ts';

function place(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-folder-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'deep', '.culvert');
}

async function otherServer(t: TestContext, dir: string) {
  const code = `
    const { openDataFolder } = await import(${JSON.stringify(new URL('./data-folder.ts', import.meta.url).href)});
    const { lockDataFolder } = await import(${JSON.stringify(new URL('./data-folder-lock.ts', import.meta.url).href)});
    console.log(lockDataFolder(openDataFolder(${JSON.stringify(dir)}), 'http://127.0.0.1:4141').kind);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [said] = await once(child.stdout, 'data');
  assert.equal(String(said).trim(), 'locked');
  return child;
}

test('a folder that cannot be made is refused at once: below /proc, a link to nowhere, a file', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-folder-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'file');
  const link = join(folder, 'link');
  writeFileSync(file, '');
  symlinkSync(join(folder, 'nowhere', 'at-all'), link);
  for (const [dir, why] of [
    ...(process.platform === 'linux'
      ? ([['/proc/culvert/data', /does not exist, and cannot be made there/]] as const)
      : []),
    [link, /a file has the name of a needed folder/],
    [join(link, 'data'), /a file has the name of a needed folder/],
    [join(file, 'data'), /a file has the name of a needed folder/],
    [file, /a file has the name of a needed folder/],
  ] as const) {
    const code = `import(${JSON.stringify(new URL('./data-folder.ts', import.meta.url).href)})
      .then(async ({ openDataFolder }) => {
        const { whyUnusable } = await import(${JSON.stringify(new URL('./data-folder.ts', import.meta.url).href)});
        try { openDataFolder(${JSON.stringify(dir)}); } catch (error) { console.log(whyUnusable(error)); }
      });`;
    // In a process that can be ended: it never returned.
    const { stdout, error } = spawnSync(process.execPath, ['-e', code], { encoding: 'utf8', timeout: 60_000 });
    assert.equal(error, undefined, dir);
    assert.match(stdout, why, dir);
  }
});

test('S12 the folder is 0700; the admin key is made once, 0600', (t) => {
  const folder = openDataFolder(place(t));
  assert.equal(statSync(folder.path).mode & 0o777, 0o700);
  const first = ensureAdminKey(folder, () => 'sk-cv-admin-one');
  assert.deepEqual(first, { key: 'sk-cv-admin-one', created: true });
  assert.deepEqual(
    ensureAdminKey(folder, () => 'sk-cv-admin-two'),
    { key: 'sk-cv-admin-one', created: false },
  );
  assert.equal(statSync(join(folder.path, 'admin.key')).mode & 0o777, 0o600);
});

test('the secret is made once, 0600, and a second start finds it', (t) => {
  const folder = openDataFolder(place(t));
  const first = ensureSecret(folder, () => 'x'.repeat(43));
  assert.equal(first, 'x'.repeat(43));
  assert.equal(
    ensureSecret(folder, () => 'y'.repeat(43)),
    first,
  );
  assert.equal(statSync(join(folder.path, 'secret')).mode & 0o777, 0o600);
});

test('every earlier secret is remembered, however often it is renewed, until all are forgotten', (t) => {
  const folder = openDataFolder(place(t));
  let made = 0;
  const mint = () => `${made++}`.padEnd(43, 'x');
  const [first] = secretsOf(folder, mint);
  for (let turn = 0; turn < 12; turn += 1) renewSecret(folder, mint);
  assert.deepEqual([secretsOf(folder, mint).length, secretsOf(folder, mint).at(-1)], [13, first]);
  for (const file of readdirSync(folder.path))
    assert.equal(statSync(join(folder.path, file)).mode & 0o777, 0o600, `only its owner reads ${file}`);
  const mark = secretMark(folder);
  forgetEarlierSecrets(folder);
  assert.deepEqual(presentSecrets(folder), ['12'.padEnd(43, 'x')]);
  assert.notEqual(secretMark(folder), mark, 'other processes notice');
});

test('processes that renew the secret at once lose none that one of them has sealed with', async (t) => {
  const folder = openDataFolder(place(t));
  const first = ensureSecret(folder, () => 'x'.repeat(43));
  const code = `
    const { randomBytes } = await import('node:crypto');
    const { openDataFolder, renewSecret } = await import(${JSON.stringify(new URL('./data-folder.ts', import.meta.url).href)});
    const folder = openDataFolder(${JSON.stringify(folder.path)});
    for (let turn = 0; turn < 80; turn += 1)
      renewSecret(folder, () => { const made = randomBytes(32).toString('hex'); console.log(made); return made; });`;
  const others = [1, 2, 3].map(async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [lines] = await Promise.all([child.stdout.toArray(), once(child, 'exit')]);
    return Buffer.concat(lines).toString('utf8').trim().split('\n');
  });
  const made = (await Promise.all(others)).flat();
  assert.equal(made.length, 240);
  assert.deepEqual(new Set(presentSecrets(folder)), new Set([first, ...made]));
});

test('S9 a secret file that was cut short stops the start and is left as it is', (t) => {
  const folder = openDataFolder(place(t));
  const file = join(folder.path, 'secret');
  writeFileSync(file, 'x'.repeat(31));
  assert.throws(() => ensureSecret(folder, () => 'y'.repeat(43)), /fewer than 32 bytes/);
  assert.equal(readFileSync(file, 'utf8'), 'x'.repeat(31));
});

test('a second server is refused with pid and URL; a killed one leaves the folder free', async (t) => {
  const folder = openDataFolder(place(t));
  const other = await otherServer(t, folder.path);
  const refused = lockDataFolder(folder, 'http://127.0.0.1:5000');
  assert.ok(refused.kind === 'held');
  assert.match(refused.message, new RegExp(`process ${other.pid}, http://127.0.0.1:4141`));
  assert.deepEqual(lockOwner(folder), { pid: other.pid, url: 'http://127.0.0.1:4141' });
  other.kill('SIGKILL');
  await once(other, 'close');
  assert.equal(lockOwner(folder), null);
  const mine = lockDataFolder(folder, 'http://127.0.0.1:5000');
  assert.ok(mine.kind === 'locked');
  assert.equal(lockOwner(folder)?.pid, process.pid);
  mine.release();
  mine.release();
  assert.equal(lockOwner(folder), null);
});

test('a server whose disk has become read-only ends, and leaves the lock to the next', (t) => {
  const folder = openDataFolder(place(t));
  const mine = lockDataFolder(folder, 'http://127.0.0.1:5000');
  assert.ok(mine.kind === 'locked');
  const file = join(folder.path, 'lock');
  if (spawnSync('mount', ['--bind', '-o', 'ro', file, file]).status !== 0) return t.skip('nothing can be mounted here');
  try {
    mine.release();
  } finally {
    spawnSync('umount', [file]);
  }
  assert.equal(lockOwner(folder), null);
});

test('a half-written lock file of a dead process is no owner', (t) => {
  const folder = openDataFolder(place(t));
  writeFileSync(join(folder.path, 'lock'), '{"pid": 1');
  assert.equal(lockOwner(folder), null);
  const mine = lockDataFolder(folder, 'http://127.0.0.1:5000');
  assert.ok(mine.kind === 'locked');
  mine.release();
});
