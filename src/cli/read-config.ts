import { relative } from 'node:path';
import type { ConfigResult } from '../config/check.ts';
import { environmentVariables } from '../config/environment.ts';
import { findConfigFile, loadConfig } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import type { Config } from '../config/schema.ts';
import { providersInEnvironment } from '../formats/providers/catalog.ts';
import { CommandFailed } from './command-failed.ts';

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
  if (result.ok) return result.config;
  throw new CommandFailed(result.errors.map(formatProblem).join('\n'));
}

/** Origin of a configuration, for people: its file, or what replaces one. */
export function shownSource(file: string | null): string {
  if (file !== null) return relative('', file);
  const variables = environmentVariables.filter((variable) => process.env[variable]);
  return variables.length === 0 ? 'no file, all defaults' : `no file, ${variables.join(', ')}`;
}
