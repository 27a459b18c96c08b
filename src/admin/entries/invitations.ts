import { z } from 'zod';
import type { InvitationRow } from '../../books/auth/account-store.ts';
import { mintInvitationToken } from '../../books/auth/invitations.ts';
import { invitationFacts } from '../../books/auth/key-facts.ts';
import type { Operator } from '../../books/auth/operator.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import { type AccountScope, isWithin } from '../account-scope.ts';
import type { Records } from '../directory.ts';
import { futureInstant, timeField } from '../fields.ts';
import { type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { mayNotGive, noAccount, roles } from '../roles.ts';
import { entryOperations } from './entry-operations.ts';
import { futureMs } from './key-change.ts';
import { accountsField, nameField } from './operators.ts';

const publicIdLength = 12;
/** Invitations that wait; beyond them nobody is invited. */
const invitationsMax = 1_000;
const lifeMaxMs = 30 * 86_400_000;

const invitationFields = {
  id: z.string(),
  role: z.enum(roles),
  accounts: z.array(z.string()).nullable().describe('Null = all.'),
  name: z.string().nullable().describe('Null: who opens the link chooses one.'),
  email: z.string().nullable(),
  created_by: z.string().describe('Name of the operator who invited.'),
  created_at: timeField,
  expires: timeField,
};
const invitationSchema = z.object(invitationFields);
const withLinkSchema = z.object({
  ...invitationFields,
  path: z.string().describe('The link, below the address of the server. It is shown only once.'),
  mail: z
    .object({ sent: z.boolean(), reason: z.string().nullable().describe('Why the mail server did not take it.') })
    .nullable()
    .describe('The mail with the link; null: none was wanted.'),
});

/** For pages that show it. */
export type InvitationReply = z.output<typeof invitationSchema>;
export type WithLinkReply = z.output<typeof withLinkSchema>;

const newSchema = z.strictObject({
  role: z.enum(roles).describe('What the invited person may do (docs/dashboard.md).'),
  accounts: accountsField.default(null),
  name: nameField.optional(),
  email: z
    .email()
    .max(254)
    .optional()
    .describe('Who logs in by OpenID Connect or SAML with this verified address uses the invitation up, too.'),
  mail: z
    .boolean()
    .default(false)
    .describe('Whether `email` gets the link by mail. Needs server.smtp and server.public_url.'),
  expires: futureInstant('At most 30 days ahead: a date, a time, or a duration from now such as 3d.').prefault('7d'),
});

/** `/invitations`: links that make an operator, once. */
export function invitationOperations(parts: AdminParts, records: Records): Operation[] {
  const entries = entryOperations({ path: '/invitations', named: 'id', area: 'members', reply: invitationSchema });
  const waiting = (scope: AccountScope) => waitingInvitations(parts, records, scope);
  return [
    entries.list({
      summary: 'Lists the invitations that nobody has used yet, oldest first, without their links.',
      async rows(_query, { accounts }) {
        return { rows: await waiting(accounts), textOf: ({ createdMs, id }) => `${createdMs}/${id}`, shown };
      },
    }),
    entries.add({
      summary: 'Invites a person. Only this response contains the link, which works once and makes an operator.',
      body: newSchema,
      reply: withLinkSchema,
      run: ({ body, operator }) => addInvitation(parts, records, body, operator),
    }),
    entries.remove({
      summary: 'Withdraws an invitation. Its link stops working at once.',
      async run(id, { operator }) {
        const row = (await waiting(operator.accounts)).find((one) => one.id === id) ?? refuse(noInvitation(id));
        const refused = mayNotGive(operator, row);
        if (refused !== null) refuse(refused);
        const done = await records.apply([{ kind: 'delete-invitation', id: row.id }], {
          actor: operator.name,
          action: 'invitation.withdraw',
          subject: row.id,
          before: invitationFacts(row),
          after: null,
        });
        return done === 'done' ? shown(row) : refuse(noInvitation(id));
      },
    }),
  ];
}

/** Invitations that work now, as far as an operator sees their accounts. */
async function waitingInvitations({ clock }: AdminParts, records: Records, scope: AccountScope) {
  const nowMs = clock.wallMs();
  const { invitations } = (await records.current(null)).stored;
  return invitations.filter(({ accounts, endsMs }) => endsMs > nowMs && isWithin(accounts, scope));
}

async function addInvitation(
  parts: AdminParts,
  records: Records,
  { expires, ...body }: z.output<typeof newSchema>,
  operator: Operator,
): Promise<z.input<typeof withLinkSchema>> {
  const refused = mayNotGive(operator, body);
  if (refused !== null) refuse(refused);
  const letter = body.mail ? letterTo(parts, body.email) : null;
  const directory = await records.current(operator.accounts);
  const absent = body.accounts?.find((id) => directory.account(id) === null);
  if (absent !== undefined) refuse(noAccount(absent));
  const createdMs = parts.clock.wallMs();
  const endsMs = futureMs(expires, createdMs) ?? createdMs;
  if (endsMs > createdMs + lifeMaxMs) refuse(invalid('expires', 'expires: expected at most 30 days ahead'));
  if ((await waitingInvitations(parts, records, null)).length >= invitationsMax) refuse(tooMany);
  const { token, hash } = mintInvitationToken();
  const { role, accounts, name = null, email = null } = body;
  const id = `inv_${randomBase62(publicIdLength)}`;
  const row: InvitationRow = { id, hash, role, accounts, name, email, createdMs, createdBy: operator.name, endsMs };
  await records.apply([{ kind: 'create-invitation', invitation: row }], {
    actor: operator.name,
    action: 'invitation.create',
    subject: id,
    before: null,
    after: invitationFacts(row),
  });
  const path = `/dashboard#invitation=${token}`;
  return { ...shown(row), path, mail: letter === null ? null : await mailed(parts, letter, row, path) };
}

/** Where the link goes by mail, and what it begins with. */
interface Letter {
  to: string;
  publicUrl: string;
}

function letterTo({ snapshots }: AdminParts, email: string | undefined): Letter {
  const { smtp, public_url } = snapshots.current.config.server;
  if (email === undefined) return refuse(invalid('email', 'email: expected the address that gets the link'));
  if (smtp === undefined || public_url === undefined) {
    const lacks = smtp === undefined ? 'server.smtp' : 'server.public_url, which links in mails begin with';
    return refuse(invalid('mail', `mail: this server sends no links by mail. Set ${lacks}.`));
  }
  return { to: email, publicUrl: public_url.replace(/\/+$/, '') };
}

/** Sends the link; a mail that cannot be sent changes nothing else, since the reply has the link too. */
async function mailed(
  { mail }: AdminParts,
  { to, publicUrl }: Letter,
  { id, role, accounts, createdBy, endsMs }: InvitationRow,
  path: string,
): Promise<{ sent: boolean; reason: string | null }> {
  const scope = accounts === null ? '' : ` for ${accounts.join(', ')}`;
  const text = [
    `${createdBy} invites you to Culvert at ${publicUrl} with the role ${role}${scope}.`,
    '',
    `Open this link before ${new Date(endsMs).toUTCString()}:`,
    publicUrl + path,
    '',
    'It works once and gives the role to the person who opens it, so do not pass it on.',
    '',
  ].join('\n');
  try {
    await mail({ to: [to], id, subject: `${createdBy} invites you`, text });
    return { sent: true, reason: null };
  } catch (error) {
    return { sent: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

const tooMany: Failure = {
  kind: 'conflict',
  message: `${invitationsMax} invitations wait already. Withdraw some of them first.`,
};

function shown({ createdMs, createdBy, endsMs, accounts, ...row }: InvitationRow): z.input<typeof invitationSchema> {
  const { id, role, name, email } = row;
  return {
    id,
    role,
    accounts: accounts === null ? null : [...accounts],
    name,
    email,
    created_by: createdBy,
    created_at: new Date(createdMs).toISOString(),
    expires: new Date(endsMs).toISOString(),
  };
}

function noInvitation(id: string): Failure {
  return { kind: 'not-found', message: `There is no invitation '${id.slice(0, 64)}'.` };
}
