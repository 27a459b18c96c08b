import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Imports of the suites. `qdrant-client` is the release whose tests run. */
const packages = [
  'pytest==8.4.2',
  'pytest-timeout==2.4.0',
  'pytest-subtests==0.14.2',
  'requests==2.34.2',
  'schemathesis==3.39.16',
  'retry==0.9.2',
  'more-itertools==11.2.1',
  'jsons==1.6.3',
  'pytest-cases==3.9.1',
  'numpy==2.4.6',
  'qdrant-client==1.18.0',
];

const home = fileURLToPath(new URL('../../.test-tools/vector-conformance', import.meta.url));

/** The Python of an environment that has them, made at the first call. Throws what pip says when it cannot be made. */
export function pythonTools(): string {
  const python = join(home, 'bin', 'python');
  const installed = join(home, 'installed.txt');
  const wanted = packages.join('\n');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return python;
  run('python3', ['-m', 'venv', home]);
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]);
  writeFileSync(installed, wanted);
  return python;
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.slice(0, 3).join(' ')}: ${error?.message ?? stderr.trim()}`);
}
