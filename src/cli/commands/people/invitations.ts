import type { WithLinkReply } from '../../../admin/entries/invitations.ts';
import { culvert } from '../../../kernel/command-form.ts';
import { calls, lists } from '../../admin-entries.ts';
import type { CommandBody } from '../../command-table.ts';
import { shownDate } from '../../rows.ts';
import { accountsOption, roles } from './operators.ts';

export const invitations: CommandBody = {
  example: 'culvert invitations list',
  commands: {
    create: calls<
      WithLinkReply,
      { role: string; accounts?: string[]; name?: string; email?: string; mail?: boolean; expires?: string }
    >({
      description: 'print a link that works once and gives its user the role',
      options: [
        ['--role <role>', 'the role of the operator', { choices: roles, needed: true }],
        accountsOption,
        ['--name <name>', 'its name in the audit log (default: the person who opens the link chooses one)'],
        ['--email <address>', 'a login by OpenID Connect or SAML with this address also uses up the invitation'],
        ['--mail', 'send the link to that address; the server needs server.smtp'],
        ['--expires <time>', 'a date, or a duration such as 3d, of at most 30 days (default: 7d)'],
      ],
      example: 'culvert invitations create --role viewer --accounts dev',
      call: 'POST /invitations',
      body: ({ role, accounts = null, name, email, mail, expires }) => ({ role, accounts, name, email, mail, expires }),
      describe: ({ path, role, expires, mail, email }) => [
        ...(mail === null
          ? []
          : [mail.sent ? `The link is on its way to ${email}.` : `The mail was not sent: ${mail.reason}`]),
        `Send this to one person, after the address of your server. It works once, until ${shownDate(expires, '')}, for the role ${role}:`,
        path,
      ],
      as: 'exact',
    }),
    list: lists({
      description: 'list invitations that nobody has used yet',
      example: 'culvert invitations list',
      path: '/invitations',
      rowsMax: 1_000,
      columns: [
        ['role', (invitation) => invitation.role],
        ['accounts', ({ accounts }) => (Array.isArray(accounts) ? accounts.join(', ') : 'all')],
        ['name', (invitation) => invitation.name ?? ''],
        ['email', (invitation) => invitation.email ?? ''],
        ['by', (invitation) => invitation.created_by],
        ['expires', (invitation) => shownDate(invitation.expires, '')],
        ['id', (invitation) => invitation.id],
      ],
      empty: `There are no open invitations: ${culvert} invitations create --role viewer`,
    }),
    withdraw: calls({
      description: 'withdraw an invitation: its link stops working at once',
      arguments: [['<id>', 'its id']],
      example: 'culvert invitations withdraw inv_7Hq2',
      call: 'DELETE /invitations/{id}',
      describe: ({ id }) => `The invitation ${id} is withdrawn.`,
    }),
  },
};
