/** Accounts that an operator may see; null: all of them. */
export type AccountScope = readonly string[] | null;

/** Whose rows a list is of: the one account that was asked for, where it may be seen at all. Null: everybody's. */
export function requestedAccounts(requested: string | undefined, scope: AccountScope): AccountScope {
  if (requested === undefined) return scope;
  return scope === null || scope.includes(requested) ? [requested] : [];
}

/** Whether all of `accounts` may be seen; null is all there are. */
export function isWithin(accounts: AccountScope, scope: AccountScope): boolean {
  if (scope === null) return true;
  return accounts?.every((account) => scope.includes(account)) ?? false;
}
