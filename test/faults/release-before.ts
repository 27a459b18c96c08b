import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Lifetime, temporaryFolder } from '../start-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** A change of one of these is a change that both versions meet in one database. */
const schemas = ['src/stores/postgres/schema.ts', 'src/stores/sqlite/ledger-schema.ts'];

const git = (...args: readonly string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();

/** Why there is no checkout of an earlier version here; false: there is. */
export const historyMissing: string | false =
  process.env.CULVERT_BEFORE !== undefined || spawnSync('git', ['-C', root, 'rev-parse', 'HEAD~1']).status === 0
    ? false
    : 'the history of this checkout is not here (git fetch --unshallow)';

export interface EarlierVersion {
  commit: string;
  /** Its program. */
  bin: string;
}

/**
 * The program as it was before the newest change of PostgreSQL's schema, or at the commit that CULVERT_BEFORE names, in a
 * folder of its own, with the packages of this checkout.
 */
export function releaseBefore(t: Lifetime): EarlierVersion {
  const named = process.env.CULVERT_BEFORE;
  const commit = git('rev-parse', '--short', named ?? `${git('log', '-1', '--format=%H', '--', ...schemas)}~1`);
  const folder = join(temporaryFolder(t), 'culvert');
  mkdirSync(folder);
  const archive = execFileSync('git', ['-C', root, 'archive', commit, 'bin', 'src', 'package.json', 'docs'], {
    maxBuffer: 512 * 1024 * 1024,
  });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return { commit, bin: join(folder, 'bin', 'culvert.mjs') };
}
