import { resolve } from 'node:path';
import { type ConfigResult, checkConfigText } from '../config/check.ts';
import { processesOf } from '../config/declared.ts';
import type { Env } from '../config/environment.ts';
import { configText, loadConfig, wholeConfigText } from '../config/load.ts';
import type { ConfigProblem } from '../config/problem.ts';
import type { Config } from '../config/schema.ts';
import { GatewayError } from './gateway-error.ts';
import type { CulvertConfig } from './gateway-types.ts';

/** A configuration that an application gave, checked. */
export interface ReadConfig {
  config: Config;
  file: string | null;
  warnings: readonly ConfigProblem[];
  /** Its present text; null when it cannot be read. */
  text(): string | null;
}

/** Checks what an application gave as configuration. Throws a `GatewayError` that lists every problem. */
export function readConfig(
  given: CulvertConfig | string | undefined,
  parts: { env: Env; implicitProviders: readonly string[] },
): ReadConfig {
  const file = typeof given === 'string' ? resolve(given) : null;
  const written = typeof given === 'object' ? asText(given) : '';
  const { env, implicitProviders } = parts;
  const checked: ConfigResult =
    given === undefined || file !== null
      ? loadConfig({ file, env, implicitProviders })
      : checkConfigText(written, 'culvert.yaml', env, { implicitProviders });
  if (!checked.ok) throw new GatewayError(checked.errors.map((problem) => asProblem(problem, file)));
  const { config, warnings } = checked;
  if (processesOf(config) > 1)
    throw new GatewayError([
      { path: 'server.processes', message: 'a gateway in an application has one process: set it to 1' },
    ]);
  return { config, file, warnings, text: () => (file === null ? written : configText(file)) };
}

/** The text of what an application gave, included files too; null: its file cannot be read. */
export function textOf(given: CulvertConfig | string | undefined, env: Env): string | null {
  return typeof given === 'object' ? asText(given) : wholeConfigText(given === undefined ? null : resolve(given), env);
}

/** JSON is YAML. */
function asText(given: object): string {
  try {
    return JSON.stringify(given);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new GatewayError([{ path: 'config', message: `it must hold what JSON can say (${why})` }]);
  }
}

/** An object has no lines. */
function asProblem({ path, message, file, line, column }: ConfigProblem, ofFile: string | null) {
  return { path, message: ofFile === null ? message : `${message} (${file}:${line}:${column})` };
}
