import { FailureError, invalid } from '../../kernel/failure.ts';

/** A place in the list of requests, for `RequestQuery.cursor`: the key of the last row seen. */
export function cursorOf(key: number): string {
  return Buffer.from(String(key)).toString('base64url');
}

/** Throws FailureError `invalid-request` for a text that was never a cursor. */
export function keyOfCursor(cursor: string): number {
  const key = Number(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (!Number.isSafeInteger(key) || cursorOf(key) !== cursor) {
    throw new FailureError(invalid('cursor', 'cursor: expected the next_cursor of an earlier response'));
  }
  return key;
}
