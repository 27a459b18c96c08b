import { type CommandOutline, flagsOf, optionsAt, runnable, usageLine } from '../../src/cli/reference/outline.ts';

/** docs/commands.md: every command with what it takes, a table each. */
export function commandsPage(program: CommandOutline): string {
  const parts = runnable(program).map((command) => {
    const rows = [
      [code(usageLine(command)), prose(command.description)],
      ...command.arguments.map(({ name, description }) => [code(`<${name}>`), prose(description)]),
      ...optionsAt(program, command)
        .filter(({ long }) => long !== '--help')
        .map((option) => [code(flagsOf(option)), prose(`${option.description}${option.mandatory ? ' (needed)' : ''}`)]),
      ['example', code(command.example)],
    ].map((cells) => `| ${cells.join(' | ')} |`);
    return [`## ${command.words.join(' ')}`, [rows[0], '|---|---|', ...rows.slice(1)].join('\n')].join('\n\n');
  });
  return `${[introduction, ...parts].join('\n\n')}\n`;
}

/** In a table a bar ends a cell, in code too. */
function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}

function prose(text: string): string {
  return text.replaceAll(/[<*|]/g, '\\$&');
}

const introduction = `# Commands and their options

<!-- Generated from the declarations in src/cli by scripts/write-command-docs.mjs; do not edit. -->

This page has every command with its arguments and options, as \`culvert COMMAND --help\` and \`culvert man\` show them.
[The command line](cli.md) says what the commands are for, and what they have in common. Every command takes \`--help\`.`;
