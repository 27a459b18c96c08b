// What every run of `node --test` here has in common.
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const scripts = dirname(fileURLToPath(import.meta.url));
/** Seed of `npm test` and `npm run check`: the same cases each time. */
const usualSeed = '20261120';

/** Before the files; imports load sources quickly, keep hooks light, give properties their seed, and say what a file took and whether it failed. */
export function testOptions(timeoutMs) {
  return [
    '--test',
    `--test-timeout=${timeoutMs}`,
    `--import=${pathToFileURL(join(scripts, 'quick-imports.mjs'))}`,
    `--import=${pathToFileURL(join(scripts, 'light-test-hooks.mjs'))}`,
    `--import=${pathToFileURL(join(scripts, 'seeded-properties.mjs'))}`,
    `--import=${pathToFileURL(join(scripts, 'test-times.mjs'))}`,
    `--test-reporter=${join(scripts, 'test-summary.mjs')}`,
    '--test-reporter-destination=stdout',
  ];
}

/** How a run is followed: the name of each test, or as the summary does it. */
export function reporters(names) {
  return names ? ['--test-reporter=spec', '--test-reporter-destination=stdout'] : [];
}

export function testEnvironment(more = {}) {
  return {
    ...process.env,
    NODE_NO_WARNINGS: '1',
    // Threads of the tests' gateways find it there too; it halves what a file takes to load.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'node-compile-cache'),
    FC_SEED: process.env.FC_SEED ?? usualSeed,
    ...more,
  };
}

/** Files that a run with FAILED_FILES named; none when it ended before. */
export function failedFiles(list) {
  try {
    return JSON.parse(readFileSync(list, 'utf8'));
  } catch {
    return [];
  }
}

/** Lines of a file; none when there is no such file. */
export function linesOf(path) {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  }
}
