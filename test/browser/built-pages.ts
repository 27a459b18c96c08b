import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const lock = join(root, 'web', 'dist.lock');
/** A build takes a few seconds; a lock that is older was left by a process that died. */
const lockMaxMs = 120_000;

/** The folder of the dashboard as its sources are now; built once, whoever of several test files comes first. */
export async function builtPages(): Promise<string> {
  await taken();
  try {
    const built = spawnSync(process.execPath, [join(root, 'scripts', 'build-web.mjs')], { encoding: 'utf8' });
    if (built.status !== 0) throw new Error(built.stderr);
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
  return join(root, 'web', 'dist');
}

async function taken(): Promise<void> {
  for (let tries = 0; tries < 2_000; tries += 1) {
    try {
      return mkdirSync(lock);
    } catch {
      if (ageOf(lock) > lockMaxMs) rmSync(lock, { recursive: true, force: true });
      await wait(100);
    }
  }
  throw new Error(`${lock} is held by somebody else.`);
}

function ageOf(path: string): number {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}
