// `npm run check`: types, lint and format, gates, rooms, and the fast unit tests that need nothing but Node; under a
// minute on two cores. These tests share a process for each core: starting one for each file costs more than most of
// their tests. What neither the compiler nor the linter has seen change since the last time costs nothing.
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { filesToLint, keepLinted } from './linted-files.mjs';
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
/** First line of a file whose tests take longer than those of fifty others. */
const isSlow = /^\/\/ Slow: `npm test` runs it/;
/** Programs that count a request's work, and mostly wait: each in a process, beside the rest. */
const gates = 'test/gates/*.test.ts';
const gatesTitle = 'tests of gates';
/**
 * How much of each property (scripts/seeded-fast-check.mjs): the same cases at every run. `npm test -- --full` looks at all,
 * `npm run test:fuzz` at others.
 */
export const someCases = { FC_RUNS: process.env.FC_RUNS ?? '25', FC_SHARE: process.env.FC_SHARE ?? '0.1' };

/** Test files that may share a process, below the root; `slow`: with those that say that they are. */
export function quickTests({ slow }) {
  const fast = 'test/{rooms,cited,commits,upstream-formats/*,docs/links,docs/plain-english}.test.ts';
  return globSync([fast, 'src/**/*.test.ts'], { cwd: root })
    .sort()
    .filter((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return !needsTool.test(text) && !weighsItself.test(text) && (slow || !isSlow.test(text));
    });
}

/** Types, lint and format. Prints each part when it ends, and resolves to which failed. */
export async function checkSources() {
  const lint = filesToLint(root);
  const parts = await Promise.all([
    part('types', bin('tsc'), typesOf('.')),
    part('types of the dashboard', bin('tsc'), typesOf('web')),
    part('lint and format', bin('biome'), ['check', '--error-on-warnings', '--no-errors-on-unmatched', ...lint.paths]),
  ]);
  if (parts.some(({ title, passed }) => title === 'lint and format' && passed)) keepLinted(root, lint);
  return parts.filter(({ passed }) => !passed).map(({ title }) => title);
}

/** Runs everything at once and prints each part when it ends. Resolves to which failed. */
async function check({ names }) {
  const files = quickTests({ slow: false });
  const shards = Math.min(availableParallelism(), files.length);
  const notes = mkdtempSync(join(tmpdir(), 'culvert-check-'));
  const failedIn = (at) => join(notes, `failed-${at}.json`);
  const usual = [...testOptions(testTimeoutMs), ...reporters(names)];
  const tests = Array.from({ length: shards }, (_, at) => ({
    title: `unit tests ${at + 1} of ${shards}`,
    args: ['--test-isolation=none', ...usual, ...files.filter((_, index) => index % shards === at)],
  }));
  const gateFiles = globSync(gates, { cwd: root }).sort();
  const runTests = ({ title, args }, at) =>
    part(title, process.execPath, args, { ...someCases, FAILED_FILES: failedIn(at) });
  const running = tests.map(runTests);
  const failed = await checkSources();
  // What they count is of a request alone where the machine is not crowded.
  tests.push({ title: gatesTitle, args: [`--test-concurrency=${gateFiles.length}`, ...usual, ...gateFiles] });
  running.push(runTests(tests.at(-1), tests.length - 1));
  const failedTests = (await Promise.all(running)).filter(({ passed }) => !passed).map(({ title }) => title);
  failed.push(...failedTests);
  const named = tests.flatMap((_, at) => failedFiles(failedIn(at))).map((file) => relative(root, file));
  // A gate carries the name of the file that makes them all, which is no test.
  const again = failedTests.includes(gatesTitle) ? gateFiles : [];
  again.push(...named.filter((file) => files.includes(file)));
  const isElsewhere = named.some((file) => !files.includes(file) && !file.startsWith(dirname(gates)));
  rmSync(notes, { recursive: true, force: true });
  if (failedTests.length === 0 || isElsewhere || again.length === 0 || again.length > secondLookFilesMax) return failed;
  // Beside the rest of the check a test may find no time; one that failed for that alone passes by itself.
  const args = ['--test-concurrency=1', ...testOptions(testTimeoutMs), ...reporters(names), ...again];
  const { passed } = await part(`a second look at ${again.length} files`, process.execPath, args, someCases);
  return passed ? failed.filter((title) => !failedTests.includes(title)) : failed;
}

/**
 * With what the compiler found the last time: where few files changed, it takes a quarter of the time. Each checker makes
 * the types that it needs: four, as is usual, take 46 s of the processor for both projects, and one takes 34.
 */
function typesOf(project) {
  const found = join(root, 'node_modules', '.cache', 'types', project, 'found.tsbuildinfo');
  const checkers = String(Math.max(1, Math.floor(availableParallelism() / 4)));
  return ['--noEmit', '-p', project, '--incremental', '--tsBuildInfoFile', found, '--checkers', checkers];
}

/** Runs a program and prints what it wrote when it ends. Resolves to whether it passed. */
export function part(title, command, args, environment) {
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
  const failed = await check({ names: process.argv.includes('--names') });
  process.exit(failed.length === 0 ? 0 : 1);
}
