// `npm run check`: types, lint and format, rooms, fast tests, generated docs; under a minute.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = (name) => join(root, 'node_modules', '.bin', name);

function step(title, command, args) {
  const run = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
  });
  if (run.status !== 0) {
    console.error(`${title} failed.`);
    process.exit(run.status ?? 1);
  }
  console.log(`${title}: ok`);
}

export function checkStatic() {
  step('types', bin('tsc'), ['--noEmit', '-p', '.']);
  step('lint and format', bin('biome'), ['check', '--error-on-warnings', '.']);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  checkStatic();
  step('rooms and unit tests', process.execPath, [
    '--test',
    '--test-reporter=dot',
    'test/rooms.test.ts',
    ...globSync('src/**/*.test.ts', { cwd: root }),
  ]);
}
