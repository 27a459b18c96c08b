import { hash } from 'node:crypto';
import type { GroupRoles } from '../../config/schema/schema-dashboard.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import type { Change, OperatorRow, Stored } from './account-store.ts';
import type { Identity } from './identity.ts';
import { acceptance, type InvitationParts, invitationFor } from './invitations.ts';
import { operatorFacts } from './key-facts.ts';
import { type Operator, reservedOperators } from './operator.ts';

/** Roles of groups; null: none of them is named. */
export function rightsOf(groups: readonly string[], roles: GroupRoles): Omit<Operator, 'name'> | null {
  const fitting = roles.filter(({ group }) => group === '*' || groups.includes(group));
  const [first] = fitting;
  if (first === undefined) return null;
  const same = fitting.filter(({ role }) => role === first.role);
  const accounts = same.flatMap((line) => line.accounts ?? []);
  return {
    role: first.role,
    accounts: same.some((line) => line.accounts === undefined) ? null : [...new Set(accounts)],
  };
}

const triesMax = 3;

/**
 * The operator whom an identity is: made at its first login, brought up to its groups at each. Null where they may
 * nothing (any more): then it is removed, with its sessions. Written when it resolves.
 */
export async function operatorAtLogin(
  identity: Identity,
  roles: GroupRoles,
  parts: InvitationParts,
): Promise<OperatorRow | null> {
  const { store, clock } = parts;
  const rights = rightsOf(identity.groups, roles);
  for (let tries = 0; tries < triesMax; tries++) {
    const stored = await store.load();
    const { operators } = stored;
    const before = operators.find(({ issuer, subject }) => issuer === identity.issuer && subject === identity.subject);
    if (before?.origin === 'invitation') return before;
    const invited = before === undefined ? await invitedOperator(identity, stored, parts) : null;
    if (invited !== null) return invited;
    const after = rights === null ? null : rowFor(identity, rights, before, operators, clock.wallMs());
    const known = before ?? after;
    if (known === null) return null;
    if (after !== null && before !== undefined && isSame(before, after)) return before;
    const change: Change =
      after === null
        ? { kind: 'delete-operator', id: known.id }
        : before === undefined
          ? { kind: 'create-operator', operator: after }
          : { kind: 'update-operator', id: before.id, set: { name: after.name, ...rights } };
    const done = await store.apply([change], {
      atMs: clock.wallMs(),
      actor: known.name,
      action: `operator.${change.kind.slice(0, change.kind.indexOf('-'))}`,
      subject: known.id,
      before: before === undefined ? null : operatorFacts(before),
      after: after === null ? null : operatorFacts(after),
    });
    // Another login happens elsewhere at this moment, or took the name.
    if (done === 'done') return after;
  }
  throw new Error('the operator of a login could not be written');
}

function rowFor(
  identity: Identity,
  rights: Omit<Operator, 'name'>,
  before: OperatorRow | undefined,
  all: readonly OperatorRow[],
  nowMs: number,
): OperatorRow {
  const { issuer, subject } = identity;
  return {
    id: before?.id ?? `op_${randomBase62(12)}`,
    name: freeName(identity, (name) => all.some((one) => one !== before && one.name === name)),
    ...rights,
    prefix: null,
    hash: null,
    issuer,
    subject,
    origin: null,
    createdMs: before?.createdMs ?? nowMs,
  };
}

/** Names are what people read in the audit trail: none is another's. */
export function freeName(
  { issuer, subject, name }: Pick<Identity, 'issuer' | 'subject' | 'name'>,
  isTaken: (name: string) => boolean,
): string {
  const shown = shownName(name);
  const isFree = shown !== '' && !isTaken(shown) && !reservedOperators.includes(shown);
  return isFree ? shown : `${shown} ${hash('sha256', `${issuer}\n${subject}`, 'hex').slice(0, 12)}`.trim();
}

/** The name cut to what lists may show. */
export function shownName(name: string): string {
  return name
    .replace(/[^\p{L}\p{N} ._@+-]/gu, '')
    .trim()
    .slice(0, 80);
}

/** Uses up the invitation for the verified address of an identity, if there is one. */
async function invitedOperator(
  identity: Identity,
  stored: Stored,
  parts: InvitationParts,
): Promise<OperatorRow | null> {
  const { email, issuer, subject } = identity;
  const invitation = email === null ? undefined : invitationFor(email, stored, parts);
  if (invitation === undefined) return null;
  const name = freeName({ ...identity, name: invitation.name ?? identity.name }, (taken) =>
    stored.operators.some((one) => one.name === taken),
  );
  const who = { name, prefix: null, hash: null, issuer, subject };
  const { row, changes, audit } = acceptance(invitation, who, parts.clock.wallMs());
  return (await parts.store.apply(changes, audit)) === 'done' ? row : null;
}

function isSame(a: OperatorRow, b: OperatorRow): boolean {
  return JSON.stringify(operatorFacts(a)) === JSON.stringify(operatorFacts(b));
}
