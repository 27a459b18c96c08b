import { parseArgs } from 'node:util';
import type { ConfigResult } from '../config/check.ts';

export interface StartArguments {
  config: string | undefined;
  host: string | undefined;
  port: number | undefined;
}

const options = { config: { type: 'string' }, host: { type: 'string' }, port: { type: 'string' } } as const;

/** `culvert start`, and what other programs call it. */
export const startNames: readonly string[] = ['start', 'serve', 'run'];

/** A port from 0 to 65,535; null for any other text. */
export function portNumber(text: string): number | null {
  const port = Number(text);
  return Number.isInteger(port) && port >= 0 && port <= 65_535 ? port : null;
}

/**
 * Options of `culvert start`; null for every other call, and for a wrong one or one that asks for help, which the whole
 * command line answers (`program.ts`). This saves a start the 20 ms of commander.
 */
export function startArguments(argv: readonly string[]): StartArguments | null {
  try {
    const { values } = parseArgs({ args: startNames.includes(argv[0] ?? '') ? argv.slice(1) : [...argv], options });
    const port = values.port === undefined ? undefined : portNumber(values.port);
    return port === null ? null : { config: values.config || undefined, host: values.host || undefined, port };
  } catch {
    return null;
  }
}

/** A configuration with the options of the command line over it. */
export function overridden(
  result: ConfigResult,
  { host, port }: { host: string | undefined; port: number | undefined },
): ConfigResult {
  if (!result.ok) return result;
  const { server } = result.config;
  const config = { ...result.config, server: { ...server, host: host ?? server.host, port: port ?? server.port } };
  return { ...result, config };
}
