import { culvert } from '../../../kernel/command-form.ts';
import type { AdminClient } from '../../admin-client.ts';
import { calls, lists } from '../../admin-entries.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CommandBody, OptionEntry } from '../../command-table.ts';
import { listOf } from '../../options.ts';
import { listRows, type Row, shownDate } from '../../rows.ts';

/** Operators as the admin API gives them, without loading its schemas. */
export const roles = ['owner', 'admin', 'member', 'viewer', 'billing'];
const operatorsMax = 10_000;

export const accountsOption: OptionEntry = [
  '--accounts <ids>',
  'only for these accounts, separated by commas (default: all)',
  { read: listOf('dev,acme') },
];

const accountsOf = (text: string) => (text === 'all' ? null : listOf('dev,acme')(text));

const ofOperator = { arguments: [['<operator>', 'its name or id']], idOf: idIn('/operators', 'operator') } as const;

export const operators: CommandBody = {
  example: 'culvert operators list',
  commands: {
    create: calls<Row, { role: string; accounts?: string[] }>({
      description: 'create an operator; its key is printed once',
      arguments: [['<name>', 'its name in the audit log']],
      options: [['--role <role>', 'its role', { choices: roles, needed: true }], accountsOption],
      example: 'KEY=$(culvert operators create Anna --role viewer)',
      call: 'POST /operators',
      body: ({ role, accounts = null }, name) => ({ name, role, accounts }),
      describe: (_made, name, { role }) => `Operator '${name}', ${role}. The key is shown only once:`,
      as: 'secret',
    }),
    list: lists({
      description: 'list operators, besides the holder of the admin key',
      example: 'culvert operators list',
      path: '/operators',
      rowsMax: operatorsMax,
      columns: [
        ['operator', (operator) => operator.name],
        ['role', (operator) => operator.role],
        ['accounts', (operator) => (Array.isArray(operator.accounts) ? operator.accounts.join(', ') : 'all')],
        ['login', (operator) => operator.login],
        ['created', (operator) => shownDate(operator.created_at, '')],
        ['id', (operator) => operator.id],
      ],
      empty: `There is no operator yet: ${culvert} operators create NAME --role viewer`,
    }),
    rotate: calls({
      description: 'give an operator a new key, printed once; the old key and its sessions end',
      ...ofOperator,
      example: 'KEY=$(culvert operators rotate Anna)',
      call: 'POST /operators/{id}/rotate',
      describe: ({ name }) => `Operator '${name}'. The key is shown only once:`,
      as: 'secret',
    }),
    change: calls<Row, { name?: string; role?: string; accounts?: string[] | null }>({
      description: 'change the name, role or accounts of an operator; its sessions have them at once',
      ...ofOperator,
      options: [
        ['--name <name>', 'another name'],
        ['--role <role>', 'its role', { choices: roles }],
        ['--accounts <ids>', 'only for these accounts, separated by commas; all for all', { read: accountsOf }],
      ],
      example: 'culvert operators change Anna --role admin',
      call: 'PATCH /operators/{id}',
      body: ({ name, role, accounts }) => ({ name, role, accounts }),
      describe: ({ name, role }) => `Operator '${name}' is changed: ${role}.`,
    }),
    remove: calls({
      description: 'remove an operator, its key and its sessions',
      ...ofOperator,
      example: 'culvert operators remove Anna',
      call: 'DELETE /operators/{id}',
      describe: ({ name, role }) => `Operator '${name}', ${role}, is removed. Its key and its sessions have ended.`,
    }),
  },
};

/** Finds the id of the operator that a name or an id names, in the list at `path`. */
export function idIn(path: string, kind: string): (admin: AdminClient, named: string) => Promise<string> {
  return async (admin, named) => {
    const { rows } = await listRows(admin, path, {}, operatorsMax);
    const found = rows.find(({ id, name }) => id === named || name === named);
    if (found !== undefined) return String(found.id);
    throw new CommandFailed(`There is no ${kind} '${named}'. ${culvert} ${kind}s list shows them.`);
  };
}
