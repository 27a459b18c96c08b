import { hash, randomFillSync } from 'node:crypto';

// One call to the system's generator serves 256 ids: a syscall per request would show in the profile.
const idBytes = 10;
const pool = Buffer.alloc(idBytes * 256);
/** The pool as the ends of ids, with the bits in place that a UUIDv7 has set. */
let ends = '';
let endsAt = 0;
const endChars = 2 * idBytes + 2;
/** `req_` and the time of the last id. */
let begin = '';
let beginMs = Number.NaN;

/**
 * `req_` + UUIDv7 (RFC 9562 §5.7: 48 bits of `nowMs`, then random bits; ids sort by time): the identity of one request in
 * ledger, routes and idempotence.
 */
export function newRequestId(nowMs: number): string {
  if (endsAt === ends.length) fillPool();
  endsAt += endChars;
  if (nowMs !== beginMs) {
    const time = Math.floor(nowMs).toString(16).padStart(12, '0');
    begin = `req_${time.slice(0, 8)}-${time.slice(8)}-`;
    beginMs = nowMs;
  }
  return begin + ends.slice(endsAt - endChars, endsAt);
}

function fillPool(): void {
  randomFillSync(pool);
  for (let at = 0; at < pool.length; at += idBytes) {
    pool[at] = 0x70 | (pool[at]! & 0x0f);
    pool[at + 2] = 0x80 | (pool[at + 2]! & 0x3f);
  }
  ends = pool.toString('hex').replace(/(.{4})(.{4})(.{12})/g, '$1-$2-$3');
  endsAt = 0;
}

/** Wall-clock ms at which `newRequestId` made this id. */
export function requestIdMs(requestId: string): number {
  return Number.parseInt(requestId.slice(4, 12) + requestId.slice(13, 17), 16);
}

/** Ids of requests that came at `atMs` or later are not below this (`req_<UUIDv7>`). */
export function requestIdAt(atMs: number): string {
  const hex = Math.max(0, Math.floor(atMs)).toString(16).padStart(12, '0');
  return `req_${hex.slice(0, 8)}-${hex.slice(8, 12)}`;
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** `length` characters of base62 from the system's generator, each uniform (bytes ≥ 248 are thrown away). */
export function randomBase62(length: number): string {
  let text = '';
  const bytes = Buffer.alloc(length * 2);
  while (text.length < length) {
    randomFillSync(bytes);
    for (const byte of bytes) {
      if (byte < 248 && text.length < length) text += base62[byte % 62];
    }
  }
  return text;
}

/** An id behind `prefix`; those of one prefix sort by time. */
export function newSortedId(prefix: string, nowMs: number): string {
  return `${prefix}${Math.floor(nowMs).toString(36).padStart(9, '0')}${randomBase62(16)}`;
}

/** The same in small letters and digits alone, which names of files at Google have. */
export function newPlainSortedId(prefix: string, nowMs: number): string {
  return `${prefix}${Math.floor(nowMs).toString(36).padStart(9, '0')}${randomBase36(16)}`;
}

/** Whether `newSortedId` may have made the id. */
export function isSortedId(prefix: string, id: string): boolean {
  return id.length === prefix.length + 25 && id.startsWith(prefix) && sortedPart.test(id.slice(prefix.length));
}

const sortedPart = /^[0-9a-z]{9}[0-9A-Za-z]{16}$/;

/** A UUID as RFC 9562 §5.8 allows: 122 bits of a hash. `kind` tells names of one use from those of others. */
export function uuidOf(kind: string, name: string): string {
  const hex = hash('sha256', `${kind} ${name}`, 'hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** `length` characters of small letters and digits, each uniform. */
export function randomBase36(length: number): string {
  let text = '';
  while (text.length < length) text += randomBase62(length).replace(/[A-Z]/g, '');
  return text.slice(0, length);
}
