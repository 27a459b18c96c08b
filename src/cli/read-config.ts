import { relative } from 'node:path';
import type { ConfigResult } from '../config/check.ts';
import { environmentVariables } from '../config/environment.ts';
import { configText, findConfigFile, loadConfig } from '../config/load.ts';
import { type ConfigProblem, formatProblem } from '../config/problem.ts';
import { type Config, configSchema } from '../config/schema.ts';
import { providersInEnvironment } from '../formats/providers/catalog.ts';
import { culvert } from '../kernel/command-form.ts';
import { objectIn } from '../kernel/json.ts';
import { CommandFailed } from './command-failed.ts';
import { readForeignYaml } from './import/foreign-yaml.ts';
import { note } from './print.ts';

/** The configuration that `culvert start` would use here, checked. `file` is null without one. */
export function loadHere(flag: string | undefined): { file: string | null; result: ConfigResult } {
  const { env } = process;
  const file = findConfigFile({ flag, env, cwd: process.cwd() });
  const implicitProviders = providersInEnvironment(env).map(({ id }) => id);
  return { file, result: loadConfig({ file, env, implicitProviders }) };
}

/** The same for commands that need a valid one: its errors end the command. */
export function readConfig(flag: string | undefined): Config {
  const { result } = loadHere(flag);
  return result.ok ? result.config : refuse(result.errors);
}

function refuse(errors: readonly ConfigProblem[]): never {
  throw new CommandFailed(errors.map(formatProblem).join('\n'));
}

/** Sections that find the running server and open it. */
export type ServerPlace = Pick<Config, 'admin' | 'storage'>;

/** Reads them once. */
export function placeReader(flag: string | undefined): () => ServerPlace {
  let read: ServerPlace | null = null;
  return () => {
    read ??= readPlace(flag);
    return read;
  };
}

/** The server goes on when its file gets an error, so one in other sections keeps no command from it and its stores. */
export function readPlace(flag: string | undefined): ServerPlace {
  const { file, result } = loadHere(flag);
  if (result.ok) return result.config;
  const written = readForeignYaml(configText(file) ?? '');
  const { admin, storage } = objectIn(written.ok ? written.file.value : null);
  // Without a file that can be read, or with its `storage` misspelt, the defaults would be the stores of another server.
  if (result.errors.some(({ path }) => !leavesPlace(path, storage !== undefined))) return refuse(result.errors);
  const text = JSON.stringify({ admin: admin ?? {}, storage: storage ?? {} });
  const place = loadConfig({ file, env: process.env, text });
  if (!written.ok || !place.ok) return refuse(result.errors);
  note(`warning: ${shownSource(file)} has errors; ${culvert} check lists them.`);
  return place.config;
}

/** Whether an error at `path` is in another section than those of a ServerPlace, and in none that may be one misspelt. */
function leavesPlace(path: string, hasStorage: boolean): boolean {
  const [section = ''] = /^\w*/.exec(path) ?? [];
  return !['', 'admin', 'storage'].includes(section) && (hasStorage || Object.hasOwn(configSchema.shape, section));
}

/** Origin of a configuration, for people: its file, or what replaces one. */
export function shownSource(file: string | null): string {
  if (file !== null) return relative('', file);
  const variables = environmentVariables.filter((variable) => process.env[variable]);
  return variables.length === 0 ? 'no file, all defaults' : `no file, ${variables.join(', ')}`;
}
