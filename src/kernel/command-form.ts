import { basename, relative } from 'node:path';

/** Name of the package; its command is `culvert`. */
export const packageName = 'culvert-gateway';

/** How a process was called, as far as that says how its user calls commands. */
export interface Called {
  /** Path of the program, links not followed. */
  program: string;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

/**
 * What stands before a command's name so that its user can paste it: `culvert`, `npx culvert-gateway`,
 * `npm run culvert --` in a clone, or `node bin/culvert.mjs`.
 */
export function commandForm({ program, env, cwd }: Called): string {
  const script = env.npm_lifecycle_event;
  if (env.npm_package_name === packageName && (script === 'start' || script === 'culvert')) return 'npm run culvert --';
  const path = program.replaceAll('\\', '/');
  if (path.includes('/_npx/')) return `npx ${packageName}`;
  if (path.endsWith('/node_modules/.bin/culvert')) return 'npx culvert';
  // Where links are no links (Windows, pnpm), an installed command is its package's own file.
  if (basename(path) !== 'culvert.mjs' || path.includes(`/node_modules/${packageName}/`)) return 'culvert';
  const fromHere = relative(cwd, program);
  const shown = fromHere.startsWith('..') ? program : fromHere;
  return `node ${/^[\w./\\:-]+$/.test(shown) ? shown : JSON.stringify(shown)}`;
}

/** The form in which this process was called, for whatever tells its user of a command. */
export const culvert = commandForm({ program: process.argv[1] ?? '', env: process.env, cwd: process.cwd() });
