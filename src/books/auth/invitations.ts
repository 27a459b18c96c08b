import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, invalid, unauthenticated } from '../../kernel/failure.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import type { AccountStore, Change, InvitationRow, OperatorRow, Stored } from './account-store.ts';
import { mintOperatorKey } from './api-key.ts';
import { hashKey } from './key-directory.ts';
import { invitationFacts, operatorFacts } from './key-facts.ts';
import {
  adminOperator,
  cliOperator,
  type Operator,
  operatorNameExpected,
  operatorNamePattern,
  reservedOperators,
} from './operator.ts';

const tokenBytes = 32;
/** Characters that `tokenBytes` have in base64url. */
const tokenPattern = /^[\w-]{43}$/;

/** `token` goes into a link, and is kept nowhere. */
export function mintInvitationToken(): { token: string; hash: string } {
  const token = randomBytes(tokenBytes).toString('base64url');
  return { token, hash: hashKey(token) };
}

/** One answer for whatever is wrong with a link, so that none tells which. */
export const noInvitation = unauthenticated(
  'This invitation was used or withdrawn, or it has expired. Ask for another one.',
);

export interface InvitationParts {
  store: AccountStore;
  clock: Clock;
  /** Why an operator may not give these rights (any more); null: it may. */
  mayNotGive(giver: Operator, rights: Pick<Operator, 'role' | 'accounts'>): Failure | null;
}

/** The invitation of a link that works now; null: there is none. */
export async function openedInvitation(token: string, parts: InvitationParts): Promise<InvitationRow | null> {
  if (!tokenPattern.test(token)) return null;
  const digest = Buffer.from(hashKey(token), 'hex');
  const stored = await parts.store.load();
  const found = stored.invitations.find(({ hash }) => timingSafeEqual(Buffer.from(hash, 'hex'), digest));
  return found !== undefined && isOpen(found, stored, parts) ? found : null;
}

/** The oldest one for this verified address that works now. */
export function invitationFor(email: string, stored: Stored, parts: InvitationParts): InvitationRow | undefined {
  const normalized = email.toLowerCase();
  return stored.invitations.find((one) => one.email?.toLowerCase() === normalized && isOpen(one, stored, parts));
}

/** An operator who may not give these rights any more, or is gone, does not give them by a link of before. */
function isOpen(invitation: InvitationRow, { operators }: Stored, { clock, mayNotGive }: InvitationParts): boolean {
  if (invitation.endsMs <= clock.wallMs()) return false;
  const known: readonly Operator[] = [adminOperator, cliOperator, ...operators];
  const giver = known.find(({ name }) => name === invitation.createdBy);
  return giver !== undefined && mayNotGive(giver, invitation) === null;
}

/** Changes that use an invitation up and make its operator, with their audit row. `done` is not in them. */
export function acceptance(
  invitation: InvitationRow,
  who: Pick<OperatorRow, 'name' | 'prefix' | 'hash' | 'issuer' | 'subject'>,
  nowMs: number,
) {
  const { id, role, accounts } = invitation;
  const row: OperatorRow = {
    ...who,
    id: `op_${randomBase62(12)}`,
    role,
    accounts,
    origin: 'invitation',
    createdMs: nowMs,
  };
  const changes: Change[] = [
    { kind: 'use-invitation', id, atMs: nowMs },
    { kind: 'create-operator', operator: row },
  ];
  const audit = {
    atMs: nowMs,
    actor: row.name,
    action: 'invitation.accept',
    subject: row.id,
    before: invitationFacts(invitation),
    after: operatorFacts(row),
  };
  return { row, changes, audit };
}

/**
 * Makes the operator of a link, who logs in by the key from now on. `chosen` names it where the invitation does not. Of
 * two who come at once one gets it.
 */
export async function acceptInvitation(
  token: string,
  chosen: string | undefined,
  parts: InvitationParts,
): Promise<{ row: OperatorRow; key: string; credential: string } | Failure> {
  const invitation = await openedInvitation(token, parts);
  if (invitation === null) return noInvitation;
  const name = invitation.name ?? chosen ?? '';
  if (!operatorNamePattern.test(name) || reservedOperators.includes(name)) {
    return invalid('name', `name: ${operatorNameExpected}`);
  }
  const { prefix, secret, hash } = mintOperatorKey();
  const nowMs = parts.clock.wallMs();
  const { row, changes, audit } = acceptance(invitation, { name, prefix, hash, issuer: null, subject: null }, nowMs);
  switch (await parts.store.apply(changes, audit)) {
    case 'done':
      return { row, key: secret, credential: hash };
    case 'exists':
      return { kind: 'conflict', message: `The name '${name}' is taken. Choose another one.` };
    case 'absent':
      return noInvitation;
  }
}
