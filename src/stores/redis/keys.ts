import type { Scope } from '../../books/metering/counters.ts';
import type { KeyServer } from './servers.ts';

/** Names in Redis, all of them below `keysOf` the books. Account ids hold neither braces nor spaces. */
export const epochKey = 'epoch';

/**
 * Hash of the account's running requests, and of leases of headroom: id → `quotaMs|milli-units|scopes`, with its
 * generation `g` of epoch `e`.
 */
export function openKey(account: string): string {
  return `{${account}}:open`;
}

/** Hash of everything that is counted for a scope (see lua-windows.ts). */
export function scopeKey(account: string, scope: Scope): string {
  return `{${account}}:s:${scope}`;
}

/** Sorted set of leases: request id by the instant at which it runs out. */
export function placesKey(account: string, scope: Scope): string {
  return `{${account}}:p:${scope}`;
}

/** Says that an account was swept just now, by whichever process. */
export function sweptKey(account: string): string {
  return `{${account}}:swept`;
}

/**
 * Prefix of the names that count for these books: a Redis may be shared, and one that outlived its database (which was
 * restored, or replaced) knows nothing of the new one's past. `tag`: that of
 * all these names, in a cluster.
 */
export function keysOf(booksId: string, tag: KeyServer['tag'] = null): string {
  return tag === null ? `cv:${booksId}:` : `cv:${booksId}:{${tag}}:`;
}
