import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { culvert } from '../kernel/command-form.ts';
import { nearest } from '../kernel/nearest.ts';
import { addAddCommand } from './add-command.ts';
import { addCallerCommands } from './caller-commands.ts';
import { CommandFailed } from './command-failed.ts';
import { addConfigCommands } from './config-commands.ts';
import { addImportCommand } from './import-command.ts';
import { fitted, helpWidth, lineWidth } from './line-width.ts';
import { configOption, example, type Run } from './options.ts';
import type { CliParts } from './parts.ts';
import { wantsJson } from './print.ts';
import { environment } from './reference/facts.ts';
import { addReferenceCommands } from './reference-commands.ts';
import { portNumber, startNames } from './start-options.ts';
import { aligned } from './table.ts';
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
  ['operators', 'create, list and remove who administers, and as what', () => import('./commands/operators.ts')],
  ['dashboard', 'open the dashboard of the running server, logged in', () => import('./commands/dashboard.ts')],
  ['providers', 'list, add, test and remove providers while servers run', () => import('./commands/providers.ts')],
  [
    'mcp-servers',
    'list, add, test and remove MCP servers while servers run',
    () => import('./commands/mcp-servers.ts'),
  ],
  ['config', 'export the configuration with what was set up at run time', () => import('./commands/config.ts')],
  ['alerts', 'send a test message to the receivers of alerts', () => import('./commands/alerts.ts')],
  ['secret', 'rotate the secret that seals stored credentials', () => import('./commands/secret.ts')],
  ['audit', 'show who changed accounts, keys and plans, newest first', () => import('./commands/audit.ts')],
  ['usage', 'sum up requests, units, tokens and USD', () => import('./commands/usage.ts')],
  ['requests', 'list, explain and export single requests', () => import('./commands/requests.ts')],
  [
    'vectors',
    'list, export, import, hand over and delete the vector data of tenants',
    () => import('./commands/vectors.ts'),
  ],
];

/** How `culvert --help` orders the commands. */
const groups: Readonly<Record<string, readonly string[]>> = {
  'Start and configure:': ['start', 'init', 'check', 'explain', 'config', 'reload', 'import', 'add', 'doctor'],
  'Ask models:': ['models', 'chat', 'mcp'],
  'Keys and people:': ['keys', 'accounts', 'plans', 'operators'],
  'Providers and tools:': ['providers', 'mcp-servers'],
  'See what happens:': ['dashboard', 'usage', 'requests', 'audit', 'alerts'],
  'Keep data:': ['backup', 'restore', 'migrate', 'secret', 'vectors'],
  'Try and measure:': ['mock', 'bench'],
  'This program:': ['completion', 'man'],
};

/** Runs any command but a plain start; resolves to the exit code once it has ended. `serving`: it may go on for ever. */
export async function runProgram(given: readonly string[], parts: CliParts, serving: () => void): Promise<number> {
  const argv = startNames.includes(given[0] ?? '') ? ['start', ...given.slice(1)] : given;
  let exitCode = 0;
  const run: Run = async (work) => {
    exitCode = await work;
  };
  const serve: Run = (work) => {
    serving();
    return run(work);
  };
  const program = await createProgram(parts, run, serve, argv[argv[0] === 'help' ? 1 : 0] ?? '');
  if (wantsJson(argv)) silence(program);
  try {
    const unknown = unknownCommand(program, argv);
    if (unknown !== null) throw new CommandFailed(unknown, 2);
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    if (!wantsJson(argv)) return 2;
    throw new CommandFailed(error.message.replace(/^error: /, ''), 2);
  }
}

/**
 * The command line; `run` takes the work of a command, `serve` that of one which goes on until a signal. Of subjects that
 * are not `called` it knows the name; null = it knows all of everything.
 */
export async function createProgram(parts: CliParts, run: Run, serve: Run, called: string | null): Promise<Command> {
  const program = new Command(culvert)
    .description(
      'An inference gateway: one server and one key for everything that an application needs from AI providers.',
    )
    .version(parts.version)
    .showHelpAfterError(`(${culvert} --help, or ${culvert} COMMAND --help, shows what is possible)`)
    .exitOverride()
    .configureOutput({
      getOutHelpWidth: () => helpWidth(process.stdout),
      getErrHelpWidth: () => helpWidth(process.stderr),
      writeErr: (text) => process.stderr.write(fitted(text, lineWidth(process.stderr))),
    })
    .configureHelp({ minWidthToWrap: 20 })
    .addHelpText('after', () => `\nEnvironment:\n${indented(environment)}`)
    .addHelpText('after', example('culvert start'));

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

  addConfigCommands(program, run, parts);
  const { models } = addCallerCommands(program, run, parts);
  if (called === 'models' || called === null)
    (await import('./commands/kept-models.ts')).declareKept(models, run, parts);
  for (const [name, description, load] of subjects) {
    const command = program.command(name).description(description);
    if (called === name || called === null) (await load()).declare(command, run, parts);
  }
  addUpkeepCommands(program, run, parts);
  addAddCommand(program, run, parts);
  addImportCommand(program, run);

  program
    .command('mock')
    .description('run an upstream that answers, or fails, as you tell it')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes a free one', checkedPort, 4142)
    .option('--name <name>', 'name shown in its answers, to tell one mock from another', '')
    .addOption(new Option('--faults', 'print every fault that it knows, then exit').conflicts('json'))
    .option('--json', 'print its URL as JSON, errors too, and log no requests')
    .addHelpText('after', example('culvert mock --port 4142'))
    .action((options) => serve(import('./commands/mock.ts').then(({ mock }) => mock(options, parts))));

  addReferenceCommands(program, run, parts.version, () => createProgram(parts, run, serve, null));
  // Of `help`, which commander adds later.
  program.commandsGroup('This program:').helpCommand(true);
  for (const [heading, names] of Object.entries(groups)) {
    for (const name of names) program.commands.find((command) => command.name() === name)?.helpGroup(heading);
  }

  return program;
}

function indented(rows: readonly (readonly string[])[]): string {
  return aligned(rows, helpWidth(process.stdout) - 2).replaceAll(/^/gm, '  ');
}

/** A wrong call is reported once, as JSON. */
function silence(command: Command): void {
  command.configureOutput({ writeErr: () => undefined });
  for (const each of command.commands) silence(each);
}

/** `start` is what runs without a command, so a mistyped one would get an error that start takes no arguments. */
function unknownCommand(program: Command, argv: readonly string[]): string | null {
  const [word] = argv;
  if (word === undefined || word.startsWith('-') || word === 'help') return null;
  const names = program.commands.map((command) => command.name());
  if (names.includes(word)) return null;
  const instead = Object.hasOwn(elsewhere, word) ? elsewhere[word] : undefined;
  if (instead !== undefined) return `There is no command '${word}'. ${instead}`;
  const hint = nearest(word, [...names, ...startNames]);
  return hint === null
    ? `There is no command '${word}'. Commands: ${names.join(', ')}.`
    : `There is no command '${word}'. Did you mean '${culvert} ${startNames.includes(hint) ? 'start' : hint}'? '${culvert} --help' lists all commands.`;
}

/** Commands that other servers have, and what leads to the same here. */
const elsewhere: Readonly<Record<string, string>> = {
  up: `'${culvert} start' starts the server.`,
  down: `The server stops on SIGTERM or Ctrl-C, where it was started.`,
  version: `'${culvert} --version' prints the version.`,
  logs: `The server writes its log to standard output, where it was started. '${culvert} requests list' lists requests.`,
  validate: `'${culvert} check' checks the configuration.`,
  setup: `'${culvert} init' writes a configuration, and '${culvert} start' works without one.`,
  login: `'${culvert} dashboard' opens the dashboard, logged in.`,
  users: `'${culvert} accounts' are the callers' accounts, '${culvert} operators' the people who administer.`,
  upgrade: `Install the newer version in the same way as this one, and restart the server. It brings its data up to date.`,
  status: `'${culvert} doctor' says whether a server runs and what is wrong; '${culvert} usage' what it has served.`,
  stop: `The server stops on SIGTERM or Ctrl-C: stop it where it was started (systemctl stop culvert, docker stop). '${culvert} doctor' says where one runs.`,
  restart: `Restart the server where it was started (systemctl restart culvert). '${culvert} reload' reads the configuration again without a restart.`,
};

function checkedPort(text: string): number {
  const port = portNumber(text);
  if (port === null) throw new InvalidArgumentError('Expected a port from 0 to 65535.');
  return port;
}
