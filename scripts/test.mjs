// `npm test`: types, lint, then every suite. `npm test -- PATTERN…` runs only the test files whose path holds a pattern.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkStatic } from './check.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const patterns = process.argv.slice(2);

if (patterns.length === 0) checkStatic();
const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
  .filter((file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)))
  .sort();
if (files.length === 0) {
  console.error(`No test file matches ${patterns.join(', ')}.`);
  process.exit(1);
}
const run = spawnSync(
  process.execPath,
  [
    '--test',
    '--test-concurrency=2',
    '--test-timeout=180000',
    '--test-reporter=dot',
    '--test-reporter-destination=stdout',
    '--test-reporter=./scripts/test-summary.mjs',
    '--test-reporter-destination=stdout',
    ...files,
  ],
  { cwd: root, stdio: 'inherit', env: { ...process.env, NODE_NO_WARNINGS: '1' } },
);
process.exit(run.status ?? 1);
