/** Rights of an operator; `admin/roles` says where they apply. */
export type Role = 'owner' | 'admin' | 'member' | 'viewer' | 'billing';

/** Administrator: a person in the dashboard, or a program. */
export interface Operator {
  /** Name in the audit log. */
  name: string;
  role: Role;
  /** Accounts that it sees and may change; null = all, and what belongs to no account. */
  accounts: readonly string[] | null;
}

/** Form of a name. */
export const operatorNamePattern = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@+-]{0,99}$/u;
export const operatorNameExpected =
  'expected 1 to 100 letters, digits, spaces or ._@+-, beginning with a letter or digit';

/** Names of the audit trail that no other operator may have. */
export const reservedOperators: readonly string[] = ['admin', 'cli', 'start', 'scim', 'statements'];

/** The holder of the admin key. */
export const adminOperator: Operator = { name: 'admin', role: 'owner', accounts: null };

/** Anybody who runs `culvert` on the machine of the data folder. */
export const cliOperator: Operator = { name: 'cli', role: 'owner', accounts: null };

/**
 * Beginning of the issuer of an operator who logs in by SAML. It keeps them apart from those of OpenID Connect: Keycloak
 * calls itself the same in both.
 */
export const samlIssuer = 'saml:';
