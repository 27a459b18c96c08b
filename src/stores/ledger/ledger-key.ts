import { requestIdMs } from '../../kernel/ids.ts';

/* Rowids of requests in SQLite. */

const epochMs = Date.UTC(2020, 0, 1);

/**
 * The rowid of a request, made from its id `req_<UUIDv7>`: ms since 2020 times 4096, plus the 12 random bits that
 * follow the time. Exact in a double until 2089. Two requests may share it (at 5,000 req/s about one in a thousand):
 * writers then take the next free one, at most `ledgerKeySpan` further, and a lookup reads as far. Null for an id that
 * is not ours.
 */
export function ledgerKey(requestId: string): number | null {
  if (requestId.length !== 40 || !requestId.startsWith('req_')) return null;
  const ms = requestIdMs(requestId);
  const random = Number.parseInt(requestId.slice(19, 22), 16);
  const key = (ms - epochMs) * 4_096 + random;
  return Number.isSafeInteger(key) ? key : null;
}

/** Keys of requests that came before `atMs` are below this. */
export function ledgerKeyAt(atMs: number): number {
  return (Math.floor(atMs) - epochMs) * 4_096;
}

/** When a request of this key came, to the ms of its id. */
export function ledgerKeyMs(key: number): number {
  return Math.floor(key / 4_096) + epochMs;
}

export const ledgerKeySpan = 64;
