import type { CacheEntry } from '../../books/metering/cache-store.ts';

/** Sets the seals of the cache apart from all others. */
export const sealPurpose = 'cache';

/** Key of an entry's place. The digest is at the end, where keys of a `BriefMap` must differ. */
export function placeOf(scope: string, digest: string): string {
  return `${scope} ${digest}`;
}

/** The place and the fields with which a body was sealed: it opens with no others. */
export function sealContext(
  scope: string,
  digest: string,
  { atMs, expiresAtMs, keyId, model, tag }: Omit<CacheEntry, 'body'>,
): string {
  return JSON.stringify([scope, digest, atMs, expiresAtMs, keyId, model, tag]);
}
