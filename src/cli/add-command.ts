import { Argument, type Command } from 'commander';
import { configOption, example, jsonOption, quietOption, type Run } from './options.ts';
import type { CliParts } from './parts.ts';

/** `culvert add`: engines that run on this machine. */
export function addAddCommand(program: Command, run: Run, parts: CliParts): void {
  program
    .command('add')
    .description('add an engine that runs on this machine: its packages by npm, and its model')
    .addArgument(new Argument('[extra]', 'what it is for').choices(extras))
    .option('--model <id>', 'another model than the usual one (--list names them)')
    .option('--list', 'list what can be added, what is installed, and how far a download is')
    .option('--yes', 'do not ask for confirmation')
    .option('--offline', 'use no other machine: take what is in the folder and in the cache of npm')
    .option(
      '--pin <file>',
      'the installed.json of a model that was added elsewhere: take its commit and refuse any other bytes',
    )
    .option(...configOption)
    .option(...jsonOption)
    .option(...quietOption)
    .addHelpText('after', example('culvert add speech --yes'))
    .action((extra, options) => run(import('./commands/add.ts').then(({ add }) => add(extra, options, parts))));
}

/** As `model-manifest.ts` has them, which this does not load. */
const extras = ['embeddings', 'speech', 'transcription'];
