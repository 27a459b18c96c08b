import { type Command, Option } from 'commander';
import { adminOptions, example, type Run, whole } from './options.ts';
import type { CliParts } from './parts.ts';

/** `culvert usage` and `culvert requests …` */
export function addLedgerCommands(program: Command, run: Run, parts: CliParts): void {
  adminOptions(
    program
      .command('usage')
      .description('sum up requests, units, tokens and USD')
      .option('--account <id>', 'only of this account, with its windows')
      .addOption(
        new Option('--group-by <group>', 'what the sums are by')
          .choices(['day', 'model', 'account', 'endpoint', 'user', 'provider', 'key'])
          .default('day'),
      )
      .option('--from <date>', 'a date or time, or how long ago such as 7d (default: 30d)')
      .option('--to <date>', 'a date or time, or how long ago (default: now)')
      .option('--csv', 'print CSV'),
  )
    .addHelpText('after', example('culvert usage --account dev --group-by model --from 7d'))
    .action((options) => run(import('./commands/usage.ts').then(({ usage }) => usage(options, parts))));

  const load = () => import('./commands/requests.ts');
  const requests = program
    .command('requests')
    .description('list, explain and export single requests')
    .addHelpText('after', example('culvert requests list --status 502'));

  adminOptions(
    filters(requests.command('list').description('list requests, newest first'))
      .option('--since <date>', 'a date or time, or how long ago such as 2h')
      .option('--limit <rows>', 'how many', whole(1, 100_000), 50),
  )
    .addHelpText('after', example('culvert requests list --account dev --since 2h'))
    .action((options) => run(load().then(({ listRequests }) => listRequests(options, parts))));

  adminOptions(
    requests
      .command('show')
      .description('explain one request: targets considered, attempts, what conversion left out, cost')
      .argument('<id>', "its id (x-culvert-request-id), or the caller's own"),
  )
    .addHelpText('after', example('culvert requests show req_019aa0d2-6f0e-7b53-9c7e-0c6c2d1b5a11'))
    .action((id, options) => run(load().then(({ showRequest }) => showRequest(id, options, parts))));

  adminOptions(
    filters(requests.command('export').description('write all requests of a time as CSV or JSON lines'))
      .option('--from <date>', 'a date or time, or how long ago such as 7d')
      .option('--to <date>', 'a date or time, or how long ago (default: now)')
      .addOption(new Option('--format <format>', 'form of the export').choices(['csv', 'jsonl']).default('csv'))
      .option('--out <file>', 'file to write (default: standard output)'),
  )
    .addHelpText('after', example('culvert requests export --from 2026-11-01 --to 2026-12-01 --out november.csv'))
    .action((options) => run(load().then(({ exportRequests }) => exportRequests(options, parts))));
}

function filters(command: Command): Command {
  return command
    .option('--account <id>', 'only of this account')
    .option('--model <model>', 'only of this model')
    .option('--status <status>', 'only with this HTTP status, such as 502, or 5 for all of 5xx');
}
