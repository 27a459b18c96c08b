import { type Command, Option } from 'commander';
import { adminOptions, example, listOf, type Run } from './options.ts';
import type { CliParts } from './parts.ts';

/** `culvert keys …` */
export function addKeysCommands(program: Command, run: Run, parts: CliParts): void {
  const keys = program
    .command('keys')
    .description('create, list, rotate and revoke API keys, whether or not a server runs')
    .addHelpText('after', example('culvert keys list'));

  adminOptions(
    keys
      .command('create')
      .description('make a key; its secret is printed once, alone on standard output')
      .requiredOption('--account <id>', 'account that pays; created if there is none of that name')
      .requiredOption('--name <name>', 'what the key is for')
      .option('--plan <plan>', "plan of a new account (default: the configuration's default_plan)")
      .option('--expires <date>', 'a date such as 2027-01-01, or a time from now such as 90d (default: never)')
      .option(
        '--models <list>',
        'models it may use, parted by commas; * stands for any characters',
        listOf('smart,claude-*'),
      )
      .option(
        '--ips <list>',
        'addresses and networks it may be used from, parted by commas',
        listOf('10.0.0.0/8,192.0.2.7'),
      )
      .option('--share-vectors-with <key>', 'key of the same account (id or account/name) whose vector data it shares'),
  )
    .addHelpText('after', example("KEY=$(culvert keys create --account dev --name laptop --models 'smart,claude-*')"))
    .action((options) => run(import('./commands/keys-create.ts').then(({ createKey }) => createKey(options, parts))));

  adminOptions(
    keys
      .command('list')
      .description('list keys, without secrets')
      .option('--account <id>', 'only of this account')
      .addOption(
        new Option('--status <status>', 'only those that are so now').choices([
          'active',
          'expired',
          'suspended',
          'revoked',
        ]),
      ),
  )
    .addHelpText('after', example('culvert keys list --account dev'))
    .action((options) => run(import('./commands/keys-list.ts').then(({ listKeys }) => listKeys(options, parts))));

  adminOptions(
    keys
      .command('rotate')
      .description('give a key a new secret, printed once; the old one works on for a while')
      .argument('<key>', 'its id or account/name')
      .option('--grace <time>', 'how long the old secret works on; 0s ends it at once', '24h'),
  )
    .addHelpText('after', example('NEW=$(culvert keys rotate dev/laptop --grace 24h)'))
    .action((key, options) =>
      run(import('./commands/keys-change.ts').then(({ rotateKey }) => rotateKey(key, options, parts))),
    );

  adminOptions(keys.command('revoke').description('end a key for good').argument('<key>', 'its id or account/name'))
    .addHelpText('after', example('culvert keys revoke dev/laptop'))
    .action((key, options) =>
      run(import('./commands/keys-change.ts').then(({ revokeKey }) => revokeKey(key, options, parts))),
    );
}
