import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { type Lifetime, temporaryFolder } from './start-process.ts';

const person = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.org',
};

/** A clone with one commit: what a release reads and writes, at version 0.1.0. */
function clone(t: Lifetime) {
  const folder = temporaryFolder(t);
  const run = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, ...person },
    });
    return { status, stdout: stdout.trim(), stderr: stderr.trim() };
  };
  for (const file of ['scripts/release.mjs', 'package.json', 'package-lock.json'])
    cpSync(file, join(folder, file), { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) {
    const text = readFileSync(join(folder, file), 'utf8');
    writeFileSync(join(folder, file), text.replace(/"version": "[^"]+"/, '"version": "0.1.0"'));
  }
  const changelog = (text: string) => {
    writeFileSync(join(folder, 'CHANGELOG.md'), `# Changelog\n\n${text}`);
    run('git', 'add', '-A');
    run('git', 'commit', '-qm', 'a change');
  };
  run('git', 'init', '-q');
  changelog('## Unreleased\n\n### Added\n\n- A thing.\n');
  const release = (...args: string[]) => run(process.execPath, 'scripts/release.mjs', ...args);
  return { folder, run, changelog, release };
}

const released =
  '## Unreleased\n\n## 0.2.0 - 2027-01-02\n\n### Added\n\n- A thing.\n\n## 0.1.0 - 2026-01-01\n\n- First.\n';

test('a release writes the version of the changelog into both files, commits and tags', (t) => {
  const { folder, run, changelog, release } = clone(t);
  changelog(released);
  const { status, stderr } = release('0.2.0');
  assert.equal(status, 0, stderr);
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as { version: string };
  assert.deepEqual([read('package.json').version, read('package-lock.json').version], ['0.2.0', '0.2.0']);
  assert.equal(run('git', 'log', '-1', '--format=%s').stdout, 'release: publish 0.2.0');
  assert.equal(run('git', 'describe', '--exact-match').stdout, 'v0.2.0');
  assert.equal(run('git', 'status', '--porcelain').stdout, '');
  assert.deepEqual(release('--notes', 'v0.2.0'), { status: 0, stdout: '### Added\n\n- A thing.', stderr: '' });
  assert.match(release('--notes', 'v0.3.0').stderr, /^The tag is v0\.3\.0, but package\.json says 0\.2\.0\.$/);
});

test('a release that lacks something changes nothing, and says what', (t) => {
  const { folder, run, changelog, release } = clone(t);
  const before = run('git', 'rev-parse', 'HEAD').stdout;
  assert.match(release().stderr, /^Name the version: /);
  assert.match(release('two').stderr, /^Name the version: /);
  assert.match(release('0.1.0').stderr, /^0\.1\.0 is not above 0\.1\.0\.$/);
  assert.match(release('0.2.0').stderr, /^CHANGELOG\.md has no section '## 0\.2\.0 - YYYY-MM-DD': rename 'Unreleased'/);
  assert.equal(run('git', 'rev-parse', 'HEAD').stdout, before);
  changelog('## 0.2.0 - soon\n\n- A thing.\n');
  assert.match(release('0.2.0').stderr, /'## 0\.2\.0 - soon' should be '## 0\.2\.0 - YYYY-MM-DD'/);
  changelog('## 0.2.0 - 2027-01-02\n\n## 0.1.0 - 2026-01-01\n');
  assert.match(release('0.2.0').stderr, /says nothing of 0\.2\.0/);
  changelog(released);
  writeFileSync(join(folder, 'package.json'), `${readFileSync(join(folder, 'package.json'), 'utf8')}\n`);
  const dirty = release('0.2.0');
  assert.deepEqual([dirty.status, /not clean/.test(dirty.stderr)], [1, true]);
  assert.equal(run('git', 'tag').stdout, '');
});

interface Workflow {
  env: { NODE_VERSION: string };
  jobs: Record<string, { steps: { uses?: string }[] }>;
}

test('the workflow pins every action by its commit, and the Node that the repository brings', () => {
  const text = readFileSync('.github/workflows/release.yml', 'utf8');
  const { env, jobs } = parse(text) as Workflow;
  const uses = Object.values(jobs).flatMap(({ steps }) => steps.flatMap((step) => step.uses ?? []));
  assert.ok(uses.length > 5);
  assert.deepEqual(
    uses.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(action)),
    [],
  );
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  assert.deepEqual([...new Set(Object.values(optionalDependencies))], [env.NODE_VERSION]);
});
