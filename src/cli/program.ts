import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { nearest } from '../kernel/nearest.ts';
import { addAddCommand } from './add-command.ts';
import { CommandFailed } from './command-failed.ts';
import { addImportCommand } from './import-command.ts';
import { configOption, example, jsonOption, keyOption, type Run, urlOption } from './options.ts';
import type { CliParts } from './parts.ts';
import { portNumber } from './start-options.ts';
import { addUpkeepCommands } from './upkeep-commands.ts';

/** Adds what a command takes and does, or its subcommands. */
type Declare = (command: Command, run: Run, parts: CliParts) => void;

/** Commands over the admin API: for each subject of src/admin a file, which is loaded when it is called. */
const subjects: readonly (readonly [name: string, description: string, load: () => Promise<{ declare: Declare }>])[] = [
  [
    'keys',
    'create, list, rotate and revoke API keys, whether or not a server runs',
    () => import('./commands/keys.ts'),
  ],
  ['accounts', 'create, list and change accounts: who pays, and by which plan', () => import('./commands/accounts.ts')],
  ['plans', 'list and show plans: what accounts may use', () => import('./commands/plans.ts')],
  ['audit', 'show who changed accounts, keys and plans, newest first', () => import('./commands/audit.ts')],
  ['usage', 'sum up requests, units, tokens and USD', () => import('./commands/usage.ts')],
  ['requests', 'list, explain and export single requests', () => import('./commands/requests.ts')],
  [
    'vectors',
    'list, export, import, hand over and delete the vector data of tenants',
    () => import('./commands/vectors.ts'),
  ],
];

/** Runs any command but a plain start; resolves to the exit code once it has ended. `serving`: it may go on for ever. */
export async function runProgram(argv: readonly string[], parts: CliParts, serving: () => void): Promise<number> {
  let exitCode = 0;
  const run: Run = async (work) => {
    exitCode = await work;
  };
  const serve: Run = (work) => {
    serving();
    return run(work);
  };
  const program = await createProgram(parts, run, serve, argv[argv[0] === 'help' ? 1 : 0] ?? '');
  try {
    const unknown = unknownCommand(program, argv);
    if (unknown !== null) throw new CommandFailed(unknown, 2);
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}

/**
 * The command line; `run` takes the work of a command, `serve` that of one which goes on until a signal. Of subjects that
 * are not `called` it knows the name; null = it knows all of everything.
 */
export async function createProgram(parts: CliParts, run: Run, serve: Run, called: string | null): Promise<Command> {
  const program = new Command('culvert')
    .description('An inference gateway: one server, one key, for everything an application needs from AI providers.')
    .version(parts.version)
    .showHelpAfterError('(culvert --help, or culvert COMMAND --help, shows what is possible)')
    .exitOverride()
    .addHelpText(
      'after',
      `
Environment:
  CULVERT_CONFIG     configuration file, where --config names none
  CULVERT_URL        server to talk to, where --url names none
  CULVERT_API_KEY    key for models, chat and bench; unlike --key it does not show in the process list
  CULVERT_ADMIN_KEY  key for everything else (default: the configuration's, or the data folder's)

Example:
  culvert start`,
    );

  program
    .command('start', { isDefault: true })
    .description('start the gateway')
    .option(...configOption)
    .option('--host <address>', 'address to listen on, over the configuration')
    .option('--port <number>', 'port to listen on, over the configuration', checkedPort)
    .addHelpText('after', example('OPENAI_API_KEY=… culvert start --port 4141'))
    .action((options: { config?: string; host?: string; port?: number }) =>
      serve(parts.start({ config: options.config || undefined, host: options.host || undefined, port: options.port })),
    );

  program
    .command('init')
    .description('write a commented configuration file; never over an existing one')
    .argument('[file]', 'file to write', 'culvert.yaml')
    .option(...jsonOption)
    .addHelpText('after', example('culvert init'))
    .action((file, options) => run(import('./commands/init.ts').then(({ init }) => init(file, options))));

  program
    .command('check')
    .description('check the configuration, every error with file:line:column')
    .argument('[file]', 'the same as --config')
    .option(...configOption)
    .option(
      '--live',
      'ask each provider for its list of models, with each credential, and each search engine; find local servers',
    )
    .option('--schema', 'print the JSON Schema of culvert.yaml, for editors, and check nothing')
    .option(...jsonOption)
    .addHelpText('after', example('culvert check --live'))
    .action((file, options) =>
      run(
        import('./commands/check.ts').then(({ check }) => check({ ...options, config: file ?? options.config }, parts)),
      ),
    );

  program
    .command('explain')
    .description('say what would happen to a request, without sending it')
    .argument('<body>', 'file with the JSON body of a request; - reads standard input')
    .option('--endpoint <name>', 'where it would be posted: chat, messages, responses or embeddings', 'chat')
    .option('--key <key>', 'limit it to what this key may use: its id, account/name or secret')
    .option(...configOption)
    .option(...jsonOption)
    .addHelpText(
      'after',
      example(`echo '{"model": "smart", "messages": [{"role": "user", "content": "Hi"}]}' | culvert explain -`),
    )
    .action((body, options) =>
      run(import('./commands/explain.ts').then(({ explain }) => explain(body, options, parts))),
    );

  program
    .command('models')
    .description('list models: of the running server, else of the configuration')
    .option(...urlOption)
    .option(...keyOption)
    .option(...configOption)
    .option(...jsonOption)
    .addHelpText('after', example('CULVERT_API_KEY=sk-cv-… culvert models'))
    .action((options) => run(import('./commands/models.ts').then(({ models }) => models(options, parts))));

  program
    .command('chat')
    .description('ask the running server a question; the answer comes as it is made')
    .argument('<text>', 'the question; - reads standard input')
    .option('--model <model>', 'model to ask (default: the first listed that chats)')
    .option('--system <text>', 'instructions before the question')
    .option('--no-stream', 'wait for the whole answer')
    .option(...urlOption)
    .option(...keyOption)
    .option(...configOption)
    .option('--json', "print the server's whole answer as JSON")
    .addHelpText('after', example('CULVERT_API_KEY=sk-cv-… culvert chat "Why is the sky blue?" --model smart'))
    .action((text, options) => run(import('./commands/chat.ts').then(({ chat }) => chat(text, options))));

  program
    .command('mcp')
    .description('MCP server on standard input and output, for assistants: the tools of the running server')
    .option(...urlOption)
    .option(...keyOption)
    .option(...configOption)
    .addHelpText('after', example('CULVERT_API_KEY=sk-cv-… culvert mcp --url http://127.0.0.1:4141'))
    .action((options) => run(import('./commands/mcp.ts').then(({ mcp }) => mcp(options))));

  for (const [name, description, load] of subjects) {
    const command = program.command(name).description(description);
    if (called === name || called === null) (await load()).declare(command, run, parts);
  }
  addUpkeepCommands(program, run, parts);
  addAddCommand(program, run, parts);
  addImportCommand(program, run);

  program
    .command('mock')
    .description('run an upstream that answers, or fails, as it is told')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes a free one', checkedPort, 4142)
    .option('--name <name>', 'shown in its answers, to tell one mock from another', '')
    .option('--faults', 'print every fault that it knows, and end')
    .option('--json', 'print its URL as JSON, and no requests')
    .addHelpText('after', example('culvert mock --port 4142'))
    .action((options) => serve(import('./commands/mock.ts').then(({ mock }) => mock(options, parts))));

  return program;
}

/** `start` is what runs without a command, so a mistyped one would be told that start takes no arguments. */
function unknownCommand(program: Command, argv: readonly string[]): string | null {
  const [word] = argv;
  if (word === undefined || word.startsWith('-') || word === 'help') return null;
  const names = program.commands.map((command) => command.name());
  if (names.includes(word)) return null;
  const hint = nearest(word, names);
  return `There is no command '${word}'.${hint === null ? '' : ` Did you mean 'culvert ${hint}'?`} Commands: ${names.join(', ')}.`;
}

function checkedPort(text: string): number {
  const port = portNumber(text);
  if (port === null) throw new InvalidArgumentError('Expected a port from 0 to 65535.');
  return port;
}
