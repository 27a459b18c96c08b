import { type Command, Option } from 'commander';
import { culvert } from '../../kernel/command-form.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import { adminOptions, example, listOf, type Run } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { note, print, printJson } from '../print.ts';
import { type Column, list, listRows, printRow, type Row, shownDate } from '../rows.ts';

/** `culvert operators …` */
export function declare(operators: Command, run: Run, parts: CliParts): void {
  operators.addHelpText('after', example('culvert operators list'));

  adminOptions(
    operators
      .command('create')
      .description('create an operator; its key is printed once')
      .argument('<name>', 'its name in the audit log')
      .addOption(new Option('--role <role>', 'its role').choices(roles).makeOptionMandatory())
      .option('--accounts <ids>', 'only for these accounts, separated by commas (default: all)', listOf('dev,acme')),
    'KEY=$(culvert operators create Anna --role viewer)',
  ).action((name, options) => run(createOperator(name, options, parts)));

  adminOptions(
    operators.command('list').description('list operators, besides the holder of the admin key'),
    'culvert operators list',
  ).action((options) => run(list(options, parts, listing)));

  adminOptions(
    operators
      .command('rotate')
      .description('give an operator a new key, printed once; the old key and its sessions end')
      .argument('<operator>', 'its name or id'),
    'KEY=$(culvert operators rotate Anna)',
  ).action((named, options) => run(rotateOperator(named, options, parts)));

  adminOptions(
    operators
      .command('remove')
      .description('remove an operator, its key and its sessions')
      .argument('<operator>', 'its name or id'),
    'culvert operators remove Anna',
  ).action((named, options) => run(removeOperator(named, options, parts)));
}

/** Operators as the admin API gives them, without loading its schemas. */
const roles = ['owner', 'admin', 'viewer', 'billing'];
const operatorsMax = 10_000;

async function createOperator(
  name: string,
  flags: AdminFlags & { role: string; accounts?: string[] },
  parts: CliParts,
): Promise<number> {
  const { role, accounts = null } = flags;
  return withAdmin(flags, parts, async (admin) => {
    const made = (await admin.request('POST', '/operators', { body: { name, role, accounts } })) as Row;
    return printKey(flags, made, `Operator '${name}', ${role}`);
  });
}

async function rotateOperator(named: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    const { id, name } = await operatorNamed(admin, named);
    const rotated = (await admin.request('POST', `/operators/${encodeURIComponent(String(id))}/rotate`)) as Row;
    return printKey(flags, rotated, `Operator '${name}'`);
  });
}

async function removeOperator(named: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    const { id } = await operatorNamed(admin, named);
    printRow(flags, (await admin.request('DELETE', `/operators/${encodeURIComponent(String(id))}`)) as Row);
    return 0;
  });
}

async function operatorNamed(admin: AdminClient, named: string): Promise<Row> {
  const { rows } = await listRows(admin, '/operators', {}, operatorsMax);
  const found = rows.find(({ id, name }) => id === named || name === named);
  if (found !== undefined) return found;
  throw new CommandFailed(`There is no operator '${named}'. ${culvert} operators list shows them.`);
}

function printKey(flags: AdminFlags, made: Row, what: string): number {
  if (flags.json === true) printJson(made);
  else {
    note(`${what}. The key is shown only once:`);
    print(String(made.key));
  }
  return 0;
}

const columns: readonly Column[] = [
  ['operator', (operator) => operator.name],
  ['role', (operator) => operator.role],
  ['accounts', (operator) => (Array.isArray(operator.accounts) ? operator.accounts.join(', ') : 'all')],
  ['login', (operator) => operator.login],
  ['created', (operator) => shownDate(operator.created_at, '')],
  ['id', (operator) => operator.id],
];

const listing = {
  path: '/operators',
  rowsMax: operatorsMax,
  columns,
  empty: `There is no operator yet: ${culvert} operators create NAME --role viewer`,
};
