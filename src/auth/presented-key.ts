import { hashKey, keyPrefix } from './api-key.ts';

/** The headers a key may come in, as node:http gives them: lower-case names. */
export interface KeyHeaders {
  readonly authorization?: string | undefined;
  readonly [name: string]: string | readonly string[] | undefined;
}

/** `hash` is of the one candidate found. `foreign`: values came, none of them ours. */
export type Presented = { kind: 'none' } | { kind: 'foreign' } | { kind: 'two' } | { kind: 'one'; hash: string };

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
export function presentedKey(headers: KeyHeaders, adminHash: string | null): Presented {
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
