import type { Command } from 'commander';
import { adminOptions, example, type Run, whole } from './options.ts';
import type { CliParts } from './parts.ts';

/** `culvert accounts …`, `culvert plans …` and `culvert audit` */
export function addAccountsCommands(program: Command, run: Run, parts: CliParts): void {
  const load = () => import('./commands/accounts.ts');
  const accounts = program
    .command('accounts')
    .description('create, list and change accounts: who pays, and by which plan')
    .addHelpText('after', example('culvert accounts list'));

  adminOptions(
    accounts
      .command('create')
      .description('make an account')
      .argument('<id>', 'its id')
      .option('--plan <plan>', "its plan (default: the configuration's default_plan)")
      .option('--name <name>', 'what people call it (default: the id)'),
  )
    .addHelpText('after', example('culvert accounts create acme --plan pro --name "Acme Inc."'))
    .action((id, options) => run(load().then(({ createAccount }) => createAccount(id, options, parts))));

  adminOptions(accounts.command('list').description('list accounts'))
    .addHelpText('after', example('culvert accounts list --json'))
    .action((options) => run(load().then(({ listAccounts }) => listAccounts(options, parts))));

  adminOptions(
    accounts.command('show').description('show an account, its keys and its windows').argument('<id>', 'its id'),
  )
    .addHelpText('after', example('culvert accounts show acme'))
    .action((id, options) => run(load().then(({ showAccount }) => showAccount(id, options, parts))));

  adminOptions(
    accounts.command('suspend').description('refuse all calls of an account with 403').argument('<id>', 'its id'),
  )
    .addHelpText('after', example('culvert accounts suspend acme'))
    .action((id, options) =>
      run(load().then(({ changeAccount }) => changeAccount(id, { status: 'suspended' }, options, parts))),
    );

  adminOptions(accounts.command('activate').description('take calls of an account again').argument('<id>', 'its id'))
    .addHelpText('after', example('culvert accounts activate acme'))
    .action((id, options) =>
      run(load().then(({ changeAccount }) => changeAccount(id, { status: 'active' }, options, parts))),
    );

  adminOptions(
    accounts
      .command('plan')
      .description("change an account's plan; it applies to its windows at once")
      .argument('<id>', 'its id')
      .argument('<plan>', 'its new plan'),
  )
    .addHelpText('after', example('culvert accounts plan acme pro'))
    .action((id, plan, options) =>
      run(load().then(({ changeAccount }) => changeAccount(id, { plan }, options, parts))),
    );

  const plans = program
    .command('plans')
    .description('list and show plans: what accounts may use')
    .addHelpText('after', example('culvert plans list'));

  adminOptions(plans.command('list').description('list plans'))
    .addHelpText('after', example('culvert plans list'))
    .action((options) => run(import('./commands/plans.ts').then(({ listPlans }) => listPlans(options, parts))));

  adminOptions(plans.command('show').description('show all limits of a plan').argument('<name>', 'its name'))
    .addHelpText('after', example('culvert plans show pro'))
    .action((name, options) =>
      run(import('./commands/plans.ts').then(({ showPlan }) => showPlan(name, options, parts))),
    );

  adminOptions(
    program
      .command('audit')
      .description('show who changed accounts, keys and plans, newest first')
      .option('--limit <rows>', 'how many', whole(1, 100_000), 100),
  )
    .addHelpText('after', example('culvert audit --limit 20'))
    .action((options) => run(import('./commands/audit.ts').then(({ audit }) => audit(options, parts))));
}
