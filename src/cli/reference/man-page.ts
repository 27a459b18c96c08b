import { environment, exitCodes } from './exit-and-environment.ts';
import { type CommandOutline, flagsOf, runnable, usageLine } from './outline.ts';

/** The manual page `culvert(1)`, in the macros of man(7). `madeAt` is the date in its foot. */
export function manPage(program: CommandOutline, version: string, madeAt: Date): string {
  const lines = [
    '.\\" Made by culvert man, from the declarations of the commands.',
    `.TH CULVERT 1 "${madeAt.toISOString().slice(0, 10)}" "culvert ${version}" "User Commands"`,
    '.SH NAME',
    'culvert \\- inference gateway: one server, one key, for everything from AI providers',
    '.SH SYNOPSIS',
    '.B culvert',
    '.RI [ command ]',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    text(program.description),
    'Without a command it starts the gateway.',
    'Every command takes',
    '.BR \\-\\-help .',
    '.SH COMMANDS',
    ...runnable(program).flatMap((command) => [
      `.SS "${text(usageLine(command)).replaceAll('"', '\\(dq')}"`,
      text(`${command.description.charAt(0).toUpperCase()}${command.description.slice(1)}.`),
      ...command.arguments.flatMap(({ name, description }) => tagged(`.I ${text(name)}`, description)),
      ...command.options
        .filter(({ long }) => long !== '--help')
        .flatMap((option) => tagged(`.B ${text(flagsOf(option))}`, option.description)),
      '.PP',
      'Example:',
      ...example(command),
    ]),
    '.SH EXIT STATUS',
    ...exitCodes.flatMap(([code, meaning]) => tagged(`.B ${code}`, meaning)),
    '.SH ENVIRONMENT',
    ...environment.flatMap(([name, meaning]) => tagged(`.B ${name}`, meaning)),
    '.SH FILES',
    ...tagged('.I ./culvert.yaml', 'configuration, where no other is named'),
    ...tagged('.I ./.culvert', 'data folder, where the configuration names no other'),
    '.SH EXAMPLE',
    ...example(program),
    '.SH SEE ALSO',
    'The documentation is at',
    '.I /docs',
    'of a running server.',
  ];
  return `${lines.join('\n')}\n`;
}

function tagged(tag: string, description: string): string[] {
  return ['.TP', tag, text(description)];
}

function example({ example }: CommandOutline): string[] {
  return ['.RS 4', '.EX', text(example), '.EE', '.RE'];
}

/** In roff a backslash and a hyphen mean something, and a dot or an apostrophe at the start of a line. */
function text(plain: string): string {
  return plain
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('…', '...')
    .replace(/^\./, '\\&.');
}
