import type { Command } from 'commander';
import { example, jsonOption, type Run } from './options.ts';

/** `culvert import`: configurations of other gateways. */
export function addImportCommand(program: Command, run: Run): void {
  const from = program
    .command('import')
    .description('convert the configuration of another gateway into a culvert.yaml')
    .addHelpText('after', example('culvert import litellm config.yaml'));
  from
    .command('litellm')
    .description("convert LiteLLM's config.yaml and database; list by line what could not be carried over")
    .argument('[file]', 'configuration of a LiteLLM proxy')
    .option('--database [url]', "LiteLLM's PostgreSQL, for its keys, teams, budgets and models; alone: DATABASE_URL")
    .option('--output <file>', 'file to write, which must not exist; - prints it', 'culvert.yaml')
    .option(...jsonOption)
    .addHelpText('after', example('culvert import litellm config.yaml --output culvert.yaml'))
    .action((file, options) =>
      run(import('./commands/import.ts').then((command) => command.importFromLiteLlm(file, options))),
    );
  from
    .command('openrouter')
    .description(
      'make models and keys of what OpenRouter and its clients tell; list by line what could not be carried over',
    )
    .argument(
      '<files...>',
      'answers of its API (activity, keys, models, presets), CSV, requests, configurations of clients',
    )
    .option('--output <file>', 'file to write, which must not exist; - prints it', 'culvert.yaml')
    .option(...jsonOption)
    .addHelpText('after', example('culvert import openrouter activity.json'))
    .action((files, options) =>
      run(import('./commands/import.ts').then((command) => command.importFromOpenRouter(files, options))),
    );
  from
    .command('portkey')
    .description("convert Portkey's configs; list by line what could not be carried over")
    .argument('<files...>', 'configs as JSON, and answers of its API: configs, virtual keys, providers')
    .option('--output <file>', 'file to write, which must not exist; - prints it', 'culvert.yaml')
    .option(...jsonOption)
    .addHelpText('after', example('culvert import portkey config.json virtual-keys.json'))
    .action((files, options) =>
      run(import('./commands/import.ts').then((command) => command.importFromPortkey(files, options))),
    );
}
