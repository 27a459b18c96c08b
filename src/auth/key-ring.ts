import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import type { Failure } from '../kernel/failure.ts';
import type { Stored } from './account-store.ts';
import { hashKey, keyPrefix } from './api-key.ts';
import { buildDirectory, type Declared, type KeyEntry } from './key-directory.ts';
import type { Principal } from './principal.ts';

/** Everybody who may enter, in memory. Synchronous: no request waits for a database here. */
export interface KeyRing {
  /**
   * For /v1: the caller, or 401 (key) before 403 (an admin key in the wrong place, account, address). `addressOf` gives
   * the caller's address, null where it is not known; asked only for keys that are bound to some.
   */
  authenticate(headers: KeyHeaders, addressOf: () => string | null): Principal | Failure;
  /** For /admin/v1 and /metrics: `admin`, or 401, or 403 for a user's key. */
  authenticateAdmin(headers: KeyHeaders): 'admin' | Failure;
  /** Whose this key is, for work that goes on when its caller has left; or why it may not go on. */
  principalOf(keyId: string): Principal | Failure;
  /** At start and at each configuration reload. */
  declare(declared: Declared): void;
  /** What the store holds now. */
  restock(stored: Stored): void;
  /** User keys that are not revoked; expired ones count. Zero on a public address refuses the start. */
  userKeys(): number;
}

/** Tells the two results of `authenticate` apart. */
export function isFailure(result: Principal | Failure): result is Failure {
  return 'kind' in result;
}

const missing: Failure = {
  kind: 'unauthenticated',
  message:
    "No API key was sent. Send one as 'Authorization: Bearer sk-cv-…', or in x-api-key, api-key or x-goog-api-key.",
};
// One body for unknown, revoked and malformed keys: an answer must not tell which it was.
const invalid: Failure = { kind: 'unauthenticated', message: 'The API key is not valid.' };
const twoKeys: Failure = {
  kind: 'unauthenticated',
  message: 'Two different API keys were sent in one request; send one.',
};
const revoked: Failure = { kind: 'unauthenticated', message: 'The API key is no more.' };
const expired: Failure = { kind: 'unauthenticated', message: 'The API key has expired.' };
const suspended: Failure = { kind: 'forbidden', message: 'The account of this API key is suspended.' };
const adminOnV1: Failure = {
  kind: 'forbidden',
  message:
    'The admin key opens /admin/v1 and /metrics only. Create a key for /v1 with: culvert keys create --account A --name N',
};
const elsewhere = (address: string | null): Failure => ({
  kind: 'forbidden',
  message: `This API key may not be used from the address ${address ?? '(unknown)'}.`,
});
const userOnAdmin: Failure = { kind: 'forbidden', message: 'This needs the admin key; an API key does not open it.' };

/** Knows the file's keys at once; the store's from the first `restock` on. */
export function createKeyRing(clock: Clock, first: Declared): KeyRing {
  let declared = first;
  let stored: Stored = { accounts: [], keys: [], plans: [] };
  let entries = new Map<string, KeyEntry>();
  let byKeyId = new Map<string, KeyEntry>();
  let adminHash: string | null = null;
  let userKeys = 0;
  rebuild();

  function rebuild(): void {
    entries = buildDirectory(declared, stored);
    adminHash = declared.adminKey === null ? null : hashKey(declared.adminKey);
    const users = new Set<Principal>();
    byKeyId = new Map();
    for (const entry of entries.values()) {
      if (entry.kind !== 'user') continue;
      users.add(entry.principal);
      byKeyId.set(entry.principal.keyId, entry);
    }
    userKeys = users.size;
  }

  /** Measured 0.7 µs with the hash; a cache of presented secrets would save 0.4 and keep secrets in memory. */
  function find(headers: KeyHeaders): KeyEntry | Failure {
    const presented = presentedKey(headers, adminHash);
    if (presented.kind === 'none') return missing;
    if (presented.kind === 'two') return twoKeys;
    if (presented.kind === 'foreign') return invalid;
    const entry = entries.get(presented.hash);
    if (entry === undefined || !timingSafeEqual(entry.digest, Buffer.from(presented.hash, 'hex'))) return invalid;
    // A secret that was rotated out is as if it had never been, like a revoked one.
    if (entry.untilMs <= clock.wallMs()) return invalid;
    return entry;
  }

  return {
    authenticate(headers, addressOf) {
      const entry = find(headers);
      if (!('digest' in entry)) return entry;
      if (entry.expiresMs <= clock.wallMs()) return expired;
      if (entry.kind === 'admin') return adminOnV1;
      if (entry.suspended) return suspended;
      if (entry.addresses !== null) {
        const address = addressOf();
        if (!entry.addresses.lets(address)) return elsewhere(address);
      }
      return entry.principal;
    },
    authenticateAdmin(headers) {
      const entry = find(headers);
      if (!('digest' in entry)) return entry;
      if (entry.expiresMs <= clock.wallMs()) return expired;
      return entry.kind === 'admin' ? 'admin' : userOnAdmin;
    },
    principalOf(keyId) {
      const entry = byKeyId.get(keyId);
      if (entry === undefined) return revoked;
      if (entry.expiresMs <= clock.wallMs()) return expired;
      return entry.suspended ? suspended : entry.principal;
    },
    declare(next) {
      declared = next;
      rebuild();
    },
    restock(next) {
      stored = next;
      rebuild();
    },
    userKeys: () => userKeys,
  };
}

/** The headers a key may come in, as node:http gives them: lower-case names. */
export interface KeyHeaders {
  readonly authorization?: string | undefined;
  readonly [name: string]: string | readonly string[] | undefined;
}

/** `hash` is of the one candidate found. `foreign`: values came, none of them ours. */
type Presented = { kind: 'none' } | { kind: 'foreign' } | { kind: 'two' } | { kind: 'one'; hash: string };

/** Longer values are not keys of ours; not hashing them bounds the work before authentication. */
const keyLengthMax = 256;

/** Those that hold nothing but a key. */
const keyHeaders = ['x-api-key', 'api-key', 'x-goog-api-key'] as const;

/** Stands for credentials of another scheme: never a candidate, and not nothing either. */
const notBearer = ' ';

const none: Presented = { kind: 'none' };
const foreign: Presented = { kind: 'foreign' };
const two: Presented = { kind: 'two' };

/**
 * The candidate among `authorization: Bearer`, `x-api-key`, `api-key` and `x-goog-api-key`. A value that neither begins with `sk-cv-`
 * nor hashes to `adminHash` is not a candidate: clients send vendors' keys along. Two different candidates are no key.
 */
function presentedKey(headers: KeyHeaders, adminHash: string | null): Presented {
  let found: string | null = null;
  let sawForeign = false;
  for (let at = 0; at <= keyHeaders.length; at += 1) {
    const value = at === 0 ? bearer(headers.authorization) : single(headers[keyHeaders[at - 1]!]);
    if (value === null || value === found) continue;
    const ours =
      value.length <= keyLengthMax &&
      (value.startsWith(keyPrefix) || (adminHash !== null && hashKey(value) === adminHash));
    if (!ours) sawForeign = true;
    else if (found !== null) return two;
    else found = value;
  }
  if (found !== null) return { kind: 'one', hash: hashKey(found) };
  return sawForeign ? foreign : none;
}

function bearer(value: string | undefined): string | null {
  if (value === undefined) return null;
  // RFC 9110 §11.1: the scheme is case-insensitive.
  const isBearer = value.length > 7 && value.charCodeAt(6) === 0x20 && value.slice(0, 6).toLowerCase() === 'bearer';
  return isBearer ? value.slice(7).trim() : notBearer;
}

function single(value: string | readonly string[] | undefined): string | null {
  const text = typeof value === 'string' ? value : value?.[0];
  return text === undefined || text === '' ? null : text;
}
