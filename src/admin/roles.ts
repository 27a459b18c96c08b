import type { Operator, Role } from '../books/auth/operator.ts';
import { type Failure, forbidden } from '../kernel/failure.ts';

/** Subject of an operation. */
export type Area = keyof typeof rights;

/** `own`: written by an operator of some accounts too, of theirs. `shared`: by operators of all accounts alone. */
interface Rights extends Readonly<Record<Role, Access>> {
  belongs: 'own' | 'shared';
}

export type Access = 'none' | 'read' | 'write';

const rights = {
  providers: { belongs: 'shared', owner: 'write', admin: 'write', member: 'none', viewer: 'read', billing: 'none' },
  models: { belongs: 'shared', owner: 'write', admin: 'write', member: 'read', viewer: 'read', billing: 'read' },
  accounts: { belongs: 'own', owner: 'write', admin: 'write', member: 'read', viewer: 'read', billing: 'write' },
  keys: { belongs: 'own', owner: 'write', admin: 'write', member: 'write', viewer: 'read', billing: 'read' },
  plans: { belongs: 'shared', owner: 'write', admin: 'write', member: 'read', viewer: 'read', billing: 'write' },
  requests: { belongs: 'own', owner: 'write', admin: 'write', member: 'read', viewer: 'read', billing: 'none' },
  usage: { belongs: 'own', owner: 'write', admin: 'write', member: 'read', viewer: 'read', billing: 'read' },
  vectors: { belongs: 'own', owner: 'write', admin: 'write', member: 'read', viewer: 'read', billing: 'none' },
  /** Calls of `/v1` for a key, which pays: the playground, vectors and web tools of the dashboard. */
  calls: { belongs: 'own', owner: 'write', admin: 'write', member: 'write', viewer: 'none', billing: 'none' },
  settings: { belongs: 'shared', owner: 'write', admin: 'write', member: 'none', viewer: 'read', billing: 'none' },
  operators: { belongs: 'shared', owner: 'write', admin: 'read', member: 'none', viewer: 'none', billing: 'none' },
  /** Operators of some accounts, and links that make operators. */
  members: { belongs: 'own', owner: 'write', admin: 'write', member: 'none', viewer: 'none', billing: 'none' },
  health: { belongs: 'shared', owner: 'write', admin: 'write', member: 'read', viewer: 'read', billing: 'read' },
  audit: { belongs: 'own', owner: 'write', admin: 'write', member: 'none', viewer: 'read', billing: 'none' },
} as const satisfies Readonly<Record<string, Rights>>;

export const roles = ['owner', 'admin', 'member', 'viewer', 'billing'] as const satisfies readonly Role[];
export const areas = Object.keys(rights) as Area[];

const enough: Readonly<Record<Access, readonly Access[]>> = {
  none: ['none', 'read', 'write'],
  read: ['read', 'write'],
  write: ['write'],
};

/** Operators whose role alone lets them. */
export function rolesThatMay(area: Area, access: 'read' | 'write'): Role[] {
  return roles.filter((role) => enough[access].includes(rights[area][role]));
}

/** Null: the operator may. Accounts that it may not see are not the business of this: they are as if they were not there. */
export function notAllowed({ name, role, accounts }: Operator, area: Area, access: 'read' | 'write'): Failure | null {
  const ofArea: Rights = rights[area];
  if (!enough[access].includes(ofArea[role])) {
    const what = area === 'calls' ? 'make' : access === 'read' ? 'see' : 'change';
    const message = `The operator '${name}' has the role ${role}, which may not ${what} ${area}. These roles may: ${rolesThatMay(area, access).join(', ')}.`;
    return forbidden(message);
  }
  if (access === 'write' && accounts !== null && ofArea.belongs === 'shared') {
    const message = `The operator '${name}' manages only some accounts. All accounts share ${area}, so only operators of all accounts change them.`;
    return forbidden(message);
  }
  return null;
}

/** Null: the operator may make one with this role of these accounts. Nobody gives more than they have. */
export function mayNotGive(giver: Operator, { role, accounts }: Pick<Operator, 'role' | 'accounts'>): Failure | null {
  const refused =
    notAllowed(giver, 'members', 'write') ?? (accounts === null ? notAllowed(giver, 'operators', 'write') : null);
  if (refused !== null) return refused;
  const { accounts: giverAccounts } = giver;
  const foreign = giverAccounts === null ? undefined : accounts?.find((account) => !giverAccounts.includes(account));
  if (foreign !== undefined) return noAccount(foreign);
  if (areas.every((area) => enough[rights[area][role]].includes(rights[area][giver.role]))) return null;
  const message = `The operator '${giver.name}' has the role ${giver.role}, which may not give the role ${role}.`;
  return forbidden(message);
}

/** The same whether there is none, or the operator may not see it. */
export function noAccount(account: string): Failure {
  return { kind: 'invalid-request', param: 'accounts', message: `accounts: there is no account '${account}'` };
}
