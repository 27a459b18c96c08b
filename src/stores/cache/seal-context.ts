import type { CacheEntry } from '../../books/metering/cache-store.ts';

/** Sets the seals of the cache apart from all others. */
export const sealPurpose = 'cache';

/** The place and the fields with which a body was sealed: it opens with no others. */
export function sealContext(
  scope: string,
  digest: string,
  { atMs, expiresAtMs, keyId, model, tag }: Omit<CacheEntry, 'body'>,
): string {
  return JSON.stringify([scope, digest, atMs, expiresAtMs, keyId, model, tag]);
}
