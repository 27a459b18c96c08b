import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../../kernel/make-folder.ts';
import type { ExtrasFolder } from './extras-folder.ts';
import { AddFailed } from './model-host.ts';

/** The package that runs models, exactly this one; with it come those that its lock names, by their checksums. */
export const runtimePackage = '@huggingface/transformers';
export const runtimeVersion = '4.3.1';
/** On disk. */
export const runtimeAboutBytes = 480_000_000;

/** Whether the packages are there, in the version that this Culvert was tested with. */
export function runtimeInstalled(folder: ExtrasFolder): boolean {
  try {
    const text = readFileSync(join(folder.runtime, 'node_modules', runtimePackage, 'package.json'), 'utf8');
    return (JSON.parse(text) as { version?: unknown }).version === runtimeVersion;
  } catch {
    return false;
  }
}

export interface RuntimeParts {
  folder: ExtrasFolder;
  signal: AbortSignal;
  network: 'online' | 'offline';
  /** Wall-clock. */
  nowMs(): number;
  /** Another npm, in tests. */
  npm?: string;
}

/**
 * Has npm install the packages, by a lock with their checksums and without any script of theirs. Into a folder of this
 * call alone, which takes the place of the packages when it is whole: of two at once the second finds them there.
 */
export async function installRuntime(parts: RuntimeParts): Promise<void> {
  const { folder, signal, network, npm = 'npm' } = parts;
  makeFolder(folder.path);
  removeForgotten(parts);
  const fresh = mkdtempSync(`${folder.runtime}${freshSuffix}`);
  try {
    cpSync(new URL('./runtime-package.json', import.meta.url), join(fresh, 'package.json'));
    cpSync(new URL('./runtime-lock.json', import.meta.url), join(fresh, 'package-lock.json'));
    const offline = network === 'offline' ? ['--offline'] : [];
    await run(
      npm,
      ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...offline],
      fresh,
      signal,
    );
    if (!runtimeInstalled(folder)) replaceBy(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  if (!runtimeInstalled(folder))
    throw new AddFailed(`npm installed something other than ${runtimePackage} ${runtimeVersion}.`);
}

const freshSuffix = '.new-';
/** No installation takes as long. */
const forgottenMs = 86_400_000;

/** Left by a killed process. */
function removeForgotten({ folder, nowMs }: RuntimeParts): void {
  const begin = `${basename(folder.runtime)}.new`;
  for (const name of readdirSync(dirname(folder.runtime))) {
    const path = join(dirname(folder.runtime), name);
    const changedMs = name.startsWith(begin) ? (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null) : null;
    if (changedMs !== null && changedMs < nowMs() - forgottenMs) rmSync(path, { recursive: true, force: true });
  }
}

function replaceBy(fresh: string, folder: ExtrasFolder): void {
  try {
    rmSync(folder.runtime, { recursive: true, force: true });
    renameSync(fresh, folder.runtime);
  } catch (error) {
    // Another was whole between our two steps: the same packages.
    if (!runtimeInstalled(folder)) throw error;
  }
}

function run(command: string, args: readonly string[], cwd: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const process = spawn(command, args, { cwd, signal, stdio: ['ignore', 'ignore', 'pipe'] });
    let output = '';
    process.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4_000);
    });
    process.on('error', (error: NodeJS.ErrnoException) => {
      if (signal.aborted) return reject(signal.reason);
      const why = error.code === 'ENOENT' ? 'npm is not installed: it comes with Node.js' : `npm: ${error.message}`;
      reject(new AddFailed(why));
    });
    process.on('close', (code, killedBy) => {
      if (code === 0) return resolve();
      const line =
        output.split('\n').find((one) => /error/i.test(one)) ?? `npm ended (${killedBy ?? `exit code ${code}`})`;
      reject(new AddFailed(`The packages could not be installed: ${line.trim()}`));
    });
  });
}
