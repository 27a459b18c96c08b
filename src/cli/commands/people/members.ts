import { culvert } from '../../../kernel/command-form.ts';
import { calls, lists } from '../../admin-entries.ts';
import type { CommandBody } from '../../command-table.ts';
import { type Row, shown } from '../../rows.ts';
import { idIn, roles } from './operators.ts';

const ofMember = { arguments: [['<member>', 'its name or id']], idOf: idIn('/members', 'member') } as const;

export const members: CommandBody = {
  example: 'culvert members list --account dev',
  commands: {
    list: lists<{ account?: string }>({
      description: 'list the operators of some accounts',
      options: [['--account <id>', 'only members of this account']],
      example: 'culvert members list --account dev',
      path: '/members',
      query: ({ account }) => ({ account }),
      rowsMax: 10_000,
      columns: [
        ['member', (member) => member.name],
        ['role', (member) => member.role],
        ['accounts', (member) => shown(member.accounts)],
        ['id', (member) => member.id],
      ],
      empty: `There is no member yet: ${culvert} invitations create --role member --accounts dev`,
    }),
    change: calls<Row, { role: string }>({
      description: 'change the role of a member; its sessions have it at once',
      ...ofMember,
      options: [['--role <role>', 'its role', { choices: roles, needed: true }]],
      example: 'culvert members change Anna --role viewer',
      call: 'PATCH /members/{id}',
      body: ({ role }) => ({ role }),
      describe: ({ name, role }) => `Member '${name}' is changed: ${role}.`,
    }),
    remove: calls({
      description: 'take from a member the accounts that you manage; the last one ends its sessions',
      ...ofMember,
      example: 'culvert members remove Anna',
      call: 'DELETE /members/{id}',
      describe: ({ name, accounts }) => `'${name}' is no longer a member of ${shown(accounts)}.`,
    }),
  },
};
