import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Suite } from './peers.ts';
import { readJunit, type TestResult } from './read-junit.ts';

const home = fileURLToPath(new URL('../../.test-tools/python', import.meta.url));

/** Without the machine's own keys: the tests would call providers with them. */
const env = {
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  PYTHONPATH: [home, process.env.PYTHONPATH].filter(Boolean).join(':'),
  PYTHONDONTWRITEBYTECODE: '1',
  NO_PROXY: '*',
};

const testSeconds = 60;

/** Asked for here: where the tests are, a `.python-version` may choose another, for which the modules are not made. */
const python = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  env,
  encoding: 'utf8',
}).stdout?.trim();

/** The one command that brings what a suite needs to run at all; null where that is here. */
export function toInstall({ runner, cwd }: Suite): string | null {
  if (runner === 'vitest') return existsSync(vitestOf(cwd)) ? null : `npm ci --prefix ${cwd}`;
  const hasBoth = spawnSync(python, ['-c', 'import pytest, pytest_timeout'], { env }).status === 0;
  return hasBoth ? null : 'npm run setup:test-tools';
}

/** The command that installs modules of Python which the tests name and this machine lacks; null when there are none. */
export function modulesToInstall(results: readonly TestResult[]): string | null {
  const modules = new Set(
    results.flatMap(({ reason }) => /ModuleNotFoundError: No module named '([^'.]+)/.exec(reason)?.[1] ?? []),
  );
  if (modules.size === 0) return null;
  return `python3 -m pip install --target ${home} ${[...modules].sort().join(' ')}`;
}

/** The runner ends with an error where tests fail, so only a missing report is one. `scratch` gets the report. */
export async function runSuite(
  suite: Suite,
  { environment, only, scratch }: { environment: Record<string, string>; only: string | undefined; scratch: string },
): Promise<TestResult[]> {
  const xml = join(scratch, 'junit.xml');
  rmSync(xml, { force: true });
  const [command, args] = suite.runner === 'pytest' ? pytest(suite, xml, only) : vitest(suite, xml, only);
  const child = spawn(command, args, {
    cwd: suite.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, ...environment },
  });
  let tail = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      tail = (tail + text).slice(-4_000);
    });
  }
  await once(child, 'close');
  if (!existsSync(xml)) throw new Error(`${suite.runner} wrote no report:\n${tail}`);
  return readJunit(readFileSync(xml, 'utf8'));
}

function pytest({ files }: Suite, xml: string, only: string | undefined): [string, string[]] {
  const options = ['-q', '-p', 'no:cacheprovider', '--continue-on-collection-errors', `--timeout=${testSeconds}`];
  // A peer's own options may name plugins that are not here, and print what nobody reads.
  const settings = ['-o', 'addopts=', '-o', 'log_cli=false', '-o', 'junit_family=xunit1', `--junitxml=${xml}`];
  return [python, ['-m', 'pytest', ...options, ...settings, ...(only === undefined ? [] : ['-k', only]), ...files]];
}

function vitest({ cwd }: Suite, xml: string, only: string | undefined): [string, string[]] {
  const options = [
    'run',
    '--retry=0',
    `--testTimeout=${testSeconds * 1_000}`,
    '--reporter=junit',
    `--outputFile=${xml}`,
  ];
  return [vitestOf(cwd), [...options, ...(only === undefined ? [] : ['-t', only])]];
}

function vitestOf(cwd: string): string {
  return join(cwd, 'node_modules', '.bin', 'vitest');
}
