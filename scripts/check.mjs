// `npm run check`: types, lint and format, rooms, and the unit tests that need nothing but Node; under a minute on two
// cores. These tests share a process for each core: starting one for each file costs more than most of their tests.
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { failedFiles, reporters, testEnvironment, testOptions } from './test-options.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = (name) => join(root, 'node_modules', '.bin', name);
/** A file that names a tool it may lack (ffmpeg, espeak-ng, PostgreSQL, Chromium …) starts it: that is for `npm test`. */
const needsTool = /missingTool\(|setup:test-tools|[a-z]Missing\b/;
/** Memory of a process in which other tests run says nothing. */
const weighsItself = /memoryUsage\(/;
const testTimeoutMs = 180_000;
/** More files than this are not tests that found no time, but a change that breaks things. */
const secondLookFilesMax = 5;
/** How much of each property: `npm test` looks at all its cases, `npm run test:fuzz` at most. */
const someCases = { FC_RUNS: '25', FC_SHARE: '0.1' };

/** Test files that may share a process, below the root. */
export function quickTests() {
  const fast = 'test/{rooms,cited,commits,gates/*,upstream-formats/*,docs/links,docs/plain-english}.test.ts';
  return globSync([fast, 'src/**/*.test.ts'], { cwd: root })
    .sort()
    .filter((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return !needsTool.test(text) && !weighsItself.test(text);
    });
}

/**
 * Runs everything at once and prints each part when it ends. Resolves to which failed. `cases`: how much of each
 * property (scripts/seeded-fast-check.mjs).
 */
export async function check({ names, cases }) {
  const files = quickTests();
  const shards = Math.min(availableParallelism(), files.length);
  const notes = mkdtempSync(join(tmpdir(), 'culvert-check-'));
  const failedIn = (at) => join(notes, `failed-${at}.json`);
  const tests = Array.from({ length: shards }, (_, at) => [
    '--test-isolation=none',
    ...testOptions(testTimeoutMs),
    ...reporters(names),
    ...files.filter((_, index) => index % shards === at),
  ]);
  const parts = await Promise.all([
    part('types', bin('tsc'), typesOf('.')),
    part('types of the dashboard', bin('tsc'), typesOf('web')),
    part('lint and format', bin('biome'), ['check', '--error-on-warnings', '.']),
    ...tests.map((args, at) =>
      part(`unit tests ${at + 1} of ${shards}`, process.execPath, args, { ...cases, FAILED_FILES: failedIn(at) }),
    ),
  ]);
  const failed = parts.filter(({ passed }) => !passed).map(({ title }) => title);
  const again = tests.flatMap((_, at) => failedFiles(failedIn(at))).filter((file) => file !== '');
  rmSync(notes, { recursive: true, force: true });
  const failedTests = failed.filter((title) => title.startsWith('unit tests'));
  if (failedTests.length === 0 || again.length === 0 || again.length > secondLookFilesMax) return failed;
  // Beside the rest of the check a test may find no time; one that failed for that alone passes by itself.
  const args = ['--test-concurrency=1', ...testOptions(testTimeoutMs), ...reporters(names), ...again];
  const { passed } = await part(`a second look at ${again.length} files`, process.execPath, args, cases);
  return passed ? failed.filter((title) => !failedTests.includes(title)) : failed;
}

/** With what the compiler found the last time: where few files changed, it takes a quarter of the time. */
function typesOf(project) {
  const found = join(root, 'node_modules', '.cache', 'types', project, 'found.tsbuildinfo');
  return ['--noEmit', '-p', project, '--incremental', '--tsBuildInfoFile', found];
}

function part(title, command, args, environment) {
  const { promise, resolve } = Promise.withResolvers();
  const startedMs = performance.now();
  const run = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: testEnvironment(environment),
  });
  const said = [];
  run.stdout.on('data', (bytes) => said.push(bytes));
  run.stderr.on('data', (bytes) => said.push(bytes));
  run.on('close', (code) => {
    process.stdout.write(`${Buffer.concat(said)}`);
    const took = `${((performance.now() - startedMs) / 1_000).toFixed(0)} s`;
    console.log(code === 0 ? `${title}: ok (${took})` : `${title} failed (${took}).`);
    resolve({ title, passed: code === 0 });
  });
  return promise;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const failed = await check({ names: process.argv.includes('--names'), cases: someCases });
  process.exit(failed.length === 0 ? 0 : 1);
}
