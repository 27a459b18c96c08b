import { isObject } from '../kernel/json.ts';

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

/** Members whose texts are accounts, or keys as `account/name`, where `*` is any account. */
const listsOfAccounts: ReadonlySet<string> = new Set(['accounts', 'bodies', 'content', 'except']);
/** Members that are conditions in CEL, whole or cut. */
const conditions: ReadonlySet<string> = new Set(['when', 'because']);
/** Comments in a condition, and its texts, each with the name that `==` or `!=` compares it with. */
const comparedTexts =
  /\/\/[^\n]*|(?:\b(\w+)\s*[=!]=\s*)?("{3}(?:\\.|[^\\])*?(?:"{3}|$)|'{3}(?:\\.|[^\\])*?(?:'{3}|$)|"(?:\\.|[^"\\])*(?:"|$)|'(?:\\.|[^'\\])*(?:'|$))/gs;
/** A part that is cut may go on with one of them. */
const namesCallers = /\b(?:account|key|key_name)\b|…$/;
/** Any other name may be one of a caller, as in `[account].exists(a, a == "acme")`. */
const namesOthers = /^(?:endpoint|model|tag|user|plan|language)$/;

/** A part of a configuration without the accounts, keys, their collections and entries of lists that are of others alone. */
export function partWithin<Part>(part: Part, scope: AccountScope): Part {
  return scope === null ? part : (memberWithin(part, '', scope) as Part);
}

function memberWithin(part: unknown, name: string, scope: readonly string[]): unknown {
  const isIn = (id: string) => ['*', ...scope].includes(id.replace(/\/.*/s, ''));
  if (typeof part === 'string' && conditions.has(name)) return conditionWithin(part, isIn);
  if (Array.isArray(part)) {
    const seen = part.filter((one: unknown) => {
      if (typeof one === 'string') return !listsOfAccounts.has(name) || isIn(one);
      const { account, accounts } = (one ?? {}) as { account?: unknown; accounts?: unknown };
      return typeof account === 'string' ? isIn(account) : !Array.isArray(accounts) || accounts.some(isIn);
    });
    return seen.map((one) => memberWithin(one, name, scope));
  }
  if (!isObject(part)) return part;
  // A guard names a collection as account/key/collection.
  const members = Object.entries(part).filter(([member, value]) => member !== 'collection' || isIn(String(value)));
  return Object.fromEntries(members.map(([member, value]) => [member, memberWithin(value, member, scope)]));
}

/** A condition without its comments and, if it asks who calls, without the texts that may be names of others. */
function conditionWithin(condition: string, isIn: (id: string) => boolean): string {
  const readsCaller = namesCallers.test(condition);
  return condition.replace(comparedTexts, (whole: string, compared: string | undefined, text: string | undefined) => {
    if (text === undefined) return '// (hidden)';
    const isShown = !readsCaller || namesOthers.test(compared ?? '') || isIn(text.replaceAll(/^["']+|["']+$/g, ''));
    return isShown ? whole : whole.replace(text, () => '"(hidden)"');
  });
}
