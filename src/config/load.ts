import { statSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { type ConfigResult, checkConfigText } from './check.ts';
import { zeroConfig } from './defaults.ts';
import { type Env, isInEnvironment } from './environment.ts';
import { includedTexts, readText } from './include.ts';

export interface LoadOptions {
  file: string | null;
  env: Env;
  /** Providers that exist without standing in the file, such as those of keys in the environment. */
  implicitProviders?: readonly string[];
  /** A file below it is named relative to it in messages. Default: the process's. */
  cwd?: string;
  /** Checked in the place of the file's. */
  text?: string;
}

/**
 * Which file to use, absolute: `--config`, else `CULVERT_CONFIG`, else ./culvert.yaml if there is one, else null (no
 * file). A named file need not exist: `loadConfig` says so.
 */
export function findConfigFile(options: { flag: string | undefined; env: Env; cwd: string }): string | null {
  const named = options.flag ?? (options.env.CULVERT_CONFIG || undefined);
  if (named !== undefined) return resolve(options.cwd, named);
  const usual = resolve(options.cwd, 'culvert.yaml');
  return statSync(usual, { throwIfNoEntry: false }) === undefined ? null : usual;
}

/** Reads and checks the whole file. Never throws, whatever the file and the environment hold. */
export function loadConfig(options: LoadOptions): ConfigResult {
  if (options.file === null) return withoutFile(options);
  const cwd = options.cwd ?? process.cwd();
  const file = resolve(cwd, options.file);
  const shownAs = shownName(file, cwd);
  const read = options.text === undefined ? readText(file) : { text: options.text };
  if ('message' in read) {
    const message = ofTheFile[read.message] ?? `the file ${read.message}`;
    return { ok: false, errors: [{ file: shownAs, line: 1, column: 1, path: '', message }], sources: [file] };
  }
  return checkConfigText(read.text, file, options.env, { implicitProviders: options.implicitProviders ?? [], shownAs });
}

/** The present text of the file, '' when there is no file; null when it cannot be read. */
export function configText(file: string | null): string | null {
  if (file === null) return '';
  const read = readText(file);
  return 'text' in read ? read.text : null;
}

/** The same with the texts of the files that it includes below it: for what looks for references. */
export function wholeConfigText(file: string | null, env: Env): string | null {
  const text = configText(file);
  if (file === null || text === null) return text;
  return [text, ...includedTexts(text, { env, directory: dirname(file) })].join('\n');
}

/** All defaults, with the values of the environment. */
function withoutFile({ env, implicitProviders = [] }: LoadOptions): ConfigResult {
  const nowhere = { file: null, sources: [] };
  if (!isInEnvironment(env)) return { ok: true, config: zeroConfig(), warnings: [], ...nowhere };
  return { ...checkConfigText('', 'culvert.yaml', env, { implicitProviders }), ...nowhere };
}

/** Why a file without content is refused. */
export const emptyFile = 'the file is empty; delete it to run without one';

/** Words for the one file, of which all defaults would be in force without it. */
const ofTheFile: Readonly<Record<string, string>> = {
  'is not a file': 'this is not a file',
  'is empty': emptyFile,
  'cannot be read (ENOENT)': 'there is no such file',
};

function shownName(file: string, cwd: string): string {
  const name = relative(cwd, file);
  return name === '' || name.startsWith('..') || isAbsolute(name) ? file : name;
}
