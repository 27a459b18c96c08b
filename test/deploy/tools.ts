import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const deploy = join(root, 'deploy');
/** A program that waits for something else would hold the thread of its tests for good. */
const programMs = 300_000;
const installed = join(root, '.test-tools', 'deploy', 'bin');

/** A program of `npm run setup:deploy-tools`, or of the system; null where it is missing. */
export function findProgram(name: string): string | null {
  const places = [installed, ...(process.env.PATH ?? '').split(':'), '/usr/sbin'];
  return places.map((place) => join(place, name)).find((file) => existsSync(file)) ?? null;
}

/** The reason to skip what needs these programs; false where all are there. */
export function programsMissing(...names: readonly string[]): string | false {
  const missing = names.filter((name) => findProgram(name) === null);
  return missing.length > 0 && `${missing.join(' and ')} missing: npm run setup:deploy-tools`;
}

/** Runs it to its end. `said` is all of its output. */
export function runProgram(
  name: string,
  args: readonly string[],
  options: { cwd?: string; input?: string; env?: Readonly<Record<string, string>> } = {},
): { code: number | null; stdout: string; said: string } {
  const { env, ...rest } = options;
  const { status, stdout, stderr } = spawnSync(findProgram(name)!, args, {
    ...rest,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    timeout: programMs,
  });
  return { code: status, stdout, said: stdout + stderr };
}
