/** Accounts that an operator may see; null: all of them. */
export type AccountScope = readonly string[] | null;

/** Whose rows a list is of: the one account that was asked for, where it may be seen at all. Null: everybody's. */
export function accountsAsked(asked: string | undefined, scope: AccountScope): AccountScope {
  if (asked === undefined) return scope;
  return scope === null || scope.includes(asked) ? [asked] : [];
}
