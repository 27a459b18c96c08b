import { Argument, type Command, Option } from 'commander';
import { CommandFailed } from './command-failed.ts';
import { example, type Run } from './options.ts';
import type { CliParts } from './parts.ts';

/** A command as an entry of a table: what it takes, and what it does. */
export interface CommandEntry extends CommandBody {
  /** One line of help. */
  description: string;
}

/** Parts of a command besides its description. */
export interface CommandBody {
  arguments?: readonly ArgumentEntry[];
  /** In the order of its help. */
  options?: readonly OptionEntry[];
  /** A line to paste, shown below its help. */
  example?: string;
  /** Gives the function of the command, which gets the arguments, the options and the parts. */
  work?(): Work | Promise<Work>;
  /** `serves`: it goes on until a signal. */
  serves?: true;
  /** Its subcommands. */
  commands?: CommandTable;
}

/** A command of the program itself. */
export interface TopCommand extends CommandEntry {
  /** Heading of `culvert --help` that it is below. */
  group: string;
  /** Further options and actions, where that is loaded only when it is called. */
  load?(): Promise<CommandBody>;
}

export type CommandTable = Readonly<Record<string, CommandEntry>>;

/** Resolves to the exit code. */
type Work = (...given: never[]) => Promise<number> | number;

/** `<file>` is needed, `[file]` may be left out, and `<files...>` are several. */
export type ArgumentEntry = readonly [name: string, description: string, facts?: ValueFacts];
export type OptionEntry = readonly [flags: string, description: string, facts?: OptionFacts];

interface ValueFacts {
  default?: unknown;
  choices?: readonly string[];
}

interface OptionFacts extends ValueFacts {
  /** Reads the text of its value (null too), or throws commander's InvalidArgumentError. */
  read?(text: string): unknown;
  needed?: true;
  /** The option that cannot come with it. */
  conflicts?: string;
}

/** How commands are run: those that end, and those that go on until a signal. */
export interface Runs {
  run: Run;
  serve: Run;
}

/** Gives commander what the entry says. */
export function declare(command: Command, entry: CommandBody, runs: Runs, parts: CliParts): Command {
  for (const each of entry.arguments ?? []) command.addArgument(argumentOf(each));
  for (const each of entry.options ?? []) command.addOption(optionOf(each));
  if (entry.example !== undefined) command.addHelpText('after', example(entry.example));
  command.showHelpAfterError(`(${callOf(command)} --help shows what it takes)`);
  const { work, commands = {} } = entry;
  if (work !== undefined) {
    const runIt = entry.serves === true ? runs.serve : runs.run;
    // Commander gives the command last, where the functions take the parts.
    command.action((...given: unknown[]) =>
      runIt(done(work, [...given.slice(0, -1).map(withNulls), parts] as never[])),
    );
  }
  // Options behind a subcommand belong to it, also where its parent has options of the same name. So says the program, too.
  if (entry.commands !== undefined) command.enablePositionalOptions().hook('preSubcommand', refuseLostOptions);
  for (const [name, below] of Object.entries(commands)) {
    declare(command.command(name).description(below.description), below, runs, parts);
  }
  return command;
}

/** Options in front of a subcommand would be those of its parent, which does not run. */
function refuseLostOptions(parent: Command, below: Command): void {
  const given = parent.options.find((option) => parent.getOptionValueSource(option.attributeName()) === 'cli');
  if (given !== undefined) throw new CommandFailed(`Write ${given.long} behind '${below.name()}'.`, 2);
}

/** Words that call it: `culvert keys create`. */
function callOf(command: Command): string {
  return command.parent === null ? command.name() : `${callOf(command.parent)} ${command.name()}`;
}

async function done(work: NonNullable<CommandBody['work']>, given: never[]): Promise<number> {
  return (await work())(...given);
}

function argumentOf([name, description, facts = {}]: ArgumentEntry): Argument {
  const argument = new Argument(name, description);
  if (facts.choices !== undefined) argument.choices(facts.choices);
  if (facts.default !== undefined) argument.default(facts.default);
  return argument;
}

/** Placeholder of null among the values of options, which commander would turn into ''. */
const nothing = Symbol('null');

/** Options as their commands take them; arguments as they are. */
function withNulls(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value === nothing ? null : value]));
}

function optionOf([flags, description, facts = {}]: OptionEntry): Option {
  const option = new Option(flags, description);
  if (facts.choices !== undefined) option.choices(facts.choices);
  const { read } = facts;
  if (read !== undefined) option.argParser((text: string) => read(text) ?? nothing);
  if (facts.default !== undefined) option.default(facts.default);
  if (facts.needed !== undefined) option.makeOptionMandatory();
  if (facts.conflicts !== undefined) option.conflicts(facts.conflicts);
  return option;
}
