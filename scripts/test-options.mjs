// What every run of `node --test` here has in common.
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const scripts = dirname(fileURLToPath(import.meta.url));
/** Of `npm test` and `npm run check`: the same cases each time. */
const usualSeed = '20261120';

/** Before the files; properties get their seed by the import. */
export function testOptions(timeoutMs) {
  return [
    '--test',
    `--test-timeout=${timeoutMs}`,
    `--import=${pathToFileURL(join(scripts, 'seeded-properties.mjs'))}`,
    `--test-reporter=${join(scripts, 'test-summary.mjs')}`,
    '--test-reporter-destination=stdout',
  ];
}

/** How a run is followed: a dot for each test, its name, or not at all. */
export function reporters(progress) {
  const reporter = { dots: 'dot', names: 'spec' }[progress];
  return reporter === undefined ? [] : [`--test-reporter=${reporter}`, '--test-reporter-destination=stdout'];
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
