import { Command, CommanderError } from 'commander';
import { findConfigFile, wholeConfigText } from '../config/load.ts';
import { culvert } from '../kernel/command-form.ts';
import { nearest } from '../kernel/nearest.ts';
import { adminCommands } from './admin-commands.ts';
import { CommandFailed } from './command-failed.ts';
import { declare, type TopCommand } from './command-table.ts';
import { FileSecrets } from './file-secrets.ts';
import { fitted, helpWidth, lineWidth } from './line-width.ts';
import { example, type Run } from './options.ts';
import type { CliParts } from './parts.ts';
import { firstCommands, lastCommands } from './plain-commands.ts';
import { printExact, requestsJson } from './print.ts';
import { environment } from './reference/exit-and-environment.ts';
import { outlineOf } from './reference/outline.ts';
import { startNames } from './start-options.ts';
import { aligned } from './table.ts';

/** Runs any command but a plain start; resolves to the exit code once it has ended. `serving`: it may go on for ever. */
export async function runProgram(given: readonly string[], parts: CliParts, serving: () => void): Promise<number> {
  const [first = '', ...others] = given;
  const argv = startNames.includes(first) ? ['start', ...others] : first === 'guard' ? ['guards', ...others] : given;
  let exitCode = 0;
  const run: Run = async (work) => {
    exitCode = await work;
  };
  const serve: Run = (work) => {
    serving();
    return run(work);
  };
  const program = await createProgram(parts, run, serve, argv[argv[0] === 'help' ? 1 : 0] ?? '');
  program.hook('preAction', (_, command) => readSecretsFor(command));
  if (requestsJson(argv)) silence(program);
  try {
    const unknown = unknownCommand(program, argv) ?? limitAsOption(argv);
    if (unknown !== null) throw new CommandFailed(unknown, 2);
    // Many programs have it behind each command, too.
    await program.parseAsync(argv[1] === '--version' ? ['--version'] : argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    if (!requestsJson(argv)) return 2;
    throw new CommandFailed(error.message.replace(/^error: /, ''), 2);
  }
}

/** Secrets of managers that the file names, for commands that read it. A start reads them itself. */
async function readSecretsFor(command: Command): Promise<void> {
  if (command.name() === 'start' || !command.options.some(({ long }) => long === '--config')) return;
  const { config } = command.opts<{ config?: string }>();
  const file = findConfigFile({ flag: config, env: process.env, cwd: process.cwd() });
  await new FileSecrets(() => wholeConfigText(file, process.env)).read();
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
    .enablePositionalOptions()
    .showHelpAfterError(`(${culvert} --help shows what is possible)`)
    .exitOverride()
    .configureOutput({
      getOutHelpWidth: () => helpWidth(process.stdout),
      getErrHelpWidth: () => helpWidth(process.stderr),
      writeErr: (text) => process.stderr.write(fitted(text, lineWidth(process.stderr))),
    })
    .configureHelp({ minWidthToWrap: 20 })
    .addHelpText('after', () => `\nEnvironment:\n${indented(environment)}`)
    .addHelpText('after', example('culvert start'));

  const commands = {
    ...firstCommands,
    ...adminCommands,
    ...lastCommands,
    ...referenceCommands(() => createProgram(parts, run, serve, null)),
  };
  for (const [name, entry] of Object.entries(commands)) {
    const command = program.command(name, { isDefault: name === 'start' }).description(entry.description);
    declare(command.helpGroup(entry.group), entry, { run, serve }, parts);
    if (entry.load !== undefined && (called === name || called === null)) {
      declare(command, await entry.load(), { run, serve }, parts);
    }
  }
  // Of `help`, which commander adds later.
  program.commandsGroup('This program:').helpCommand(true);
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
  const [word] = argv[0] === 'help' ? argv.slice(1) : argv;
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

/** Limits that other servers have as options. The nearest option would be one that has nothing to do with them. */
function limitAsOption([subject = '', verb = '', ...others]: readonly string[]): string | null {
  const option = others.map((word) => word.replace(/=.*/s, '')).find((word) => limitOptions.test(word));
  if (option === undefined || !limitedBy.includes(`${subject} ${verb}`)) return null;
  return `There is no option '${option}'. '--limits' sets all limits, such as --limits budget.month=50,rpm=10; ${culvert} ${subject} ${verb} --help explains it.`;
}

const limitOptions =
  /^--(max[-_])?(budget|rpm|tpm|tokens|windows|concurrency|calendar[-_]budget|rpm[-_]limit|tpm[-_]limit)$/;
const limitedBy = ['keys create', 'keys change', 'plans set'];

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

const thisProgram = 'This program:';

/** Commands that tell of the others: completion and man. `whole` makes the program with everything that it knows. */
function referenceCommands(whole: () => Promise<Command>): Readonly<Record<string, TopCommand>> {
  return {
    completion: {
      group: thisProgram,
      description: 'print the completion of a shell, for commands, options, their values and files',
      arguments: [['<shell>', 'shell to complete in', { choices: ['bash', 'zsh', 'fish'] }]],
      example: 'culvert completion bash > ~/.local/share/bash-completion/completions/culvert',
      work: () => async (shell: keyof typeof scripts) => {
        printExact((await scripts[shell]())(outlineOf(await whole())).trimEnd());
        return 0;
      },
    },
    man: {
      group: thisProgram,
      description: 'print the manual page, for man',
      example: 'culvert man | man -l -',
      work:
        () =>
        async (_flags: unknown, { version }: CliParts) => {
          const { manPage } = await import('./reference/man-page.ts');
          printExact(manPage(outlineOf(await whole()), version, new Date()).trimEnd());
          return 0;
        },
    },
  };
}

const scripts = {
  bash: async () => (await import('./reference/completion-bash.ts')).bashCompletion,
  zsh: async () => (await import('./reference/completion-zsh.ts')).zshCompletion,
  fish: async () => (await import('./reference/completion-fish.ts')).fishCompletion,
} as const;
