import { basename, isAbsolute, relative } from 'node:path';

/** Name of the package; its command is `culvert`. */
export const packageName = 'culvert-gateway';

/** The variable by which a process that another one forked knows how its user called that one. */
export const commandVariable = 'CULVERT_COMMAND';

/** How a process was called, as far as that says how its user calls commands. */
export interface Called {
  /** Path of the program, links not followed; of the one executable, what its user typed. */
  program: string;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

/**
 * Prefix that makes a command's name pasteable: `culvert`, `npx culvert-gateway`, `npm run culvert --` in a clone,
 * `node bin/culvert.mjs`, or `./culvert-linux-x64` for the one executable.
 */
export function commandForm({ program, env, cwd }: Called): string {
  const named = env[commandVariable];
  if (named !== undefined) return named;
  const script = env.npm_lifecycle_event;
  if (env.npm_package_name === packageName && (script === 'start' || script === 'culvert')) return 'npm run culvert --';
  const path = program.replaceAll('\\', '/');
  if (path.includes('/_npx/')) return `npx ${packageName}`;
  if (path.endsWith('/node_modules/.bin/culvert')) return 'npx culvert';
  // Without symbolic links (Windows, pnpm), an installed command is its package's own file.
  if (path === '' || path.includes(`/node_modules/${packageName}/`)) return 'culvert';
  const name = basename(path);
  if (name === 'culvert' && isAbsolute(path)) return name;
  // Any other script that runs this code is not a command: a test, or another program.
  if (name !== 'culvert.mjs') return /\.[cm]?[jt]s$/.test(name) ? 'culvert' : pasted(program);
  const fromHere = relative(cwd, program);
  return `node ${pasted(fromHere.startsWith('..') ? program : fromHere)}`;
}

/** Quoted as one word of a shell; of Windows too, where it has none of the marks that POSIX reads within double quotes. */
export function pasted(word: string): string {
  if (/^[\w./\\:@=,+-]+$/.test(word)) return word;
  return /["$`!]/.test(word) ? `'${word.replaceAll("'", "'\\''")}'` : JSON.stringify(word);
}

/** The form in which this process was called, for whatever tells its user of a command. */
export const culvert = commandForm({ program: process.argv[1] ?? '', env: process.env, cwd: process.cwd() });
