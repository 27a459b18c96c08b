import { Command, CommanderError, InvalidArgumentError } from 'commander';

/** What commands need of rooms that only the composition root knows. Exit codes: 0 done, 1 failed, 2 wrong call. */
export interface CliParts {
  version: string;
  start(options: { config: string | undefined; host: string | undefined; port: number | undefined }): Promise<number>;
  mock(options: { host: string; port: number; name: string }): Promise<{ url: string; close(): Promise<void> }>;
  mockHelp(): Promise<string>;
}

/** Runs one command line; resolves to the exit code once the command has ended. */
export async function runCli(argv: readonly string[], parts: CliParts): Promise<number> {
  let exitCode = 0;
  const program = new Command('culvert')
    .description('An inference gateway: one server, one key, for everything an application needs from AI providers.')
    .version(parts.version)
    .showHelpAfterError('(culvert --help, or culvert COMMAND --help, shows what is possible)')
    .exitOverride();

  program
    .command('start', { isDefault: true })
    .description('Start the gateway')
    .option('--config <file>', 'configuration file (default: CULVERT_CONFIG, ./culvert.yaml, or none)')
    .option('--host <address>', 'address to listen on, over the configuration')
    .option('--port <number>', 'port to listen on, over the configuration', portNumber)
    .addHelpText('after', '\nExample:\n  OPENAI_API_KEY=… culvert start --port 4141')
    .action(async (options: { config?: string; host?: string; port?: number }) => {
      exitCode = await parts.start({ config: options.config, host: options.host, port: options.port });
    });

  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}

export function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError('Expected a port from 0 to 65535.');
  return port;
}
