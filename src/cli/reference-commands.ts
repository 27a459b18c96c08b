import type { Command } from 'commander';
import type { TopCommand } from './command-table.ts';
import type { CliParts } from './parts.ts';
import { printExact } from './print.ts';
import { outlineOf } from './reference/outline.ts';

const thisProgram = 'This program:';

/** Commands that tell of the others: completion and man. `whole` makes the program with everything that it knows. */
export function referenceCommands(whole: () => Promise<Command>): Readonly<Record<string, TopCommand>> {
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
