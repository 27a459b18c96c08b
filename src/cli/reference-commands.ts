import { Argument, type Command } from 'commander';
import { example, type Run } from './options.ts';
import { printExact } from './print.ts';
import { outlineOf } from './reference/outline.ts';

/** Commands that tell of the others: completion and man. `whole` makes the program with everything that it knows. */
export function addReferenceCommands(program: Command, run: Run, version: string, whole: () => Promise<Command>): void {
  program
    .command('completion')
    .description('print the completion of a shell, for commands, options, their values and files')
    .addArgument(new Argument('<shell>', 'shell to complete in').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', example('culvert completion bash > ~/.local/share/bash-completion/completions/culvert'))
    .action((shell: keyof typeof scripts) =>
      run(
        (async () => {
          printExact((await scripts[shell]())(outlineOf(await whole())).trimEnd());
          return 0;
        })(),
      ),
    );

  program
    .command('man')
    .description('print the manual page, for man')
    .addHelpText('after', example('culvert man | man -l -'))
    .action(() =>
      run(
        (async () => {
          const { manPage } = await import('./reference/man-page.ts');
          printExact(manPage(outlineOf(await whole()), version, new Date()).trimEnd());
          return 0;
        })(),
      ),
    );
}

const scripts = {
  bash: async () => (await import('./reference/completion-bash.ts')).bashCompletion,
  zsh: async () => (await import('./reference/completion-zsh.ts')).zshCompletion,
  fish: async () => (await import('./reference/completion-fish.ts')).fishCompletion,
} as const;
