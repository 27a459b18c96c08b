import { invalid } from '../kernel/failure.ts';
import { refuse } from './operation.ts';

/** Accounts that an operator may see; null: all of them. */
export type AccountScope = readonly string[] | null;

/** Whose rows a list is of: the one account that was asked for, where it may be seen at all. Null: everybody's. */
export function accountsAsked(asked: string | undefined, scope: AccountScope): AccountScope {
  if (asked === undefined) return scope;
  return scope === null || scope.includes(asked) ? [asked] : [];
}

/** Of a ledger that knows one account or all: an operator of several names the one that it means. */
export function onlyAccount(accounts: AccountScope): string | null {
  if (accounts === null || accounts.length === 1) return accounts?.[0] ?? null;
  if (accounts.length === 0) return nobody;
  return refuse(invalid('account', `account: name one of ${accounts.join(', ')}`));
}

/** No account has this id. */
const nobody = '/';
