import type { Command } from 'commander';
import { culvert } from '../../kernel/command-form.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../admin-client.ts';
import { adminOptions, example, type Run } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, print, printJson, printReply } from '../print.ts';
import { type Column, list, listRows, printRow, type Row, rowTable, shownDate } from '../rows.ts';
import { checkPlan, keyColumns } from './keys.ts';
import { limitsOf, limitTable } from './windows.ts';

/** `culvert accounts …` */
export function declare(accounts: Command, run: Run, parts: CliParts): void {
  accounts.addHelpText('after', example('culvert accounts list'));

  adminOptions(
    accounts
      .command('create')
      .description('make an account')
      .argument('<id>', 'its id')
      .option('--plan <plan>', 'its plan (default: default_plan of the configuration)')
      .option('--name <name>', 'its name for people (default: the id)'),
    'culvert accounts create acme --plan pro --name "Acme Inc."',
  ).action((id, options) => run(createAccount(id, options, parts)));

  adminOptions(accounts.command('list').description('list accounts'), 'culvert accounts list --json').action(
    (options) => run(list(options, parts, listing)),
  );

  adminOptions(
    accounts.command('show').description('show an account, its keys and its windows').argument('<id>', 'its id'),
    'culvert accounts show acme',
  ).action((id, options) => run(showAccount(id, options, parts)));

  adminOptions(
    accounts.command('suspend').description('refuse all calls of an account with 403').argument('<id>', 'its id'),
    'culvert accounts suspend acme',
  ).action((id, options) => run(changeAccount(id, { status: 'suspended' }, options, parts)));

  adminOptions(
    accounts.command('activate').description('accept calls of an account again').argument('<id>', 'its id'),
    'culvert accounts activate acme',
  ).action((id, options) => run(changeAccount(id, { status: 'active' }, options, parts)));

  adminOptions(
    accounts
      .command('plan')
      .description('change the plan of an account; it applies to its windows at once')
      .argument('<id>', 'its id')
      .argument('<plan>', 'its new plan'),
    'culvert accounts plan acme pro',
  ).action((id, plan, options) => run(changeAccount(id, { plan }, options, parts)));
}

const accountsMax = 100_000;
const keysShownMax = 1_000;

interface AccountCreateFlags extends AdminFlags {
  plan?: string;
  name?: string;
}

/** `culvert accounts create` */
async function createAccount(id: string, flags: AccountCreateFlags, parts: CliParts): Promise<number> {
  const { plan, name } = flags;
  return withAdmin(flags, parts, async (admin) => {
    if (plan !== undefined) await checkPlan(admin, plan);
    const body = { id, name: name ?? id, ...(plan !== undefined && { plan }) };
    printRow(flags, (await admin.request('POST', '/accounts', { body })) as Row);
    return 0;
  });
}

const columns: readonly Column[] = [
  ['account', (account) => account.id],
  ['name', (account) => (account.name === account.id ? '' : account.name)],
  ['plan', (account) => account.plan],
  ['status', (account) => account.status],
  ['created', (account) => shownDate(account.created_at, '')],
  ['from', (account) => account.from],
];

const listing = {
  path: '/accounts',
  rowsMax: accountsMax,
  columns,
  empty: `There is no account yet: ${culvert} accounts create ID --plan P`,
  more: `The list stops after ${accountsMax} accounts.`,
};

interface AccountChange {
  status?: 'active' | 'suspended';
  plan?: string;
}

/** `culvert accounts suspend`, `activate` and `set` */
async function changeAccount(id: string, change: AccountChange, flags: AdminFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    if (change.plan !== undefined) await checkPlan(admin, change.plan);
    const changed = await admin.request('PATCH', accountPath(id), { body: change });
    const now = change.status === undefined ? `has plan '${change.plan}'` : `is ${change.status}`;
    printReply(flags, changed, `Account '${id}' ${now}.`);
    return 0;
  });
}

/** `culvert accounts show`: the account, its keys, and how full its windows are where the server can tell. */
async function showAccount(id: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    const account = (await admin.request('GET', accountPath(id))) as Row;
    const { rows: keys } = await listRows(admin, '/keys', { account: id }, keysShownMax);
    const limits = await limitsOf(admin, id);
    if (listForm(flags) === 'json') {
      const windows = await unitWindows(admin, id);
      printJson({ ...account, keys, ...windows, ...(limits !== null && { limits: limits.data }) });
      return 0;
    }
    printRow(flags, account);
    if (limits !== null) print(`\n${limitTable(limits)}`);
    print(keys.length === 0 ? '\nIt has no key.' : `\n${rowTable(keys, keyColumns)}`);
    return 0;
  });
}

/** The windows of units, as usage answers have them; {} where nobody counts. */
async function unitWindows(admin: AdminClient, account: string): Promise<{ windows?: unknown }> {
  const query = { account, group_by: 'day' };
  const { windows } = (await admin.request('GET', '/usage', { query })) as { windows?: unknown };
  return windows === undefined ? {} : { windows };
}

function accountPath(id: string): string {
  return `/accounts/${encodeURIComponent(id)}`;
}
