import { type Command, InvalidArgumentError } from 'commander';
import { configOption, example, jsonOption, type Run } from './options.ts';

/** `culvert keys …` */
export function addKeysCommands(program: Command, run: Run): void {
  const keys = program
    .command('keys')
    .description('create and list API keys, whether or not a server runs')
    .addHelpText('after', example('culvert keys list'));

  keys
    .command('create')
    .description('make a key; its secret is printed once, alone on standard output')
    .requiredOption('--account <id>', 'account that pays; created if there is none of that name')
    .requiredOption('--name <name>', 'what the key is for')
    .option('--plan <plan>', "plan of a new account (default: the configuration's default_plan)")
    .option('--expires <date>', 'a date such as 2027-01-01, or a time from now such as 90d (default: never)')
    .option('--models <list>', 'models it may use, parted by commas; * stands for any characters', modelList)
    .option(...configOption)
    .option(...jsonOption)
    .addHelpText('after', example("KEY=$(culvert keys create --account dev --name laptop --models 'smart,claude-*')"))
    .action((options) => run(import('./commands/keys-create.ts').then(({ createKey }) => createKey(options))));

  keys
    .command('list')
    .description('list keys, without secrets')
    .option('--account <id>', 'only of this account')
    .option(...configOption)
    .option(...jsonOption)
    .addHelpText('after', example('culvert keys list --account dev'))
    .action((options) => run(import('./commands/keys-list.ts').then(({ listKeys }) => listKeys(options))));
}

const modelsMax = 1_000;

function modelList(text: string): string[] {
  const models = text.split(',').map((model) => model.trim());
  if (models.length > modelsMax || models.some((model) => model === '' || model.length > 256)) {
    throw new InvalidArgumentError('Expected names parted by commas, such as smart,claude-*.');
  }
  return models;
}
