import type { Command, Option } from 'commander';

/** Completion that a shell can offer for a value: a file, one of some words, or nothing. */
export type Values = 'file' | 'unknown' | readonly string[];

export interface OptionOutline {
  /** Such as `--port`; `-h, --help` has a short form too. */
  long: string;
  short: string | null;
  /** Name of its value, such as `number`; null for a switch. */
  value: string | null;
  values: Values;
  mandatory: boolean;
  /** With the choices and the default. */
  description: string;
}

export interface ArgumentOutline {
  name: string;
  required: boolean;
  values: Values;
  description: string;
}

/** A command as help, completion, the manual page and docs/commands.md show it. */
export interface CommandOutline {
  /** Such as `['keys', 'create']`; empty for the program itself. */
  words: readonly string[];
  description: string;
  arguments: readonly ArgumentOutline[];
  options: readonly OptionOutline[];
  /** A line to paste; it begins with `culvert` or with variables for it. */
  example: string;
  commands: readonly CommandOutline[];
}

/** The whole command line, from the very declarations that parse it. */
export function outlineOf(command: Command, words: readonly string[] = []): CommandOutline {
  return {
    words,
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      required: argument.required,
      values: valuesOf(argument.name(), argument.argChoices),
      description: described(argument.description, argument),
    })),
    options: command.createHelp().visibleOptions(command).map(optionOutline),
    example: exampleOf(command),
    commands: command.commands.map((each) => outlineOf(each, [...words, each.name()])),
  };
}

/** All commands that do something without a subcommand, in their order. */
export function runnable(outline: CommandOutline): CommandOutline[] {
  const hasSection = outline.words.length > 0 && (outline.commands.length === 0 || outline.options.length > 1);
  return [...(hasSection ? [outline] : []), ...outline.commands.flatMap(runnable)];
}

/** The program and all commands below it, those too which only have others. */
export function commandsIn(outline: CommandOutline): CommandOutline[] {
  return [outline, ...outline.commands.flatMap(commandsIn)];
}

/** The program itself takes what `start` takes, which it runs without a command. */
export function optionsAt(program: CommandOutline, command: CommandOutline): readonly OptionOutline[] {
  if (command.words.length > 0) return command.options;
  const start = program.commands.find(({ words }) => words[0] === 'start');
  return [...command.options, ...(start?.options.filter(({ long }) => long !== '--help') ?? [])];
}

/** `culvert keys create [options]`, `culvert chat [options] <text>` */
export function usageLine({ words, arguments: taken, options }: CommandOutline): string {
  const parts = taken.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`));
  return ['culvert', ...words, ...(options.length > 1 ? ['[options]'] : []), ...parts].join(' ');
}

/** `-h, --help`, `--port <number>` */
export function flagsOf({ short, long, value }: OptionOutline): string {
  return `${short === null ? '' : `${short}, `}${long}${value === null ? '' : ` <${value}>`}`;
}

/** Quotes one word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function optionOutline(option: Option): OptionOutline {
  const value = /[<[](.+)[>\]]/.exec(option.flags)?.[1] ?? null;
  return {
    long: option.long!,
    short: option.short ?? null,
    value,
    values: value === null ? 'unknown' : valuesOf(value, option.argChoices),
    mandatory: option.mandatory,
    description: described(option.description, option),
  };
}

/** Takes a value that is called a file for one: the names of values are all that commander knows of them. */
function valuesOf(name: string, choices: readonly string[] | undefined): Values {
  return choices ?? (name === 'file' ? 'file' : 'unknown');
}

function described(text: string, { argChoices, defaultValue }: Pick<Option, 'argChoices' | 'defaultValue'>): string {
  const facts = [
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`]),
    ...(defaultValue === undefined || typeof defaultValue === 'boolean' || defaultValue === ''
      ? []
      : [`default: ${String(defaultValue)}`]),
  ];
  return facts.length === 0 ? text : `${text} (${facts.join('; ')})`;
}

/** The last lines of the help, which goes on below a backslash where the terminal is narrow. */
function exampleOf(command: Command): string {
  let help = '';
  const { writeOut } = command.configureOutput();
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  command.configureOutput({ writeOut: writeOut! });
  return /\nExample:\n {2}(.+?)\n*$/s.exec(help)?.[1]?.replaceAll(/ \\\n +/g, ' ') ?? '';
}
