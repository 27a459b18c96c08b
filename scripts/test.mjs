// `npm test`: types, lint, then every suite. `npm test -- PATTERN…` runs only the test files whose path holds a pattern.
// `npm run test:fuzz`: the files with properties alone, with a new seed and ten times the cases.
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkStatic } from './check.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const fuzz = process.argv[2] === '--fuzz';
const patterns = process.argv.slice(fuzz ? 3 : 2);
// More files than this are not a test that found no peace, but a change that breaks things.
const secondLookFilesMax = 5;

if (patterns.length === 0 && !fuzz) checkStatic();
const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
  .filter((file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)))
  .filter((file) => !fuzz || readFileSync(join(root, file), 'utf8').includes('fast-check'))
  .sort();
if (files.length === 0) {
  console.error(`No test file matches ${patterns.join(', ')}.`);
  process.exit(1);
}

const seed = process.env.FC_SEED ?? (fuzz ? String(Math.trunc(Math.random() * 2 ** 31)) : '20261120');
const notes = mkdtempSync(join(tmpdir(), 'culvert-test-'));
const failedList = join(notes, 'failed.json');

function run(paths, concurrency) {
  const { status } = spawnSync(
    process.execPath,
    [
      '--test',
      `--test-concurrency=${concurrency}`,
      `--test-timeout=${fuzz ? 1_800_000 : 180_000}`,
      `--import=${pathToFileURL(join(root, 'scripts/seeded-properties.mjs'))}`,
      '--test-reporter=dot',
      '--test-reporter-destination=stdout',
      '--test-reporter=./scripts/test-summary.mjs',
      '--test-reporter-destination=stdout',
      ...paths,
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        NODE_NO_WARNINGS: '1',
        FC_SEED: seed,
        ...(fuzz && { FC_RUNS: process.env.FC_RUNS ?? '1000' }),
        FAILED_FILES: failedList,
      },
    },
  );
  return status ?? 1;
}

function failedFiles() {
  try {
    return JSON.parse(readFileSync(failedList, 'utf8'));
  } catch {
    return [];
  }
}

let status = run(files, 2);
const failed = failedFiles().map((file) => relative(root, file));
// A test that a file beside it made carries that one's name: it cannot be run by itself.
const alone = failed.every((file) => files.includes(file));
if (status !== 0 && !fuzz && alone && failed.length > 0 && failed.length <= secondLookFilesMax) {
  // Tests with real processes share two cores; one that failed for that alone passes by itself. It stands above all the
  // same: a test to be mended.
  console.log(`\nA second look at what failed, by itself:\n  ${failed.join('\n  ')}`);
  status = run(failed, 1);
  if (status === 0)
    console.log('\nThey passed by themselves: the tests that failed above need a quieter machine, and mending.');
}
if (fuzz) console.log(`seed ${seed}: FC_SEED=${seed} npm run test:fuzz runs it again`);
rmSync(notes, { recursive: true, force: true });
process.exit(status);
