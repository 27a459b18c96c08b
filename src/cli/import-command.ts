import type { Command } from 'commander';
import { example, jsonOption, type Run } from './options.ts';

/** `culvert import`: configurations of other gateways. */
export function addImportCommand(program: Command, run: Run): void {
  const from = program
    .command('import')
    .description("make a culvert.yaml of another gateway's configuration")
    .addHelpText('after', example('culvert import litellm config.yaml'));
  from
    .command('litellm')
    .description("convert LiteLLM's config.yaml; what cannot be carried over is said, with its line")
    .argument('<file>', 'configuration of a LiteLLM proxy')
    .option('--output <file>', 'file to write, never over an existing one; - prints it', 'culvert.yaml')
    .option(...jsonOption)
    .addHelpText('after', example('culvert import litellm config.yaml --output culvert.yaml'))
    .action((file, options) =>
      run(import('./commands/import-litellm.ts').then((command) => command.importLiteLlmFile(file, options))),
    );
}
