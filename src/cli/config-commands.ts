import { type Command, Option } from 'commander';
import { configOption, example, jsonOption, quietOption, type Run } from './options.ts';
import type { CliParts } from './parts.ts';

/** Commands that write a configuration or explain it, without a server: init, check, explain. */
export function addConfigCommands(program: Command, run: Run, parts: CliParts): void {
  program
    .command('init')
    .description('write a commented configuration file; an existing one stays as it is')
    .argument('[file]', 'file to write', 'culvert.yaml')
    .option(...jsonOption)
    .addHelpText('after', example('culvert init'))
    .action((file, options) => run(import('./commands/init.ts').then(({ init }) => init(file, options))));

  program
    .command('check')
    .description('check the configuration, every error with file:line:column')
    .argument('[file]', 'the same as --config')
    .option(...configOption)
    .option(
      '--live',
      'ask each provider and credential for its list of models, ask each search engine, and look for local servers',
    )
    .option('--schema', 'print the JSON Schema of culvert.yaml, for editors, and check nothing')
    .option(...jsonOption)
    .option(...quietOption)
    .addHelpText('after', example('culvert check --live'))
    .action((file, options) =>
      run(
        import('./commands/check.ts').then(({ check }) => check({ ...options, config: file ?? options.config }, parts)),
      ),
    );

  program
    .command('explain')
    .description('explain what would happen to a request, without sending it')
    .argument('<file>', 'JSON body of a request; - reads standard input')
    .addOption(new Option('--endpoint <name>', 'where it would be posted').choices(endpoints).default('chat'))
    .option('--key <key>', 'limit it to what this key may use: its id, account/name or secret')
    .option(...configOption)
    .option(...jsonOption)
    .addHelpText(
      'after',
      example(`echo '{"model": "smart", "messages": [{"role": "user", "content": "Hi"}]}' | culvert explain -`),
    )
    .action((file, options) =>
      run(import('./commands/explain.ts').then(({ explain }) => explain(file, options, parts))),
    );
}

/** As `commands/explain.ts` has them, which this does not load. */
const endpoints = ['chat', 'messages', 'responses', 'embeddings'];
