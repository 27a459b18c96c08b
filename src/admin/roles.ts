import type { Operator, Role } from '../books/auth/operator.ts';
import type { Failure } from '../kernel/failure.ts';

/** Subject of an operation. */
export type Area = keyof typeof rights;

/** `own`: written by an operator of some accounts too, of theirs. `shared`: by operators of all accounts alone. */
interface Rights extends Readonly<Record<Role, Access>> {
  belongs: 'own' | 'shared';
}

export type Access = 'none' | 'read' | 'write';

const rights = {
  providers: { belongs: 'shared', owner: 'write', admin: 'write', viewer: 'read', billing: 'none' },
  models: { belongs: 'shared', owner: 'write', admin: 'write', viewer: 'read', billing: 'read' },
  accounts: { belongs: 'own', owner: 'write', admin: 'write', viewer: 'read', billing: 'write' },
  keys: { belongs: 'own', owner: 'write', admin: 'write', viewer: 'read', billing: 'read' },
  plans: { belongs: 'shared', owner: 'write', admin: 'write', viewer: 'read', billing: 'write' },
  requests: { belongs: 'own', owner: 'write', admin: 'write', viewer: 'read', billing: 'none' },
  usage: { belongs: 'own', owner: 'write', admin: 'write', viewer: 'read', billing: 'read' },
  vectors: { belongs: 'own', owner: 'write', admin: 'write', viewer: 'read', billing: 'none' },
  /** Calls of `/v1` for a key, which pays: the playground, vectors and web tools of the dashboard. */
  calls: { belongs: 'own', owner: 'write', admin: 'write', viewer: 'none', billing: 'none' },
  settings: { belongs: 'shared', owner: 'write', admin: 'write', viewer: 'read', billing: 'none' },
  operators: { belongs: 'shared', owner: 'write', admin: 'read', viewer: 'none', billing: 'none' },
  health: { belongs: 'shared', owner: 'write', admin: 'write', viewer: 'read', billing: 'read' },
  audit: { belongs: 'own', owner: 'write', admin: 'write', viewer: 'read', billing: 'none' },
} as const satisfies Readonly<Record<string, Rights>>;

export const roles = ['owner', 'admin', 'viewer', 'billing'] as const satisfies readonly Role[];
export const areas = Object.keys(rights) as Area[];

const enough: Readonly<Record<Access, readonly Access[]>> = {
  none: ['none', 'read', 'write'],
  read: ['read', 'write'],
  write: ['write'],
};

/** Those whose role alone lets them. */
export function rolesThatMay(area: Area, access: 'read' | 'write'): Role[] {
  return roles.filter((role) => enough[access].includes(rights[area][role]));
}

/** Null: the operator may. Accounts that it may not see are not the business of this: they are as if they were not there. */
export function notAllowed({ name, role, accounts }: Operator, area: Area, access: 'read' | 'write'): Failure | null {
  const ofArea: Rights = rights[area];
  if (!enough[access].includes(ofArea[role])) {
    const what = area === 'calls' ? 'make' : access === 'read' ? 'see' : 'change';
    const message = `The operator '${name}' has the role ${role}, which may not ${what} ${area}. These roles may: ${rolesThatMay(area, access).join(', ')}.`;
    return { kind: 'forbidden', message };
  }
  if (access === 'write' && accounts !== null && ofArea.belongs === 'shared') {
    const message = `The operator '${name}' manages only some accounts. All accounts share ${area}, so only operators of all accounts change them.`;
    return { kind: 'forbidden', message };
  }
  return null;
}
