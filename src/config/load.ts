import { readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { type ConfigResult, checkConfigText } from './check.ts';
import { zeroConfig } from './defaults.ts';
import { type Env, isInEnvironment } from './environment.ts';
import { includedTexts } from './include.ts';
import { configBytesMax } from './yaml-source.ts';

export interface LoadOptions {
  /** Null: no file. */
  file: string | null;
  env: Env;
  /** Providers that exist without standing in the file, such as those of keys in the environment. */
  implicitProviders?: readonly string[];
  /** A file below it is named relative to it in messages. Default: the process's. */
  cwd?: string;
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
  const read = readText(file);
  if (!read.ok) {
    return {
      ok: false,
      errors: [{ file: shownAs, line: 1, column: 1, path: '', message: read.message }],
      sources: [file],
    };
  }
  return checkConfigText(read.text, file, options.env, { implicitProviders: options.implicitProviders ?? [], shownAs });
}

/** The present text of the file, '' when there is no file; null when it cannot be read. */
export function configText(file: string | null): string | null {
  if (file === null) return '';
  const read = readText(file);
  return read.ok ? read.text : null;
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

function readText(file: string): { ok: true; text: string } | { ok: false; message: string } {
  try {
    const facts = statSync(file);
    if (!facts.isFile()) return { ok: false, message: 'this is not a file' };
    if (facts.size > configBytesMax) return { ok: false, message: 'the file is larger than 4 MB' };
    const text = readFileSync(file, 'utf8');
    // Cut to nothing by a full disk, or about to be written: all defaults would be in force, without a key.
    if (text.trim() === '') return { ok: false, message: emptyFile };
    return { ok: true, text };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { ok: false, message: code === 'ENOENT' ? 'there is no such file' : `the file cannot be read (${code})` };
  }
}

function shownName(file: string, cwd: string): string {
  const name = relative(cwd, file);
  return name === '' || name.startsWith('..') || isAbsolute(name) ? file : name;
}
